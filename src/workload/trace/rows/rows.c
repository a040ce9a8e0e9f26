#include "workload/trace/rows/rows.h"

#include <string.h>

#include "base/number.h"

enum { MAX_JSON_SIZE = 1 << 30 };

/* Opening. */

static blis_input *take_input(blis__trace_job *job) {
  blis_input *input = job->input;
  job->input = NULL;
  return input;
}

blis_status blis__trace_open_csv(blis__trace_rows *rows, bool has_even_rows, blis_error *error) {
  const blis_csv_options options = {
      .has_header = true, .has_even_rows = has_even_rows, .separator = rows->separator};
  BLIS_TRY(
      blis_csv_open_input(rows->job->alloc, take_input(rows->job), &options, &rows->csv, error));
  if (rows->fields != NULL) {
    blis__unread_see_columns(&rows->unread, rows->csv, rows->fields);
  }
  return BLIS_OK;
}

blis_status blis__trace_open_text(void *reader, blis_error *error) {
  blis__trace_rows *rows = reader;
  return blis_text_open_input(rows->job->alloc, take_input(rows->job), &rows->text, error);
}

blis_status blis__trace_open_json(blis__trace_rows *rows, blis_error *error) {
  return blis_json_read_input(&rows->json, rows->job->input, rows->job->name, MAX_JSON_SIZE, error);
}

/* The start of a file, and the clock of its timestamps. */

blis_status blis__trace_head(const blis__trace_job *job, blis_slice *head, blis_error *error) {
  BLIS_TRY(blis_input_peek(job->input, head, error));
  if (head->length >= 3 && memcmp(head->data, "\xEF\xBB\xBF", 3) == 0) {
    head->data += 3; /* byte order mark */
    head->length -= 3;
  }
  while (head->length > 0 && strchr(" \t\r\n", *head->data) != NULL) {
    head->data++;
    head->length--;
  }
  return BLIS_OK;
}

static void choose_clock(blis__trace_rows *rows, double usual_us, double stated_us) {
  double given_us = blis__clock_unit(rows->job->options->time_unit);
  blis__clock_choose(&rows->clock, usual_us, given_us > 0 ? given_us : stated_us);
}

blis_status blis__trace_json_clock(blis__trace_rows *rows, const char *key, double usual_us,
                                   double stated_us, blis_error *error) {
  blis_slice head;
  BLIS_TRY(blis__trace_head(rows->job, &head, error));
  blis__clock_add_json(&rows->clock, head, key);
  choose_clock(rows, usual_us, stated_us);
  return BLIS_OK;
}

static void sample_column(blis__trace_rows *rows, blis_csv *csv, size_t column) {
  blis_error other = {0};
  bool has_row = true;
  /* Sampling stops at a truncated row. */
  while (blis_csv_next(csv, &has_row, &other) == BLIS_OK && has_row) {
    double time;
    if (column < blis_csv_count(csv) &&
        blis_parse_double(blis_slice_trim(blis_csv_field(csv, column)), &time) == BLIS_NUMBER_OK) {
      blis__clock_add(&rows->clock, time);
    }
  }
}

blis_status blis__trace_csv_clock(blis__trace_rows *rows, const char *column, double usual_us,
                                  double stated_us, blis_error *error) {
  blis_slice head;
  BLIS_TRY(blis__trace_head(rows->job, &head, error));
  while (head.length > 0 && head.length == BLIS_INPUT_PEEK_MAX &&
         head.data[head.length - 1] != '\n') {
    head.length--;
  }
  const blis_csv_options options = {.has_header = true, .separator = rows->separator};
  blis_csv *csv = NULL;
  blis_error other = {0};
  if (blis_csv_open_memory(rows->job->alloc, rows->job->name, head, &options, &csv, &other) ==
      BLIS_OK) {
    size_t place = blis_csv_column(csv, column);
    if (place != BLIS_CSV_NONE) {
      sample_column(rows, csv, place);
    }
  }
  blis_csv_close(csv);
  choose_clock(rows, usual_us, stated_us);
  return BLIS_OK;
}

