#include "workload/trace/read/stream.h"

#include <string.h>

#include "base/invariant.h"
#include "workload/trace/read/stream_state.h"

void blis_trace_stream_free(blis_trace_stream *stream) {
  if (stream == NULL || --stream->users > 0) {
    return;
  }
  blis_alloc alloc = stream->alloc;
  blis_trace_stream_free(stream->parent);
  blis__survey_unref(stream->base);
  blis_alloc_free(&alloc, stream->owned, stream->owned_size);
  blis_alloc_free(&alloc, stream->description, stream->description_size);
  blis_alloc_free(&alloc, stream, sizeof *stream);
}

/* Creates a stream; what = NULL for the stream of a file. NULL = out of memory. */
static blis_trace_stream *stream_new(blis__survey *base, const char *description,
                                     const char *what) {
  blis_trace_stream *stream = blis_alloc_zeroed(&base->alloc, 1, sizeof *stream);
  if (stream == NULL) {
    return NULL;
  }
  stream->alloc = base->alloc;
  stream->users = 1;
  stream->base = base;
  stream->count = -1;
  base->users++;
  size_t length = strlen(description);
  size_t more = what != NULL ? strlen(what) + 2 : 0;
  stream->description_size = length + more + 1;
  stream->description = blis_alloc_new(&base->alloc, stream->description_size);
  if (stream->description == NULL) {
    blis_trace_stream_free(stream);
    return NULL;
  }
  memcpy(stream->description, description, length + 1);
  if (what != NULL) {
    memcpy(stream->description + length, ", ", 2);
    memcpy(stream->description + length + 2, what, more - 1);
  }
  return stream;
}

static blis_status make_stream(const blis_alloc *alloc, const char *path,
                               const blis_trace_options *options, bool *is_ordered,
                               blis_trace_stream **stream, blis_error *error) {
  blis__survey *base;
  BLIS_TRY(blis__survey_new(alloc, path, options, is_ordered, &base, error));
  if (base == NULL) {
    return BLIS_OK;
  }
  blis_trace_stream *made = stream_new(base, blis_workload_description(base->about), NULL);
  if (made != NULL) {
    made->count = base->count;
    made->last_us = base->last_us;
    *stream = made;
  }
  blis__survey_unref(base);
  return made != NULL ? BLIS_OK : blis_fail_nomem(error);
}

blis_status blis_trace_stream_new(const blis_alloc *alloc, const char *path,
                                  const blis_trace_options *options, blis_trace_stream **stream,
                                  blis_error *error) {
  return make_stream(alloc, path, options, NULL, stream, error);
}

blis_status blis__trace_stream_try(const blis_alloc *alloc, const char *path,
                                   const blis_trace_options *options, blis_trace_stream **stream,
                                   bool *is_ordered, blis_error *error) {
  *is_ordered = true;
  return make_stream(alloc, path, options, is_ordered, stream, error);
}

/* Copies the points and marks of an edit. */
static blis_status own_edit(blis_trace_stream *stream, const blis_trace_edit *edit,
                            blis_error *error) {
  bool is_warp = edit->kind == BLIS_TRACE_WARP;
  const void *borrowed = is_warp ? (const void *)edit->points : (const void *)edit->marks;
  stream->edit = *edit;
  if (borrowed == NULL) {
    return BLIS_OK;
  }
  size_t words = blis_trace_mark_words((size_t)stream->parent->count);
  size_t size = is_warp ? edit->point_count * sizeof *edit->points : words * sizeof *edit->marks;
  stream->owned = blis_alloc_new(&stream->alloc, size);
  BLIS_TRY_NEW(stream->owned, error);
  stream->owned_size = size;
  memcpy(stream->owned, borrowed, size);
  stream->edit.points = is_warp ? stream->owned : NULL;
  stream->edit.marks = is_warp ? NULL : stream->owned;
  return BLIS_OK;
}

blis_status blis_trace_stream_apply(blis_trace_stream *stream, const blis_trace_edit *edit,
                                    blis_trace_stream **edited, blis_error *error) {
  BLIS_TRY(blis__trace_edit_check(edit, error));
  BLIS_ASSERT(edit->kind < BLIS_TRACE_FILTER || stream->count >= 0);
  blis_trace_stream *made =
      stream_new(stream->base, stream->description, blis__trace_edit_name(edit));
  BLIS_TRY_NEW(made, error);
  made->parent = stream;
  stream->users++;
  blis_status status = own_edit(made, edit, error);
  if (status != BLIS_OK) {
    blis_trace_stream_free(made);
    return status;
  }
  *edited = made;
  return BLIS_OK;
}

const blis_workload *blis_trace_stream_about(const blis_trace_stream *stream) {
  return stream->base->about;
}

const char *blis_trace_stream_description(const blis_trace_stream *stream) {
  return stream->description;
}

int64_t blis_trace_stream_count(const blis_trace_stream *stream) {
  return stream->count;
}
