#include <stddef.h>
#include <string.h>

#include "base/invariant.h"
#include "workload/trace/read/order.h"
#include "workload/trace/read/stream_state.h"

/* Segments of a request that the caller still uses. */
typedef struct kept_segments {
  struct kept_segments *before;
  struct kept_segments *behind;
  size_t size;
  blis_segment items[];
} kept_segments;

struct blis_trace_cursor {
  blis_alloc alloc;
  blis_trace_stream *stream;
  blis__trace_file file;
  bool is_at_end;   /* of the file */
  int64_t rows;     /* number of rows read from the file */
  int64_t given;    /* number of requests returned */
  int64_t given_us; /* arrival of the last returned request */
  int64_t last_us;
  blis__trace_window *window; /* NULL if rows are in order */
  int32_t *rounds;            /* next round by session; NULL unless rounds are numbered */
  uint32_t round_count;
  blis__trace_editing *edits; /* edits in order */
  size_t edit_count;
  kept_segments *kept;
};

void blis_trace_cursor_close(blis_trace_cursor *cursor) {
  if (cursor == NULL) {
    return;
  }
  blis_alloc alloc = cursor->alloc;
  for (kept_segments *kept = cursor->kept, *next; kept != NULL; kept = next) {
    next = kept->behind;
    blis_alloc_free(&alloc, kept, kept->size);
  }
  blis__trace_close(&cursor->file);
  blis__trace_window_free(cursor->window);
  blis_alloc_free(&alloc, cursor->rounds, cursor->round_count * sizeof *cursor->rounds);
  blis_alloc_free(&alloc, cursor->edits, cursor->edit_count * sizeof *cursor->edits);
  blis_trace_stream_free(cursor->stream);
  blis_alloc_free(&alloc, cursor, sizeof *cursor);
}

static blis_status prepare_edits(blis_trace_cursor *cursor) {
  size_t count = 0;
  for (const blis_trace_stream *s = cursor->stream; s->parent != NULL; s = s->parent) {
    count++;
  }
  if (count == 0) {
    return BLIS_OK;
  }
  cursor->edits = blis_alloc_zeroed(&cursor->alloc, count, sizeof *cursor->edits);
  if (cursor->edits == NULL) {
    return BLIS_ERR_NOMEM;
  }
  cursor->edit_count = count;
  for (const blis_trace_stream *s = cursor->stream; s->parent != NULL; s = s->parent) {
    cursor->edits[--count].edit = &s->edit;
  }
  return BLIS_OK;
}

