#include "base/format/msgpack.h"

#include <string.h>

static void put_byte(blis_buffer *buffer, unsigned byte) {
  blis_buffer_char(buffer, (char)(unsigned char)byte);
}

/* Writes a tag, then the lowest `bytes` bytes of the value in big-endian order. */
static void put(blis_buffer *buffer, unsigned tag, uint64_t value, int bytes) {
  put_byte(buffer, tag);
  for (int i = bytes - 1; i >= 0; i--) {
    put_byte(buffer, (unsigned)(value >> (8 * i)) & 0xff);
  }
}

void blis_msgpack_nil(blis_buffer *buffer) {
  put_byte(buffer, 0xc0);
}

void blis_msgpack_uint(blis_buffer *buffer, uint64_t value) {
  if (value < 0x80) {
    put_byte(buffer, (unsigned)value);
  } else if (value <= UINT8_MAX) {
    put(buffer, 0xcc, value, 1);
  } else if (value <= UINT16_MAX) {
    put(buffer, 0xcd, value, 2);
  } else if (value <= UINT32_MAX) {
    put(buffer, 0xce, value, 4);
  } else {
    put(buffer, 0xcf, value, 8);
  }
}

void blis_msgpack_double(blis_buffer *buffer, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put(buffer, 0xcb, bits, 8);
}

void blis_msgpack_text(blis_buffer *buffer, blis_slice text) {
  if (text.length < 32) {
    put_byte(buffer, 0xa0u | (unsigned)text.length);
  } else if (text.length <= UINT8_MAX) {
    put(buffer, 0xd9, text.length, 1);
  } else if (text.length <= UINT16_MAX) {
    put(buffer, 0xda, text.length, 2);
  } else {
    put(buffer, 0xdb, text.length, 4);
  }
  blis_buffer_bytes(buffer, text.data, text.length);
}

static void put_head(blis_buffer *buffer, unsigned small, unsigned tag16, size_t count) {
  if (count < 16) {
    put_byte(buffer, small | (unsigned)count);
  } else if (count <= UINT16_MAX) {
    put(buffer, tag16, count, 2);
  } else {
    put(buffer, tag16 + 1, count, 4);
  }
}

void blis_msgpack_array(blis_buffer *buffer, size_t count) {
  put_head(buffer, 0x90, 0xdc, count);
}

void blis_msgpack_map(blis_buffer *buffer, size_t count) {
  put_head(buffer, 0x80, 0xde, count);
}
