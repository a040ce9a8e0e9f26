/*
 * trace.h - reads recorded requests from a file in any of the formats of BLIS__TRACE_FORMAT_MAP
 * (format.h). The source file of each format describes its fields.
 *
 * The format is detected from the first lines of the file, or specified. "-" is standard input.
 * Files may be compressed (gzip, zstd). Errors contain the file, line, column or key, value, and
 * allowed values. A trace is read completely or not at all.
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
 * Reads a trace into a new, sealed workload, which the caller owns. options may be NULL. Returns
 * BLIS_ERR_IO, BLIS_ERR_PARSE, or BLIS_ERR_INVALID with details.
 */
BLIS_MUSTUSE blis_status blis_trace_read(const blis_alloc *alloc, const char *path,
                                         const blis_trace_options *options,
                                         blis_workload **workload, blis_error *error);

/*
 * Selects the form by the size of the file: a list, or above 64 MB (8 MB compressed) a stream
 * (stream.h), if the file can be streamed. The other result is set to NULL.
 */
struct blis_trace_stream;
BLIS_MUSTUSE blis_status blis_trace_open(const blis_alloc *alloc, const char *path,
                                         const blis_trace_options *options,
                                         blis_workload **workload,
                                         struct blis_trace_stream **stream, blis_error *error);

/*
 * Appends one line per format to text, which explains why the file does not have this format. For
 * files that blis_trace_read does not recognize.
 */
BLIS_MUSTUSE blis_status blis_trace_explain(const blis_alloc *alloc, const char *path,
                                            const blis_trace_options *options, blis_buffer *text,
                                            blis_error *error);

/* Names of the formats, index < count; static. */
size_t blis_trace_format_count(void);
const char *blis_trace_format_name(size_t index);

/* Short description of a format; static. */
const char *blis_trace_format_text(size_t index);

#endif
