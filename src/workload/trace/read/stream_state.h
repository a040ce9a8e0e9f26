/*
 * stream_state.h - the state of a stream, shared by its constructor and its readers; for trace
 * files only.
 */
#ifndef BLIS_WORKLOAD_TRACE_READ_STREAM_STATE_H
#define BLIS_WORKLOAD_TRACE_READ_STREAM_STATE_H

#include "workload/trace/read/edit.h"
#include "workload/trace/read/stream.h"
#include "workload/trace/read/survey.h"

/* The requests of the file itself, or the edited requests of parent. */
struct blis_trace_stream {
  blis_alloc alloc;
  size_t users;
  blis__survey *base;
  blis_trace_stream *parent;
  blis_trace_edit edit;
  void *owned; /* the data that the edit borrows */
  size_t owned_size;
  char *description;
  size_t description_size;
  int64_t count;   /* -1 = not counted yet */
  int64_t last_us; /* last arrival, once requests are counted */
};

/*
 * Like blis_trace_stream_new, but a file that is too far out of order is not an error: *is_ordered
 * is set to false and no stream is created.
 */
BLIS_MUSTUSE blis_status blis__trace_stream_try(const blis_alloc *alloc, const char *path,
                                                const blis_trace_options *options,
                                                blis_trace_stream **stream, bool *is_ordered,
                                                blis_error *error);

#endif