static blis_status prepare(blis_trace_cursor *cursor) {
  const blis__survey *base = cursor->stream->base;
  BLIS_TRY(prepare_edits(cursor));
  if (base->window > 0) {
    cursor->window = blis__trace_window_new(&cursor->alloc, base->window);
    if (cursor->window == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  if (base->numbers_rounds) {
    uint32_t texts = blis_intern_count(blis_workload_strings(base->about));
    cursor->rounds = blis_alloc_zeroed(&cursor->alloc, texts, sizeof *cursor->rounds);
    if (cursor->rounds == NULL) {
      return BLIS_ERR_NOMEM;
    }
    cursor->round_count = texts;
  }
  return BLIS_OK;
}

blis_status blis_trace_cursor_open(const blis_alloc *alloc, blis_trace_stream *stream,
                                   blis_trace_cursor **cursor, blis_error *error) {
  blis_trace_cursor *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  made->stream = stream;
  stream->users++;
  blis_status status = prepare(made) == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
  if (status == BLIS_OK) {
    status = blis__trace_open_again(&stream->base->file, &made->alloc, &made->file, error);
  }
  if (status != BLIS_OK) {
    blis_trace_cursor_close(made);
    return status;
  }
  *cursor = made;
  return BLIS_OK;
}

static blis_status fail_changed(const blis_trace_cursor *cursor, blis_error *error) {
  return blis_fail(error, BLIS_ERR_IO, "%s: the file has changed since it was first read",
                   cursor->file.job.name);
}

/* Reads and settles the next row of the file. */
static blis_status read_row(blis_trace_cursor *cursor, blis_request *row, blis_error *error) {
  const blis__trace_file *file = &cursor->file;
  bool has_row;
  BLIS_TRY(file->format->next(file->reader, row, &has_row, error));
  cursor->is_at_end = !has_row;
  if (!has_row) {
    return cursor->rows == cursor->stream->base->count ? BLIS_OK : fail_changed(cursor, error);
  }
  cursor->rows++;
  if (file->format->settle != NULL) {
    file->format->settle(file->reader, row, (blis_segment *)row->segments);
  }
  if (row->segment_count == 0) {
    row->segments = NULL;
  }
  return BLIS_OK;
}

/* Takes the next row in order of arrival. */
static blis_status take_row(blis_trace_cursor *cursor, blis_request *row, bool *done,
                            blis_error *error) {
  if (cursor->window == NULL) {
    BLIS_TRY(read_row(cursor, row, error));
    *done = cursor->is_at_end;
    return BLIS_OK;
  }
  while (!cursor->is_at_end && !blis__trace_window_is_full(cursor->window)) {
    BLIS_TRY(read_row(cursor, row, error));
    if (!cursor->is_at_end && blis__trace_window_put(cursor->window, row) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  *done = blis__trace_window_is_empty(cursor->window);
  if (!*done) {
    blis__trace_window_take(cursor->window, row);
  }
  return BLIS_OK;
}

static blis_status edit_row(blis_trace_cursor *cursor, blis_request *row, bool *keep,
                            blis_error *error) {
  if (cursor->rounds != NULL && row->session != 0) {
    if (row->session >= cursor->round_count) {
      return fail_changed(cursor, error);
    }
    row->round_index = cursor->rounds[row->session]++;
  }
  *keep = true;
  for (size_t i = 0; i < cursor->edit_count && *keep; i++) {
    BLIS_TRY(blis__trace_edit_next(&cursor->edits[i], row, keep, error));
  }
  return BLIS_OK;
}

blis_status blis_trace_cursor_next(blis_trace_cursor *cursor, blis_request *request, bool *done,
                                   blis_error *error) {
  bool keep = false;
  blis_request row;
  while (!keep) {
    BLIS_TRY(take_row(cursor, &row, done, error));
    if (*done) {
      BLIS_ASSERT(cursor->is_at_end && cursor->given <= cursor->rows);
      cursor->stream->count = cursor->given;
      cursor->stream->last_us = cursor->given > 0 ? cursor->given_us : 0;
      return BLIS_OK;
    }
    if (row.arrival_us < cursor->last_us) {
      return fail_changed(cursor, error);
    }
    cursor->last_us = row.arrival_us;
    BLIS_TRY(edit_row(cursor, &row, &keep, error));
  }
  *request = row;
  cursor->given++;
  cursor->given_us = row.arrival_us;
  return BLIS_OK;
}

/* Sources. */

static blis_status next_request(void *state, blis_request *request, bool *done, blis_error *error) {
  blis_trace_cursor *cursor = state;
  blis_request row;
  BLIS_TRY(blis_trace_cursor_next(cursor, &row, done, error));
  if (*done) {
    return BLIS_OK;
  }
  if (row.segment_count > 0) {
    size_t size = row.segment_count * sizeof(blis_segment);
    kept_segments *kept = blis_alloc_new(&cursor->alloc, sizeof *kept + size);
    BLIS_TRY_NEW(kept, error);
    *kept = (kept_segments){.behind = cursor->kept, .size = sizeof *kept + size};
    memcpy(kept->items, row.segments, size);
    if (cursor->kept != NULL) {
      cursor->kept->before = kept;
    }
    cursor->kept = kept;
    row.segments = kept->items;
  }
  *request = row;
  return BLIS_OK;
}

static void release_request(void *state, const blis_request *request) {
  blis_trace_cursor *cursor = state;
  if (request->segment_count == 0) {
    return;
  }
  kept_segments *kept =
      (kept_segments *)((char *)request->segments - offsetof(kept_segments, items));
  BLIS_ASSERT((kept->before == NULL) == (cursor->kept == kept));
  if (kept->before != NULL) {
    kept->before->behind = kept->behind;
  } else {
    cursor->kept = kept->behind;
  }
  if (kept->behind != NULL) {
    kept->behind->before = kept->before;
  }
  blis_alloc_free(&cursor->alloc, kept, kept->size);
}

blis_request_source blis_trace_cursor_source(blis_trace_cursor *cursor) {
  return (blis_request_source){.next = next_request,
                               .release = release_request,
                               .state = cursor,
                               .strings = blis_workload_strings(cursor->stream->base->about),
                               .count = cursor->stream->count};
}

/* All requests. */

blis_status blis_trace_stream_need_count(blis_trace_stream *stream, int64_t *count,
                                         blis_error *error) {
  if (stream->count < 0) {
    blis_trace_cursor *cursor;
    BLIS_TRY(blis_trace_cursor_open(&stream->alloc, stream, &cursor, error));
    blis_request request;
    bool done = false;
    blis_status status = BLIS_OK;
    while (status == BLIS_OK && !done) {
      status = blis_trace_cursor_next(cursor, &request, &done, error);
    }
    blis_trace_cursor_close(cursor);
    BLIS_TRY(status);
  }
  *count = stream->count;
  return BLIS_OK;
}

blis_status blis_trace_stream_need_last_us(blis_trace_stream *stream, int64_t *last_us,
                                           blis_error *error) {
  int64_t count;
  BLIS_TRY(blis_trace_stream_need_count(stream, &count, error));
  *last_us = stream->last_us;
  return BLIS_OK;
}

static blis_status fill_list(blis_trace_cursor *cursor, blis_workload *list, blis_error *error) {
  BLIS_TRY_MEM(blis_workload_take_texts(list, cursor->stream->base->about), error);
  BLIS_TRY_MEM(blis_workload_describe(list, "%s", cursor->stream->description), error);
  for (;;) {
    blis_request request;
    bool done;
    BLIS_TRY(blis_trace_cursor_next(cursor, &request, &done, error));
    if (done) {
      break;
    }
    BLIS_TRY_MEM(blis_workload_add(list, &request), error);
  }
  return blis_workload_seal(list) == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

blis_status blis_trace_stream_list(const blis_alloc *alloc, blis_trace_stream *stream,
                                   blis_workload **list, blis_error *error) {
  blis_trace_cursor *cursor;
  BLIS_TRY(blis_trace_cursor_open(alloc, stream, &cursor, error));
  blis_workload *made = blis_workload_new(alloc);
  blis_status status = made != NULL ? fill_list(cursor, made, error) : blis_fail_nomem(error);
  blis_trace_cursor_close(cursor);
  if (status != BLIS_OK) {
    blis_workload_free(made);
    return status;
  }
  *list = made;
  return BLIS_OK;
}
