#include "workload/trace/stream.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/invariant.h"
#include "workload/trace/edit.h"
#include "workload/trace/open.h"
#include "workload/trace/order.h"
#include "workload/trace/rows.h"

/* A file that was read once. */
typedef struct survey {
  blis_alloc alloc;
  size_t users;
  char *texts; /* copies of path, format and header path */
  size_t texts_size;
  blis_trace_options options;
  blis_workload *about;
  blis__trace_file file; /* its reader has finished */
  int64_t count;
  int64_t last_us; /* the last arrival */
  size_t window;   /* rows may come so many places too late */
  bool numbers_rounds;
} survey;

/* The requests of the file itself, or those of parent edited. */
struct blis_trace_stream {
  blis_alloc alloc;
  size_t users;
  survey *base;
  blis_trace_stream *parent;
  blis__trace_edit edit;
  void *owned; /* what the edit borrows */
  size_t owned_size;
  char *description;
  size_t description_size;
  int64_t count;   /* -1 = not yet known */
  int64_t last_us; /* the last arrival, once the count is known */
};

/* Surveys. */

static void survey_unref(survey *base) {
  if (--base->users > 0) {
    return;
  }
  blis_alloc alloc = base->alloc;
  blis__trace_close(&base->file);
  blis_workload_free(base->about);
  blis_alloc_free(&alloc, base->texts, base->texts_size);
  blis_alloc_free(&alloc, base, sizeof *base);
}

static char *copy_text(char **at, const char *text) {
  char *copy = *at;
  size_t size = text != NULL ? strlen(text) + 1 : 0;
  if (size > 0) {
    memcpy(copy, text, size);
  }
  *at += size;
  return size > 0 ? copy : NULL;
}

static size_t text_size(const char *text) {
  return text != NULL ? strlen(text) + 1 : 0;
}

/* NULL = out of memory. */
static survey *survey_new(const blis_alloc *alloc, const char *path,
                          const blis_trace_options *options,
                          const char **own_path) {
  survey *base = blis_alloc_zeroed(alloc, 1, sizeof *base);
  if (base == NULL) {
    return NULL;
  }
  base->alloc = *alloc;
  base->users = 1;
  base->options = *options;
  base->about = blis_workload_new(alloc);
  base->texts_size = text_size(path) + text_size(options->format) +
                     text_size(options->header_path);
  base->texts = blis_alloc_new(alloc, base->texts_size);
  if (base->about == NULL || base->texts == NULL) {
    survey_unref(base);
    return NULL;
  }
  char *at = base->texts;
  *own_path = copy_text(&at, path);
  base->options.format = copy_text(&at, options->format);
  base->options.header_path = copy_text(&at, options->header_path);
  return base;
}

/* Goes through all rows; with settling, those of a file that is known. */
static blis_status measure_rows(const survey *base, blis__trace_file *file,
                                bool settles, blis__trace_lag *lag,
                                blis_error *error) {
  for (;;) {
    blis_request row;
    bool has_row;
    BLIS_TRY(file->format->next(file->reader, &row, &has_row, error));
    if (!has_row) {
      return BLIS_OK;
    }
    if (settles) {
      file->format->settle(file->reader, &row, (blis_segment *)row.segments);
    }
    BLIS_TRY_MEM(blis__trace_lag_add(&base->alloc, lag, row.arrival_us), error);
  }
}

/* For files whose order only shows in settled rows. */
static blis_status measure_again(const survey *base, blis__trace_lag *lag,
                                 blis_error *error) {
  blis__trace_file again;
  blis_status status =
      blis__trace_open_again(&base->file, &base->alloc, &again, error);
  if (status == BLIS_OK) {
    blis__trace_lag_deinit(&base->alloc, lag);
    *lag = (blis__trace_lag){0};
    status = measure_rows(base, &again, true, lag, error);
  }
  blis__trace_close(&again);
  return status;
}

static blis_status read_all(survey *base, blis__trace_lag *lag,
                            blis_error *error) {
  const blis__trace_format *format = base->file.format;
  BLIS_TRY(measure_rows(base, &base->file, false, lag, error));
  BLIS_TRY(blis__trace_finish(&base->file, error));
  if (lag->count == 0) {
    return blis__trace_fail_empty(&base->file, error);
  }
  bool is_settled = format->moves_unevenly != NULL &&
                    format->moves_unevenly(base->file.reader);
  if (is_settled) {
    BLIS_TRY(measure_again(base, lag, error));
  }
  blis_request last = {.arrival_us = lag->last_us};
  if (format->settle != NULL && !is_settled) {
    format->settle(base->file.reader, &last, NULL);
  }
  base->last_us = last.arrival_us;
  base->count = lag->count;
  base->window = lag->window;
  base->numbers_rounds = format->numbers_rounds != NULL &&
                         format->numbers_rounds(base->file.reader);
  BLIS_TRY_MEM(
      blis_workload_describe(base->about, "%s trace %s", format->name,
                             blis__trace_file_name(base->file.job.name)),
      error);
  return BLIS_OK;
}

