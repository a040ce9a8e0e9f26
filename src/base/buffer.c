#include "base/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef BLIS_PARANOID
enum { FIRST_CAPACITY = 2 };
#else
enum { FIRST_CAPACITY = 256 };
#endif

void blis_buffer_init(blis_buffer *buffer, const blis_alloc *alloc) {
  *buffer = (blis_buffer){.alloc = *alloc};
}

void blis_buffer_deinit(blis_buffer *buffer) {
  blis_alloc alloc = buffer->alloc;
  blis_alloc_free(&alloc, buffer->data, buffer->capacity);
  blis_buffer_init(buffer, &alloc);
}

void blis_buffer_clear(blis_buffer *buffer) {
  buffer->length = 0;
  buffer->has_failed = false;
}

blis_status blis_buffer_status(const blis_buffer *buffer) {
  return buffer->has_failed ? BLIS_ERR_NOMEM : BLIS_OK;
}

const char *blis_buffer_text(const blis_buffer *buffer) {
  if (buffer->data == NULL) {
    return "";
  }
  buffer->data[buffer->length] = '\0'; /* there is always space for it */
  return buffer->data;
}

blis_slice blis_buffer_slice(const blis_buffer *buffer) {
  return (blis_slice){.data = buffer->data, .length = buffer->length};
}

static bool grow(blis_buffer *buffer, size_t needed) {
  size_t capacity = buffer->capacity == 0 ? FIRST_CAPACITY : buffer->capacity;
  while (capacity < needed) {
    if (capacity > SIZE_MAX / 2) {
      return false;
    }
    capacity *= 2;
  }
  char *data = buffer->alloc.fn(buffer->alloc.ud, buffer->data, buffer->capacity, capacity);
  if (data == NULL) {
    return false;
  }
  buffer->data = data;
  buffer->capacity = capacity;
  return true;
}

char *blis_buffer_reserve(blis_buffer *buffer, size_t size) {
  if (buffer->has_failed) {
    return NULL;
  }
  bool fits = size < SIZE_MAX - buffer->length;
  size_t needed = fits ? buffer->length + size + 1 : SIZE_MAX;
  if (needed > buffer->capacity && (!fits || !grow(buffer, needed))) {
    buffer->has_failed = true;
    return NULL;
  }
  return buffer->data + buffer->length;
}

void blis_buffer_bytes(blis_buffer *buffer, const char *data, size_t length) {
  char *end = blis_buffer_reserve(buffer, length);
  if (end != NULL && length > 0) {
    memcpy(end, data, length);
    buffer->length += length;
  }
}

void blis_buffer_string(blis_buffer *buffer, const char *text) {
  blis_buffer_bytes(buffer, text, strlen(text));
}

void blis_buffer_char(blis_buffer *buffer, char c) {
  blis_buffer_bytes(buffer, &c, 1);
}

void blis_buffer_repeat(blis_buffer *buffer, char c, size_t count) {
  char *end = blis_buffer_reserve(buffer, count);
  if (end != NULL) {
    memset(end, c, count);
    buffer->length += count;
  }
}

void blis_buffer_int64(blis_buffer *buffer, int64_t value) {
  char text[BLIS_INT64_TEXT_SIZE];
  blis_buffer_bytes(buffer, text, blis_format_int64(value, text));
}

void blis_buffer_double(blis_buffer *buffer, double value, blis_double_style style) {
  char text[BLIS_DOUBLE_TEXT_SIZE];
  blis_buffer_bytes(buffer, text, blis_format_double(value, style, text));
}

void blis_buffer_format(blis_buffer *buffer, const char *format, ...) {
  char *end = blis_buffer_reserve(buffer, 64);
  if (end == NULL) {
    return;
  }
  va_list arguments;
  va_start(arguments, format);
  size_t room = buffer->capacity - buffer->length;
  int written = vsnprintf(end, room, format, arguments);
  va_end(arguments);
  size_t length = written < 0 ? 0 : (size_t)written;
  if (length >= room) {
    end = blis_buffer_reserve(buffer, length);
    if (end == NULL) {
      return;
    }
    va_start(arguments, format);
    vsnprintf(end, length + 1, format, arguments);
    va_end(arguments);
  }
  buffer->length += length;
}
