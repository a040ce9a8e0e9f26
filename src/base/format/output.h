/*
 * output.h - a file that is written completely or not at all.
 *
 * Bytes go to a file beside the target, called "<path>.part", which takes the
 * target's name when everything is written. Until then the target stays as it
 * was; a failure leaves it so. What exists and is no regular file (a pipe, a
 * terminal, /dev/null) cannot be replaced and is written to directly; so is
 * standard output, called "-".
 *
 * A path that ends in .gz or .zst gets a file that is packed so; one that ends
 * as Parquet, Arrow, Feather or ORC do is BLIS_ERR_INVALID, for no such file is
 * ever written.
 */
#ifndef BLIS_BASE_FORMAT_OUTPUT_H
#define BLIS_BASE_FORMAT_OUTPUT_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/slice.h"

typedef struct blis_output blis_output;

/*
 * Starts a file; the caller owns *output until it is committed or discarded.
 * Copies *alloc and path. BLIS_ERR_IO names the file and the system's reason.
 */
BLIS_MUSTUSE blis_status blis_output_open(const blis_alloc *alloc, const char *path,
                                          blis_output **output, blis_error *error);

/*
 * Whether a finished file may take the place of what is there: nothing, or
 * another file. A device or a pipe is written to, never replaced.
 */
bool blis_output_is_replaceable(const char *path);

/*
 * Whether a file could be started there, as far as that can be told without
 * leaving a trace: pipes and devices are not opened. Fails as open does.
 */
BLIS_MUSTUSE blis_status blis_output_probe(const blis_alloc *alloc, const char *path,
                                           blis_error *error);

BLIS_MUSTUSE blis_status blis_output_write(blis_output *output, blis_slice bytes,
                                           blis_error *error);

/*
 * Closes the file and gives it its name, in place of what had it before. The
 * output is gone afterwards, also when that fails; then nothing was replaced.
 */
BLIS_MUSTUSE blis_status blis_output_commit(blis_output *output, blis_error *error);

/* Removes what was written. NULL is allowed. */
void blis_output_discard(blis_output *output);

#endif