static blis_status fail_unordered(const survey *base,
                                  const blis__trace_lag *lag,
                                  blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: request %" PRId64
                   " arrives before one that is more than %d places in front "
                   "of it, which is too far out of order to be streamed; read "
                   "it into memory (stream = never), or sort the file",
                   base->file.job.name, lag->beyond_row,
                   BLIS__TRACE_WINDOW_MAX);
}

static blis_status survey_fill(survey *base, const char *path, bool *is_ordered,
                               blis_error *error) {
  BLIS_TRY(blis__trace_open(&base->alloc, path, &base->options, base->about,
                            &base->file, error));
  if (base->file.job.size_bytes < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: it cannot be streamed, for that reads a file twice; "
                     "read it into memory (stream = never), or give a file",
                     base->file.job.name);
  }
  if (base->file.job.is_whole) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: it is a single JSON text and cannot be streamed; "
                     "read it into memory (stream = never)",
                     base->file.job.name);
  }
  blis__trace_lag lag = {0};
  blis_status status = read_all(base, &lag, error);
  if (status == BLIS_OK && lag.is_beyond) {
    if (is_ordered != NULL) {
      *is_ordered = false;
    } else {
      status = fail_unordered(base, &lag, error);
    }
  }
  blis__trace_lag_deinit(&base->alloc, &lag);
  return status;
}

/* Streams. */

void blis_trace_stream_free(blis_trace_stream *stream) {
  if (stream == NULL || --stream->users > 0) {
    return;
  }
  blis_alloc alloc = stream->alloc;
  blis_trace_stream_free(stream->parent);
  survey_unref(stream->base);
  blis_alloc_free(&alloc, stream->owned, stream->owned_size);
  blis_alloc_free(&alloc, stream->description, stream->description_size);
  blis_alloc_free(&alloc, stream, sizeof *stream);
}

/* what = NULL for the stream of a file. NULL = out of memory. */
static blis_trace_stream *stream_new(survey *base, const char *description,
                                     const char *what) {
  blis_trace_stream *stream =
      blis_alloc_zeroed(&base->alloc, 1, sizeof *stream);
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
                               const blis_trace_options *options,
                               bool *is_ordered, blis_trace_stream **stream,
                               blis_error *error) {
  const blis_trace_options defaults = {0};
  const char *own_path = NULL;
  survey *base =
      survey_new(alloc, path, options != NULL ? options : &defaults, &own_path);
  BLIS_TRY_NEW(base, error);
  blis_status status = survey_fill(base, own_path, is_ordered, error);
  blis_trace_stream *made = NULL;
  if (status == BLIS_OK && (is_ordered == NULL || *is_ordered)) {
    made = stream_new(base, blis_workload_description(base->about), NULL);
    status = made != NULL ? BLIS_OK : blis_fail_nomem(error);
  }
  if (made != NULL) {
    made->count = base->count;
    made->last_us = base->last_us;
    *stream = made;
  }
  survey_unref(base);
  return status;
}

blis_status blis_trace_stream_new(const blis_alloc *alloc, const char *path,
                                  const blis_trace_options *options,
                                  blis_trace_stream **stream,
                                  blis_error *error) {
  return make_stream(alloc, path, options, NULL, stream, error);
}

blis_status blis__trace_stream_try(const blis_alloc *alloc, const char *path,
                                   const blis_trace_options *options,
                                   blis_trace_stream **stream, bool *is_ordered,
                                   blis_error *error) {
  *is_ordered = true;
  return make_stream(alloc, path, options, is_ordered, stream, error);
}

