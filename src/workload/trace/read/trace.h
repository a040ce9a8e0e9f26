/*
 * trace.h - reads recorded requests from a file in any of the formats of BLIS__TRACE_FORMAT_MAP
 * (format.h); the file of each format describes its fields.
 *
 * A format is recognized by the first lines of the file, or named; "-" is standard input. Files may
 * be packed (gzip, zstd). Errors name file, line, column or key, the value, and the allowed values.
 * A trace is read as a whole or not at all.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_TRACE_H
#define BLIS_WORKLOAD_TRACE_READ_TRACE_H

#include <stddef.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "workload/trace/rows/trace_options.h"
#include "workload/workload.h"

/*
 * Reads a trace into a new, sealed workload, which the caller owns. options may
 * be NULL. BLIS_ERR_IO, BLIS_ERR_PARSE or BLIS_ERR_INVALID with the details.
 */
BLIS_MUSTUSE blis_status blis_trace_read(const blis_alloc *alloc, const char *path,
                                         const blis_trace_options *options,
                                         blis_workload **workload, blis_error *error);

/*
 * Selects the best form for the size of the file: a list, or, beyond 64 MB (8 MB
 * packed), a stream (stream.h) if the file can be streamed. The unused one is set
 * to NULL.
 */
struct blis_trace_stream;
BLIS_MUSTUSE blis_status blis_trace_open(const blis_alloc *alloc, const char *path,
                                         const blis_trace_options *options,
                                         blis_workload **workload,
                                         struct blis_trace_stream **stream, blis_error *error);

/*
 * Appends a line for each format to text: why a file is not of it. For a file that blis_trace_read
 * does not recognize.
 */
BLIS_MUSTUSE blis_status blis_trace_explain(const blis_alloc *alloc, const char *path,
                                            const blis_trace_options *options, blis_buffer *text,
                                            blis_error *error);

/* The names of the formats, index < count; static. */
size_t blis_trace_format_count(void);
const char *blis_trace_format_name(size_t index);

/* Short description of a format; static. */
const char *blis_trace_format_text(size_t index);

#endif
