#include "base/buffer.h"

#include "check.h"

static void append_everything(blis_buffer *buffer) {
  blis_buffer_string(buffer, "ttft");
  blis_buffer_char(buffer, '=');
  blis_buffer_int64(buffer, -42);
  blis_buffer_repeat(buffer, ' ', 3);
  blis_buffer_double(buffer, 0.5, BLIS_DOUBLE_JSON);
  blis_buffer_bytes(buffer, "a\0b", 3);
  blis_buffer_bytes(buffer, NULL, 0);
  blis_buffer_format(buffer, "%05d %s", 7, "");
}

#define EVERYTHING "ttft=-42   0.5a\0b00007 "

static void text_grows_at_its_end(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_buffer buffer;
  blis_buffer_init(&buffer, &alloc);
  CHECK_STR(blis_buffer_text(&buffer), "");
  for (int round = 0; round < 100; round++) {
    append_everything(&buffer);
  }
  size_t size = sizeof EVERYTHING - 1;
  CHECK_EQ_I64(buffer.length, 100 * size);
  for (size_t i = 0; i < 100; i++) {
    CHECK(memcmp(buffer.data + i * size, EVERYTHING, size) == 0);
  }
  CHECK(blis_buffer_text(&buffer)[100 * size] == '\0');
  CHECK(blis_buffer_slice(&buffer).length == 100 * size);
  CHECK_STATUS(blis_buffer_status(&buffer), BLIS_OK);
  blis_buffer_clear(&buffer);
  CHECK_STR(blis_buffer_text(&buffer), "");
  blis_buffer_deinit(&buffer);
  CHECK(memory.live_bytes == 0);
}

static void long_formats_fit(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_buffer buffer;
  blis_buffer_init(&buffer, &alloc);
  for (int width = 1; width < 2000; width++) {
    blis_buffer_clear(&buffer);
    blis_buffer_format(&buffer, "%*d|", width, 7);
    CHECK_EQ_I64(buffer.length, width + 1);
    CHECK_CONTAINS(blis_buffer_text(&buffer), "7|");
  }
  blis_buffer_deinit(&buffer);
}

static void no_memory_is_told_at_the_end(void) {
  for (long request = 1; request <= 4; request++) {
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_buffer buffer;
    blis_buffer_init(&buffer, &alloc);
    for (int round = 0; round < 1000; round++) {
      append_everything(&buffer);
    }
    CHECK_STATUS(blis_buffer_status(&buffer), BLIS_ERR_NOMEM);
    CHECK(memory.requests == request);
    CHECK(blis_buffer_text(&buffer)[buffer.length] == '\0');
    blis_buffer_clear(&buffer);
    append_everything(&buffer);
    CHECK_STATUS(blis_buffer_status(&buffer), BLIS_OK);
    CHECK(blis_buffer_reserve(&buffer, SIZE_MAX) == NULL);
    CHECK_STATUS(blis_buffer_status(&buffer), BLIS_ERR_NOMEM);
    blis_buffer_deinit(&buffer);
    CHECK(memory.live_bytes == 0);
  }
}

int main(void) {
  RUN(text_grows_at_its_end);
  RUN(long_formats_fit);
  RUN(no_memory_is_told_at_the_end);
  return check_done();
}