/* A stream with an edit, whose borrowed part of that size is copied. */
static blis_status derive(blis_trace_stream *parent,
                          const blis__trace_edit *edit, const void *borrowed,
                          size_t size, blis_trace_stream **derived,
                          blis_error *error) {
  blis_trace_stream *made =
      stream_new(parent->base, parent->description, edit->what);
  BLIS_TRY_NEW(made, error);
  made->parent = parent;
  parent->users++;
  made->edit = *edit;
  if (size > 0) {
    made->owned = blis_alloc_new(&made->alloc, size);
    made->owned_size = size;
    if (made->owned == NULL) {
      blis_trace_stream_free(made);
      return blis_fail_nomem(error);
    }
    memcpy(made->owned, borrowed, size);
  }
  *derived = made;
  return BLIS_OK;
}

blis_status blis_trace_stream_cut(blis_trace_stream *stream,
                                  const blis_trace_cut_options *options,
                                  blis_trace_stream **part, blis_error *error) {
  blis__trace_edit edit;
  BLIS_TRY(blis__trace_edit_cut(options, &edit, error));
  return derive(stream, &edit, NULL, 0, part, error);
}

blis_status blis_trace_stream_scale(blis_trace_stream *stream, double factor,
                                    blis_trace_stream **scaled,
                                    blis_error *error) {
  blis__trace_edit edit;
  BLIS_TRY(blis__trace_edit_scale(factor, &edit, error));
  return derive(stream, &edit, NULL, 0, scaled, error);
}

blis_status blis_trace_stream_warp(blis_trace_stream *stream,
                                   const blis_trace_warp_point *points,
                                   size_t count, blis_trace_stream **warped,
                                   blis_error *error) {
  blis__trace_edit edit;
  BLIS_TRY(blis__trace_edit_warp(points, count, &edit, error));
  BLIS_TRY(
      derive(stream, &edit, points, count * sizeof *points, warped, error));
  (*warped)->edit.points = (*warped)->owned;
  return BLIS_OK;
}

