/*
 * stream.h - a trace that is read from its file while it is replayed.
 *
 * When a stream is created, it reads the file once to check every row and to collect properties of
 * the whole file. Each reader of requests reads the file again, independently and at its own pace.
 * The requests are equal to the list that blis_trace_read creates from the same file, in the same
 * order.
 *
 * Memory does not grow with the rows, only with their distinct values: 60 to 100
 * bytes per string (for example a session), 1/8 byte per id of tracev2 (up to 50
 * for sparse ids), and about 100 bytes per chat of bailian.
 *
 * Rows may be out of order by up to 65,536 rows; the rows in between are kept in memory. Files that
 * need more, or that cannot be read twice, are not streamed.
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

/* Returns a workload without requests that contains the strings and notes of a stream. */
const blis_workload *blis_trace_stream_about(const blis_trace_stream *stream);

/* Returns a short description. */
const char *blis_trace_stream_description(const blis_trace_stream *stream);

/* Returns the number of requests, or -1 if they have not been counted yet. */
int64_t blis_trace_stream_count(const blis_trace_stream *stream);

/* Counts the requests, with a pass over the file unless they have already been counted. */
BLIS_MUSTUSE blis_status blis_trace_stream_need_count(blis_trace_stream *stream, int64_t *count,
                                                      blis_error *error);

/* Like blis_trace_stream_need_count, for the arrival of the last request; 0 without requests. */
BLIS_MUSTUSE blis_status blis_trace_stream_need_last_us(blis_trace_stream *stream, int64_t *last_us,
                                                        blis_error *error);

/* Reads all requests into a new, sealed workload, which the caller owns. */
BLIS_MUSTUSE blis_status blis_trace_stream_list(const blis_alloc *alloc, blis_trace_stream *stream,
                                                blis_workload **list, blis_error *error);

/* A reader of a stream. The stream may be freed before its readers. */
typedef struct blis_trace_cursor blis_trace_cursor;

/* The caller owns *cursor. Returns BLIS_ERR_IO if the file no longer exists. */
BLIS_MUSTUSE blis_status blis_trace_cursor_open(const blis_alloc *alloc, blis_trace_stream *stream,
                                                blis_trace_cursor **cursor, blis_error *error);

/* NULL is allowed. */
void blis_trace_cursor_close(blis_trace_cursor *cursor);

/*
 * Reads the next request; *done = true at the end. Its segments are valid until the next call.
 * Returns BLIS_ERR_IO if the file has changed since the stream was created.
 */
BLIS_MUSTUSE blis_status blis_trace_cursor_next(blis_trace_cursor *cursor, blis_request *request,
                                                bool *done, blis_error *error);

/*
 * Returns the remaining requests as a source that borrows the cursor. Segments are valid until the
 * request is released or the cursor is closed.
 */
blis_request_source blis_trace_cursor_source(blis_trace_cursor *cursor);

#endif
