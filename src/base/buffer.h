/*
 * buffer.h - a growable text buffer for writers.
 *
 * Appending returns nothing. After memory is exhausted, the buffer ignores all appends, and
 * blis_buffer_status reports the error. So a writer checks for errors only once, at the end.
 */
#ifndef BLIS_BASE_BUFFER_H
#define BLIS_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/number.h"
#include "base/slice.h"

/* Read data[0 .. length) directly; the rest is private. */
typedef struct blis_buffer {
  blis_alloc alloc;
  char *data; /* NULL before the first append */
  size_t length;
  size_t capacity;
  bool has_failed;
} blis_buffer;

/* Copies *alloc; allocates nothing yet. */
void blis_buffer_init(blis_buffer *buffer, const blis_alloc *alloc);

void blis_buffer_deinit(blis_buffer *buffer);

/* Empties the buffer, keeps its memory, and clears a failure. */
void blis_buffer_clear(blis_buffer *buffer);

/* Returns BLIS_ERR_NOMEM if any append was lost. */
BLIS_MUSTUSE blis_status blis_buffer_status(const blis_buffer *buffer);

/* Returns the zero-terminated text, valid until the next change; never NULL. */
const char *blis_buffer_text(const blis_buffer *buffer);

blis_slice blis_buffer_slice(const blis_buffer *buffer);

/*
 * Makes space for size more bytes and returns its start; NULL if memory is exhausted. After writing
 * bytes there, add their number to length.
 */
char *blis_buffer_reserve(blis_buffer *buffer, size_t size);

void blis_buffer_bytes(blis_buffer *buffer, const char *data, size_t length);
void blis_buffer_string(blis_buffer *buffer, const char *text);
void blis_buffer_char(blis_buffer *buffer, char c);
void blis_buffer_repeat(blis_buffer *buffer, char c, size_t count);
void blis_buffer_int64(blis_buffer *buffer, int64_t value);
void blis_buffer_double(blis_buffer *buffer, double value, blis_double_style style);
BLIS_PRINTF(2, 3)
void blis_buffer_format(blis_buffer *buffer, const char *format, ...);

#endif