blis_status blis__trace_note_clock(const blis__trace_rows *rows, blis_error *error) {
  const blis__clock *clock = &rows->clock;
  blis_workload *workload = rows->job->workload;
  const char *name = rows->job->name;
  const char *unit = blis__clock_unit_name(clock->unit_us);
  if (clock->unit_us <= 0 || clock->count == 0) {
    return BLIS_OK;
  }
  blis_status status = BLIS_OK;
  if (clock->reason == BLIS__CLOCK_EPOCH) {
    status = blis_workload_note(
        workload, "%s: timestamps are %s since 1970; requests arrive from the first one on", name,
        unit);
  } else if (clock->reason == BLIS__CLOCK_SPACING && clock->usual_us > 0) {
    status = blis_workload_note(
        workload,
        "%s: timestamps are read as %s, since %s would mean %.3g requests/s; --time-unit "
        "(time_unit) states the unit",
        name, unit, blis__clock_unit_name(clock->usual_us), clock->per_second);
  } else if (clock->reason == BLIS__CLOCK_SPACING) {
    status = blis_workload_note(workload,
                                "%s: timestamps are read as %s, judged by their spacing; "
                                "--time-unit (time_unit) states the unit",
                                name, unit);
  }
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

void blis__trace_see_members(blis__trace_rows *rows, blis_json_value object,
                             const char *const *fields) {
  if (fields != NULL && rows->known == rows) {
    blis__unread_see_members(&rows->unread, object, fields);
  }
}

void blis__trace_drop_input(blis__trace_job *job) {
  blis_input_close(take_input(job));
}

blis_status blis__trace_change_input(blis__trace_job *job, const char *path, blis_error *error) {
  blis__trace_drop_input(job);
  BLIS_TRY(blis_input_open(job->alloc, path, &job->input, error));
  job->size_bytes = blis_input_file_size(job->input);
  job->is_packed = blis_input_is_packed(job->input);
  return BLIS_OK;
}

void blis__trace_close_rows(blis__trace_rows *rows) {
  blis_json_deinit(&rows->json);
  blis_csv_close(rows->csv);
  blis_text_close(rows->text);
  rows->csv = NULL;
  rows->text = NULL;
}

/* Rows. */

blis_status blis__trace_next_csv(blis__trace_rows *rows, bool *has_row, blis_error *error) {
  *has_row = false;
  if (rows->taken < rows->job->limit) {
    BLIS_TRY(blis_csv_next(rows->csv, has_row, error));
    rows->taken += *has_row;
  }
  return BLIS_OK;
}

blis_status blis__trace_next_line(blis__trace_rows *rows, blis_text_line *line, bool *has_line,
                                  blis_error *error) {
  do {
    BLIS_TRY(blis_text_next(rows->text, line, has_line, error));
  } while (*has_line && blis_slice_trim(line->content).length == 0);
  return BLIS_OK;
}

void blis__trace_settle_us(const void *reader, blis_request *row, blis_segment *segments) {
  (void)segments;
  const blis__trace_rows *rows = reader;
  const blis__trace_rows *known = rows->known;
  row->arrival_us -= known->start == INT64_MAX ? 0 : known->start;
}

void blis__trace_settle_ns(const void *reader, blis_request *row, blis_segment *segments) {
  blis__trace_settle_us(reader, row, segments);
  row->arrival_us /= 1000;
}

/* Strings. */

blis_status blis__trace_text(const blis__trace_job *job, blis_slice text, uint32_t *id,
                             blis_error *error) {
  *id = 0;
  if (text.length > 0) {
    BLIS_TRY_MEM(blis_workload_text(job->workload, text.data, text.length, id), error);
  }
  return BLIS_OK;
}

blis_status blis__trace_note(const blis__trace_rows *rows, const char *what, int64_t count,
                             const char *consequence, blis_error *error) {
  if (count > 0) {
    BLIS_TRY_MEM(blis_workload_note(rows->job->workload, "%s: %s: %lld%s", rows->job->name, what,
                                    (long long)count, consequence),
                 error);
  }
  return BLIS_OK;
}

bool blis__trace_head_has(blis_slice head, const char *text) {
  size_t length = strlen(text);
  for (size_t i = 0; i + length <= head.length; i++) {
    if (memcmp(head.data + i, text, length) == 0) {
      return true;
    }
  }
  return false;
}

bool blis__trace_first_line_has(blis_slice head, const char *text) {
  const char *end = head.length > 0 ? memchr(head.data, '\n', head.length) : NULL;
  head.length = end != NULL ? (size_t)(end - head.data) : head.length;
  return blis__trace_head_has(head, text);
}

const char *blis__trace_file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}
