/*
 * output.h - a file that is written completely or not at all.
 *
 * Bytes go to "<path>.part", which is renamed to the target when everything is written. Until then
 * the target is unchanged, and a failure leaves it unchanged. A target that exists and is no
 * regular file (a pipe, a terminal, /dev/null) cannot be replaced and is written to directly. The
 * same applies to standard output, called "-".
 *
 * A path that ends in .gz or .zst produces a compressed file. A path with a file name extension of
 * Parquet, Arrow, Feather, or ORC fails with BLIS_ERR_INVALID, because blis cannot write these
 * formats.
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
 * Returns whether a finished file may replace the target, because the target does not exist or is a
 * regular file. Devices and pipes are written to directly and never replaced.
 */
bool blis_output_is_replaceable(const char *path);

/*
 * Checks whether a file could be created, without leaving a trace. Pipes and devices are not
 * opened. Fails like open.
 */
BLIS_MUSTUSE blis_status blis_output_probe(const blis_alloc *alloc, const char *path,
                                           blis_error *error);

BLIS_MUSTUSE blis_status blis_output_write(blis_output *output, blis_slice bytes,
                                           blis_error *error);

/*
 * Closes the file and renames it to the target, replacing an existing file. The output is freed
 * even on failure; in that case the target is unchanged.
 */
BLIS_MUSTUSE blis_status blis_output_commit(blis_output *output, blis_error *error);

/* Deletes the unfinished file and frees output. NULL is allowed. */
void blis_output_discard(blis_output *output);

#endif
