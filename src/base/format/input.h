/*
 * input.h - bytes from a file, standard input, or memory; gzip and zstd are decompressed on the
 * fly.
 *
 * The format is detected from the first bytes, not from the name. Concatenated compressed pieces
 * are read as one stream, and a truncated piece is an error. Memory is bounded for any file size:
 * at most 64 KB here, plus the window of the format on the C heap (32 KB for gzip, at most 128 MB
 * for zstd).
 */
#ifndef BLIS_BASE_FORMAT_INPUT_H
#define BLIS_BASE_FORMAT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/slice.h"

typedef struct blis_input blis_input;

/*
 * Opens a file, or standard input when path is "-". Copies *alloc and path.
 * The caller owns *input. BLIS_ERR_IO or BLIS_ERR_PARSE names the file.
 */
BLIS_MUSTUSE blis_status blis_input_open(const blis_alloc *alloc, const char *path,
                                         blis_input **input, blis_error *error);

/* Like blis_input_open, for borrowed memory; name (copied) appears in messages. */
BLIS_MUSTUSE blis_status blis_input_open_memory(const blis_alloc *alloc, const char *name,
                                                blis_slice bytes, blis_input **input,
                                                blis_error *error);

/* NULL is allowed. */
void blis_input_close(blis_input *input);

/* Returns the name of the input in messages: the path, "stdin", or the name of the memory. */
const char *blis_input_name(const blis_input *input);

/* Reads 1 to size bytes (size > 0); *got is 0 at the end. */
BLIS_MUSTUSE blis_status blis_input_read(blis_input *input, char *bytes, size_t size, size_t *got,
                                         blis_error *error);

/*
 * Peeks at the next bytes: at most BLIS_INPUT_PEEK_MAX, and fewer only at the end of the input. The
 * next read returns them again. They are valid until that read.
 */
enum { BLIS_INPUT_PEEK_MAX = 65536 };
BLIS_MUSTUSE blis_status blis_input_peek(blis_input *input, blis_slice *bytes, blis_error *error);

/*
 * Returns the size of the file on the disk, compressed or not. Returns -1 for inputs that cannot be
 * opened and read a second time: pipes, standard input, memory.
 */
int64_t blis_input_file_size(const blis_input *input);

/*
 * Returns a buffer size for reading the input: most, or less if the whole input is known to be
 * shorter. The result is at least 1 if most is at least 1.
 */
size_t blis_input_buffer_size(const blis_input *input, size_t most);

/* Returns whether the input is compressed. */
bool blis_input_is_packed(const blis_input *input);

/*
 * Appends everything in a file ("-" = standard input) to buffer. BLIS_ERR_INVALID if the content
 * exceeds max_size bytes.
 */
BLIS_MUSTUSE blis_status blis_input_read_file(const char *path, size_t max_size,
                                              blis_buffer *buffer, blis_error *error);

/* Like blis_input_read_file, for the rest of an input. */
BLIS_MUSTUSE blis_status blis_input_read_rest(blis_input *input, size_t max_size,
                                              blis_buffer *buffer, blis_error *error);

#endif
