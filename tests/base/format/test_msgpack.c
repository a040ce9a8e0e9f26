/* Values in MessagePack, against the bytes of its specification. */
#include "base/format/msgpack.h"

#include <string.h>

#include "check.h"

static void check_bytes(blis_buffer *buffer, const char *bytes, size_t length) {
  CHECK_EQ_I64(buffer->length, length);
  CHECK(buffer->length == length && memcmp(buffer->data, bytes, length) == 0);
  blis_buffer_clear(buffer);
}

#define CHECK_BYTES(buffer, text) check_bytes((buffer), (text), sizeof(text) - 1)

static void test_numbers(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_buffer b;
  blis_buffer_init(&b, &heap);
  blis_msgpack_nil(&b);
  blis_msgpack_uint(&b, 0);
  blis_msgpack_uint(&b, 127);
  CHECK_BYTES(&b, "\xc0\x00\x7f");
  blis_msgpack_uint(&b, 128);
  blis_msgpack_uint(&b, 255);
  CHECK_BYTES(&b, "\xcc\x80\xcc\xff");
  blis_msgpack_uint(&b, 256);
  blis_msgpack_uint(&b, 65535);
  CHECK_BYTES(&b, "\xcd\x01\x00\xcd\xff\xff");
  blis_msgpack_uint(&b, 65536);
  blis_msgpack_uint(&b, UINT32_MAX);
  CHECK_BYTES(&b, "\xce\x00\x01\x00\x00\xce\xff\xff\xff\xff");
  blis_msgpack_uint(&b, UINT64_C(0x100000000));
  blis_msgpack_uint(&b, UINT64_MAX - 1);
  CHECK_BYTES(&b, "\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xcf\xff\xff\xff\xff\xff\xff\xff\xfe");
  blis_msgpack_double(&b, 1.5);
  CHECK_BYTES(&b, "\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00");
  blis_buffer_deinit(&b);
}

static void check_text(size_t length, const char *head, size_t head_length) {
  static char text[70000];
  blis_alloc heap = blis_alloc_heap();
  blis_buffer b;
  memset(text, 'x', sizeof text);
  blis_buffer_init(&b, &heap);
  blis_msgpack_text(&b, (blis_slice){text, length});
  CHECK_EQ_I64(b.length, head_length + length);
  CHECK(memcmp(b.data, head, head_length) == 0);
  CHECK(memcmp(b.data + head_length, text, length) == 0);
  blis_buffer_deinit(&b);
}

static void test_texts(void) {
  check_text(0, "\xa0", 1);
  check_text(31, "\xbf", 1);
  check_text(32, "\xd9\x20", 2);
  check_text(255, "\xd9\xff", 2);
  check_text(256, "\xda\x01\x00", 3);
  check_text(65536, "\xdb\x00\x01\x00\x00", 5);
}

static void test_heads(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_buffer b;
  blis_buffer_init(&b, &heap);
  blis_msgpack_array(&b, 0);
  blis_msgpack_array(&b, 15);
  blis_msgpack_array(&b, 16);
  blis_msgpack_array(&b, 65536);
  CHECK_BYTES(&b, "\x90\x9f\xdc\x00\x10\xdd\x00\x01\x00\x00");
  blis_msgpack_map(&b, 15);
  blis_msgpack_map(&b, 16);
  blis_msgpack_map(&b, 65536);
  CHECK_BYTES(&b, "\x8f\xde\x00\x10\xdf\x00\x01\x00\x00");
  blis_buffer_deinit(&b);
}

int main(void) {
  RUN(test_numbers);
  RUN(test_texts);
  RUN(test_heads);
  return check_done();
}
