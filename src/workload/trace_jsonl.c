#include "workload/trace_jsonl.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "workload/trace_rows.h"

static bool is_skipped(blis_slice line) {
  return line.length == 0 || line.data[0] == '#';
}

static blis_status read_line(blis_text *text, const blis_text_line *content,
                             int64_t number, blis__trace_line_fn *fn,
                             void *state, blis_error *error) {
  blis_json json;
  BLIS_TRY(blis_json_parse(&json, blis_text_name(text), content->number,
                           content->content, error));
  blis__trace_line line = {
      .row = blis_json_root(&json), .number = number, .line = content->number};
  blis_status status = blis_json_need_object(line.row, error);
  if (status == BLIS_OK) {
    status = fn(state, &line, error);
  }
  blis_json_deinit(&json);
  return status;
}

static blis_status read_lines(const blis__trace_job *job, blis_text *text,
                              blis__trace_line_fn *fn, void *state,
                              blis_error *error) {
  int64_t number = 0;
  while (number < job->limit) {
    blis_text_line line;
    bool has_line;
    BLIS_TRY(blis_text_next(text, &line, &has_line, error));
    if (!has_line) {
      break;
    }
    if (!is_skipped(blis_slice_trim(line.content))) {
      BLIS_TRY(read_line(text, &line, number, fn, state, error));
      number++;
    }
  }
  return BLIS_OK;
}

blis_status blis__trace_each_line(const blis__trace_job *job,
                                  blis__trace_line_fn *fn, void *state,
                                  blis_error *error) {
  blis_text *text;
  BLIS_TRY(blis_text_open(job->alloc, job->path, &text, error));
  blis_status status = read_lines(job, text, fn, state, error);
  blis_text_close(text);
  return status;
}

blis_slice blis__trace_first_row(blis_slice head) {
  while (head.length > 0) {
    const char *end = memchr(head.data, '\n', head.length);
    size_t length = end != NULL ? (size_t)(end - head.data) : head.length;
    blis_slice line = blis_slice_trim((blis_slice){head.data, length});
    if (!is_skipped(line)) {
      return line;
    }
    size_t skipped = end != NULL ? length + 1 : length;
    head.data += skipped;
    head.length -= skipped;
  }
  return head;
}

blis_status blis__trace_time(blis_json_value row, const char *key,
                             double unit_us, int64_t *time_us,
                             blis_error *error) {
  double time;
  BLIS_TRY(blis_json_double(blis_json_member(row, key), 0,
                            BLIS__TRACE_MAX_MS * 1000 / unit_us, &time, error));
  *time_us = llround(time * unit_us);
  return BLIS_OK;
}

blis_status blis__trace_tokens(blis_json_value row, const char *key,
                               uint32_t *tokens, blis_error *error) {
  int64_t value;
  BLIS_TRY(blis_json_int64(blis_json_member(row, key), 0,
                           BLIS_WORKLOAD_MAX_TOKENS, &value, error));
  *tokens = (uint32_t)value;
  return BLIS_OK;
}

blis_status blis__trace_name(const blis__trace_job *job, blis_json_value row,
                             const char *key, uint32_t *id, blis_error *error) {
  blis_json_value value = blis_json_member(row, key);
  char digits[BLIS_INT64_TEXT_SIZE];
  blis_slice name = {0};
  if (blis_json_type_of(value) == BLIS_JSON_INTEGER) {
    int64_t number;
    BLIS_TRY(blis_json_int64(value, INT64_MIN, INT64_MAX, &number, error));
    name = (blis_slice){digits, blis_format_int64(number, digits)};
  } else if (blis_json_has(value)) {
    BLIS_TRY(blis_json_text(value, &name, error));
  }
  return blis__trace_text(job, name, id, error);
}
