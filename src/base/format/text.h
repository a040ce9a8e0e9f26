/*
 * text.h - reads text files line by line, compressed or not (see input.h).
 *
 * Lines end in LF or CR LF; the last line may have no line end. A byte order mark at the start is
 * skipped. Memory is bounded by the longest line, which is limited to 64 MiB. A zero byte is an
 * error. Speed: 1 to 2 GB/s.
 */
#ifndef BLIS_BASE_FORMAT_TEXT_H
#define BLIS_BASE_FORMAT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/format/input.h"
#include "base/slice.h"

enum { BLIS_TEXT_LINE_MAX = 64 << 20 };

typedef struct blis_text blis_text;

typedef struct blis_text_line {
  blis_slice content; /* without its end; valid until the next call */
  int64_t number;     /* from 1 */
  bool has_newline;   /* false only for a last line without a newline */
} blis_text_line;

/* Opens a file ("-" = standard input); the caller owns *text. */
BLIS_MUSTUSE blis_status blis_text_open(const blis_alloc *alloc, const char *path, blis_text **text,
                                        blis_error *error);

/* Like blis_text_open, for borrowed memory; name (copied) appears in messages. */
BLIS_MUSTUSE blis_status blis_text_open_memory(const blis_alloc *alloc, const char *name,
                                               blis_slice bytes, blis_text **text,
                                               blis_error *error);

/* Opens the rest of an input and takes ownership of it, even on failure. */
BLIS_MUSTUSE blis_status blis_text_open_input(const blis_alloc *alloc, blis_input *input,
                                              blis_text **text, blis_error *error);

/* NULL is allowed. */
void blis_text_close(blis_text *text);

/* Returns the name of the file in messages. */
const char *blis_text_name(const blis_text *text);

/*
 * Reads the next line; *has_line is false at the end. Errors contain the file and the line. After
 * an error, only blis_text_close is allowed.
 */
BLIS_MUSTUSE blis_status blis_text_next(blis_text *text, blis_text_line *line, bool *has_line,
                                        blis_error *error);

#endif