blis_status blis_trace_stream_filter(blis_trace_stream *stream,
                                     const uint64_t *marks,
                                     blis_trace_stream **filtered,
                                     blis_error *error) {
  int64_t count;
  BLIS_TRY(blis_trace_stream_need_count(stream, &count, error));
  blis__trace_edit edit = blis__trace_edit_marks(marks, "filtered");
  BLIS_TRY(derive(stream, &edit, marks,
                  blis_trace_mark_words((size_t)count) * sizeof *marks,
                  filtered, error));
  (*filtered)->edit.marks = (*filtered)->owned;
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

blis_status blis_trace_stream_need_count(blis_trace_stream *stream,
                                         int64_t *count, blis_error *error) {
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

blis_status blis_trace_stream_need_last_us(blis_trace_stream *stream,
                                           int64_t *last_us,
                                           blis_error *error) {
  int64_t count;
  BLIS_TRY(blis_trace_stream_need_count(stream, &count, error));
  *last_us = stream->last_us;
  return BLIS_OK;
}

/* Cursors. */

/* Segments of a request that somebody has. */
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
  int64_t rows;     /* taken from the file */
  int64_t given;    /* requests */
  int64_t given_us; /* arrival of the last of them */
  int64_t last_us;
  blis__trace_window *window; /* NULL when rows come in order */
  int32_t *rounds;            /* by session; NULL unless they are numbered */
  uint32_t round_count;
  blis__trace_editing *edits; /* in their order */
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
  blis_alloc_free(&alloc, cursor->rounds,
                  cursor->round_count * sizeof *cursor->rounds);
  blis_alloc_free(&alloc, cursor->edits,
                  cursor->edit_count * sizeof *cursor->edits);
  blis_trace_stream_free(cursor->stream);
  blis_alloc_free(&alloc, cursor, sizeof *cursor);
}

static blis_status prepare_edits(blis_trace_cursor *cursor) {
  size_t count = 0;
  for (const blis_trace_stream *s = cursor->stream; s->parent != NULL;
       s = s->parent) {
    count++;
  }
  if (count == 0) {
    return BLIS_OK;
  }
  cursor->edits =
      blis_alloc_zeroed(&cursor->alloc, count, sizeof *cursor->edits);
  if (cursor->edits == NULL) {
    return BLIS_ERR_NOMEM;
  }
  cursor->edit_count = count;
  for (const blis_trace_stream *s = cursor->stream; s->parent != NULL;
       s = s->parent) {
    cursor->edits[--count].edit = &s->edit;
  }
  return BLIS_OK;
}

static blis_status prepare(blis_trace_cursor *cursor) {
  const survey *base = cursor->stream->base;
  BLIS_TRY(prepare_edits(cursor));
  if (base->window > 0) {
    cursor->window = blis__trace_window_new(&cursor->alloc, base->window);
    if (cursor->window == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  if (base->numbers_rounds) {
    uint32_t texts = blis_intern_count(blis_workload_strings(base->about));
    cursor->rounds =
        blis_alloc_zeroed(&cursor->alloc, texts, sizeof *cursor->rounds);
    if (cursor->rounds == NULL) {
      return BLIS_ERR_NOMEM;
    }
    cursor->round_count = texts;
  }
  return BLIS_OK;
}

blis_status blis_trace_cursor_open(const blis_alloc *alloc,
                                   blis_trace_stream *stream,
                                   blis_trace_cursor **cursor,
                                   blis_error *error) {
  blis_trace_cursor *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  made->stream = stream;
  stream->users++;
  blis_status status =
      prepare(made) == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
  if (status == BLIS_OK) {
    status = blis__trace_open_again(&stream->base->file, &made->alloc,
                                    &made->file, error);
  }
  if (status != BLIS_OK) {
    blis_trace_cursor_close(made);
    return status;
  }
  *cursor = made;
  return BLIS_OK;
}

static blis_status fail_changed(const blis_trace_cursor *cursor,
                                blis_error *error) {
  return blis_fail(error, BLIS_ERR_IO,
                   "%s: the file has changed since it was read first",
                   cursor->file.job.name);
}

/* The next row of the file, settled. */
static blis_status read_row(blis_trace_cursor *cursor, blis_request *row,
                            blis_error *error) {
  const blis__trace_file *file = &cursor->file;
  bool has_row;
  BLIS_TRY(file->format->next(file->reader, row, &has_row, error));
  cursor->is_at_end = !has_row;
  if (!has_row) {
    return cursor->rows == cursor->stream->base->count
               ? BLIS_OK
               : fail_changed(cursor, error);
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

/* The next row in order of arrival. */
static blis_status take_row(blis_trace_cursor *cursor, blis_request *row,
                            bool *done, blis_error *error) {
  if (cursor->window == NULL) {
    BLIS_TRY(read_row(cursor, row, error));
    *done = cursor->is_at_end;
    return BLIS_OK;
  }
  while (!cursor->is_at_end && !blis__trace_window_is_full(cursor->window)) {
    BLIS_TRY(read_row(cursor, row, error));
    if (!cursor->is_at_end &&
        blis__trace_window_put(cursor->window, row) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  *done = blis__trace_window_is_empty(cursor->window);
  if (!*done) {
    blis__trace_window_take(cursor->window, row);
  }
  return BLIS_OK;
}

static blis_status edit_row(blis_trace_cursor *cursor, blis_request *row,
                            bool *keep, blis_error *error) {
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

blis_status blis_trace_cursor_next(blis_trace_cursor *cursor,
                                   blis_request *request, bool *done,
                                   blis_error *error) {
  bool keep = false;
  blis_request row;
  while (!keep) {
    BLIS_TRY(take_row(cursor, &row, done, error));
    if (*done) {
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

static blis_status next_request(void *state, blis_request *request, bool *done,
                                blis_error *error) {
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
    *kept =
        (kept_segments){.behind = cursor->kept, .size = sizeof *kept + size};
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
  kept_segments *kept = (kept_segments *)((char *)request->segments -
                                          offsetof(kept_segments, items));
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
  return (blis_request_source){
      .next = next_request,
      .release = release_request,
      .state = cursor,
      .strings = blis_workload_strings(cursor->stream->base->about),
      .count = cursor->stream->count};
}

/* Lists. */

static blis_status fill_list(blis_trace_cursor *cursor, blis_workload *list,
                             blis_error *error) {
  BLIS_TRY_MEM(blis_workload_take_texts(list, cursor->stream->base->about),
               error);
  BLIS_TRY_MEM(blis_workload_describe(list, "%s", cursor->stream->description),
               error);
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

blis_status blis_trace_stream_list(const blis_alloc *alloc,
                                   blis_trace_stream *stream,
                                   blis_workload **list, blis_error *error) {
  blis_trace_cursor *cursor;
  BLIS_TRY(blis_trace_cursor_open(alloc, stream, &cursor, error));
  blis_workload *made = blis_workload_new(alloc);
  blis_status status =
      made != NULL ? fill_list(cursor, made, error) : blis_fail_nomem(error);
  blis_trace_cursor_close(cursor);
  if (status != BLIS_OK) {
    blis_workload_free(made);
    return status;
  }
  *list = made;
  return BLIS_OK;
}
