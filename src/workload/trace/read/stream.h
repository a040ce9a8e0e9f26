/*
 * stream.h - a trace that is read from its file while it is replayed.
 *
 * A stream has read its file once, to check every row and to collect the properties
 * of the whole file. Each reader of requests reads the file once more,
 * independently and at its own pace. The requests equal the list that
 * blis_trace_read makes of the same file, in the same order.
 *
 * Memory does not grow with the rows, only with their distinct values: 60 to 100
 * bytes per string (for example a session), 1/8 byte per id of tracev2 (up to 50
 * for sparse ids), and about 100 bytes per chat of bailian.
 *
 * Rows may be out of order by up to 65536 places; rows in between are kept in
 * memory. Files that need more, or that cannot be read twice, are not streamed.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_STREAM_H
#define BLIS_WORKLOAD_TRACE_READ_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/request.h"
#include "workload/trace/read/edit.h"
#include "workload/trace/read/trace.h"
#include "workload/workload.h"

typedef struct blis_trace_stream blis_trace_stream;

/*
 * Reads the file once. The caller owns *stream. Returns the errors of
 * blis_trace_read. For a file that cannot be streamed, BLIS_ERR_INVALID explains
 * the reason and the remedy.
 */
BLIS_MUSTUSE blis_status blis_trace_stream_new(const blis_alloc *alloc, const char *path,
                                               const blis_trace_options *options,
                                               blis_trace_stream **stream, blis_error *error);

/*
 * Creates an edited stream of the same requests, which the caller owns; the
 * original stream may be freed before it. Points and marks are copied. A stream
 * must have been counted before it is filtered.
 */
BLIS_MUSTUSE blis_status blis_trace_stream_apply(blis_trace_stream *stream,
                                                 const blis_trace_edit *edit,
                                                 blis_trace_stream **edited, blis_error *error);

/* NULL is allowed. */
void blis_trace_stream_free(blis_trace_stream *stream);

/* A workload without requests that contains the strings and the notes of a stream. */
const blis_workload *blis_trace_stream_about(const blis_trace_stream *stream);

/* A short description. */
const char *blis_trace_stream_description(const blis_trace_stream *stream);

/* Returns the number of requests, or -1 if they were not counted yet. */
int64_t blis_trace_stream_count(const blis_trace_stream *stream);

/* Counts the requests, with a pass over the file unless they were counted. */
BLIS_MUSTUSE blis_status blis_trace_stream_need_count(blis_trace_stream *stream, int64_t *count,
                                                      blis_error *error);

/* Like blis_trace_stream_need_count, for the arrival of the last request; 0 without requests. */
BLIS_MUSTUSE blis_status blis_trace_stream_need_last_us(blis_trace_stream *stream, int64_t *last_us,
                                                        blis_error *error);

/* All requests in memory, as a new, sealed workload of the caller. */
BLIS_MUSTUSE blis_status blis_trace_stream_list(const blis_alloc *alloc, blis_trace_stream *stream,
                                                blis_workload **list, blis_error *error);

/* One reader of a stream, which may be freed before it. */
typedef struct blis_trace_cursor blis_trace_cursor;

/* The caller owns *cursor. BLIS_ERR_IO when the file is no longer there. */
BLIS_MUSTUSE blis_status blis_trace_cursor_open(const blis_alloc *alloc, blis_trace_stream *stream,
                                                blis_trace_cursor **cursor, blis_error *error);

/* NULL is allowed. */
void blis_trace_cursor_close(blis_trace_cursor *cursor);

/*
 * The next request; *done = true at the end. Its segments are valid until the
 * next call. BLIS_ERR_IO when the file has changed since the stream was made.
 */
BLIS_MUSTUSE blis_status blis_trace_cursor_next(blis_trace_cursor *cursor, blis_request *request,
                                                bool *done, blis_error *error);

/*
 * The requests not yet taken as a source, which borrows the cursor. Segments
 * are kept until a request is released, or the cursor closed.
 */
blis_request_source blis_trace_cursor_source(blis_trace_cursor *cursor);

#endif
