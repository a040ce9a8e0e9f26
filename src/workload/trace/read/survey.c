#include "workload/trace/read/survey.h"

#include <inttypes.h>
#include <string.h>

#include "workload/trace/read/order.h"
#include "workload/trace/rows/rows.h"

void blis__survey_unref(blis__survey *base) {
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

/* Returns NULL if out of memory. */
static blis__survey *new_survey(const blis_alloc *alloc, const char *path,
                                const blis_trace_options *options, const char **own_path) {
  blis__survey *base = blis_alloc_zeroed(alloc, 1, sizeof *base);
  if (base == NULL) {
    return NULL;
  }
  base->alloc = *alloc;
  base->users = 1;
  base->options = *options;
  base->about = blis_workload_new(alloc);
  base->texts_size = text_size(path) + text_size(options->format) +
                     text_size(options->header_path) + text_size(options->columns) +
                     text_size(options->time_unit);
  base->texts = blis_alloc_new(alloc, base->texts_size);
  if (base->about == NULL || base->texts == NULL) {
    blis__survey_unref(base);
    return NULL;
  }
  char *at = base->texts;
  *own_path = copy_text(&at, path);
  base->options.format = copy_text(&at, options->format);
  base->options.header_path = copy_text(&at, options->header_path);
  base->options.columns = copy_text(&at, options->columns);
  base->options.time_unit = copy_text(&at, options->time_unit);
  return base;
}

/* Visits all rows. With settling, the file must have been read before. */
static blis_status measure_rows(const blis__survey *base, blis__trace_file *file, bool settles,
                                blis__trace_lag *lag, blis_error *error) {
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

/* Measures the order again with settled rows, for files whose order depends on settling. */
static blis_status measure_again(const blis__survey *base, blis__trace_lag *lag,
                                 blis_error *error) {
  blis__trace_file again;
  blis_status status = blis__trace_open_again(&base->file, &base->alloc, &again, error);
  if (status == BLIS_OK) {
    blis__trace_lag_deinit(&base->alloc, lag);
    *lag = (blis__trace_lag){0};
    status = measure_rows(base, &again, true, lag, error);
  }
  blis__trace_close(&again);
  return status;
}

static blis_status read_all(blis__survey *base, blis__trace_lag *lag, blis_error *error) {
  const blis__trace_format *format = base->file.format;
  BLIS_TRY(measure_rows(base, &base->file, false, lag, error));
  BLIS_TRY(blis__trace_finish(&base->file, error));
  if (lag->count == 0) {
    return blis__trace_fail_empty(&base->file, error);
  }
  bool is_settled = format->moves_unevenly != NULL && format->moves_unevenly(base->file.reader);
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
  base->numbers_rounds =
      format->numbers_rounds != NULL && format->numbers_rounds(base->file.reader);
  BLIS_TRY_MEM(blis_workload_describe(base->about, "%s trace %s", format->name,
                                      blis__trace_file_name(base->file.job.name)),
               error);
  return BLIS_OK;
}

static blis_status fail_unordered(const blis__survey *base, const blis__trace_lag *lag,
                                  blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: request %" PRId64
                   " arrives before a request more than %d places ahead of it, "
                   "which is too far out of order to stream; read it into "
                   "memory (stream = never) or sort the file",
                   base->file.job.name, lag->beyond_row, BLIS__TRACE_WINDOW_MAX);
}

static blis_status survey_fill(blis__survey *base, const char *path, bool *is_ordered,
                               blis_error *error) {
  BLIS_TRY(blis__trace_open(&base->alloc, path, &base->options, base->about, &base->file, error));
  if (base->file.job.size_bytes < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: cannot be streamed, since that reads a file twice; "
                     "read it into memory (stream = never) or give a file",
                     base->file.job.name);
  }
  if (base->file.job.is_whole) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%s: a single JSON text cannot be streamed; read it into "
                     "memory (stream = never)",
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

blis_status blis__survey_new(const blis_alloc *alloc, const char *path,
                             const blis_trace_options *options, bool *is_ordered,
                             blis__survey **survey, blis_error *error) {
  const blis_trace_options defaults = {0};
  const char *own_path = NULL;
  blis__survey *made = new_survey(alloc, path, options != NULL ? options : &defaults, &own_path);
  BLIS_TRY_NEW(made, error);
  blis_status status = survey_fill(made, own_path, is_ordered, error);
  if (status != BLIS_OK || (is_ordered != NULL && !*is_ordered)) {
    blis__survey_unref(made);
    made = NULL;
  }
  *survey = made;
  return status;
}
