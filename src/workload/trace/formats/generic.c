/*
 * Arbitrary tables of requests, as CSV with a header row or as JSON lines. The columns and their
 * types are determined from the start of the file, their meaning by columns.h, and the unit of
 * numeric times by clock.h.
 *
 * CSV fields may be separated by commas, semicolons, tabs, or vertical bars. Members of nested
 * objects have names such as usage.prompt_tokens. A prompt or output that is text counts as one
 * token per 4 bytes, with a note. Requests with equal prefixes share their first prefix_tokens
 * tokens. Without turns, the rows of a session are its rounds, in order of time.
 */
#include "workload/trace/formats/generic.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "workload/trace/formats/columns.h"
#include "workload/trace/formats/timestamp.h"
#include "workload/trace/rows/jsonl.h"

/* Separates prefixes from other streams of content. */
#define PREFIX_STREAM (UINT64_C(1) << 63)

enum { BYTES_PER_TOKEN = 4, SNIFFED_ROWS = 20, NOTE_SIZE = 600, DEPTH_MAX = 3 };

typedef struct reading {
  blis__trace_rows rows;
  blis__column columns[BLIS__COLUMNS_MAX];
  size_t count;
  blis__mapping map;
  bool has_text_times; /* times are text, such as 2026-05-10 00:00:00 */
  blis_segment prefix; /* of the row */
  int64_t estimated;   /* number of lengths estimated from text */
} reading;

/* Detection. */

static const blis_slice blank = {.data = "", .length = 0};

/* Returns the complete lines at the start of a file; the whole start if it contains no line end. */
static blis_slice whole_lines(blis_slice head) {
  size_t length = head.length;
  while (length > 0 && head.data[length - 1] != '\n') {
    length--;
  }
  return length > 0 ? (blis_slice){head.data, length} : head;
}

static bool is_number(blis_slice text) {
  double value;
  return blis_parse_double(blis_slice_trim(text), &value) == BLIS_NUMBER_OK;
}

static bool is_timestamp(blis_slice text) {
  int64_t ns;
  return blis__trace_parse_timestamp(blis_slice_trim(text), &ns);
}

static void see_value(blis__column *column, blis_slice text) {
  bool is_numeric = is_number(text);
  column->values++;
  column->numbers += is_numeric;
  column->times += is_numeric || is_timestamp(text);
}

static bool add_column(reading *r, const char *prefix, const char *name) {
  size_t length = strlen(prefix) + strlen(name);
  if (r->count == BLIS__COLUMNS_MAX || length >= BLIS__COLUMN_NAME_MAX) {
    return false;
  }
  blis__column *column = &r->columns[r->count++];
  snprintf(column->name, sizeof column->name, "%s%s", prefix, name);
  return true;
}

/* Returns the most frequent separator in the header row. */
static char separator_of(blis_slice head) {
  static const char separators[] = ",;\t|";
  const char *end = memchr(head.data, '\n', head.length);
  size_t length = end != NULL ? (size_t)(end - head.data) : head.length;
  char best = ',';
  size_t most = 0;
  for (const char *s = separators; *s != '\0'; s++) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
      count += head.data[i] == *s;
    }
    if (count > most) {
      most = count;
      best = *s;
    }
  }
  return best;
}

static blis_status sniff_rows(reading *r, blis_csv *csv, blis_error *error) {
  for (size_t i = 0; i < blis_csv_column_count(csv); i++) {
    if (!add_column(r, "", blis_csv_column_name(csv, i))) {
      return blis_fail(error, BLIS_ERR_PARSE, "more than %d columns, or a name of %d or more bytes",
                       BLIS__COLUMNS_MAX, BLIS__COLUMN_NAME_MAX);
    }
  }
  bool has_row = true;
  blis_error cut = {0};
  for (int row = 0; row < SNIFFED_ROWS; row++) {
    /* The last row of the sample may be truncated. */
    if (blis_csv_next(csv, &has_row, &cut) != BLIS_OK || !has_row) {
      return BLIS_OK;
    }
    for (size_t i = 0; i < r->count && i < blis_csv_count(csv); i++) {
      if (blis_csv_field(csv, i).length > 0) {
        see_value(&r->columns[i], blis_csv_field(csv, i));
      }
    }
  }
  return BLIS_OK;
}

static blis_status sniff_csv(const blis__trace_job *job, blis_slice head, reading *r,
                             blis_error *error) {
  r->rows.separator = separator_of(head);
  const blis_csv_options options = {.separator = r->rows.separator, .has_header = true};
  blis_csv *csv = NULL;
  BLIS_TRY(blis_csv_open_memory(job->alloc, job->name, whole_lines(head), &options, &csv, error));
  blis_status status = sniff_rows(r, csv, error);
  blis_csv_close(csv);
  return status;
}

static void sniff_members(reading *r, blis_json_value object, const char *prefix, int depth) {
  const char *key = NULL;
  blis_json_value member;
  while (blis_json_next(object, &key, &member)) {
    blis_json_type type = blis_json_type_of(member);
    char inner[BLIS__COLUMN_NAME_MAX];
    if (type == BLIS_JSON_OBJECT && depth < DEPTH_MAX &&
        strlen(prefix) + strlen(key) + 1 < sizeof inner) {
      snprintf(inner, sizeof inner, "%s%s.", prefix, key);
      sniff_members(r, member, inner, depth + 1);
      continue;
    }
    if (type == BLIS_JSON_ARRAY || type == BLIS_JSON_OBJECT || !add_column(r, prefix, key)) {
      continue;
    }
    blis__column *column = &r->columns[r->count - 1];
    bool has_number = type == BLIS_JSON_INTEGER || type == BLIS_JSON_REAL;
    blis_slice text;
    blis_error other = {0};
    if (type == BLIS_JSON_TEXT && blis_json_text(member, &text, &other) == BLIS_OK) {
      see_value(column, text);
    } else {
      *column = (blis__column){.values = 1, .numbers = has_number, .times = has_number};
      snprintf(column->name, sizeof column->name, "%s%s", prefix, key);
    }
  }
}

static blis_status sniff_jsonl(const blis__trace_job *job, blis_slice head, reading *r,
                               blis_error *error) {
  blis_slice line = blis__trace_first_row(head);
  blis_json json;
  blis_json_init(&json, job->alloc);
  blis_json_allow_any_number(&json);
  blis_status status = blis_json_parse(&json, job->name, 1, line, error);
  if (status == BLIS_OK) {
    status = blis_json_need_object(blis_json_root(&json), error);
  }
  if (status == BLIS_OK) {
    sniff_members(r, blis_json_root(&json), "", 0);
  }
  blis_json_deinit(&json);
  return status;
}

static blis_status fail_missing(const reading *r, const blis__trace_job *job, blis__role role,
                                blis_error *error) {
  char list[200];
  const char *what = r->rows.separator != '\0' ? "column" : "member";
  const blis__column *named = blis__columns_named(r->columns, r->count, role);
  if (named != NULL) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: the values of %s '%s' are no %s", job->name, what,
                     named->name, role == BLIS__ROLE_TIMESTAMP ? "times" : "numbers");
  }
  if (r->count == 0) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s: the first object has no %s with a value",
                     job->name, what);
  }
  blis__columns_list(r->columns, r->count, list, sizeof list);
  return blis_fail(error, BLIS_ERR_PARSE,
                   "%s: no %s is known to be the %s among %s; --columns %s=NAME (columns) names it",
                   job->name, what, blis__role_name(role), list, blis__role_name(role));
}

static bool is_json(blis_slice head) {
  blis_slice row = blis__trace_first_row(head);
  return row.length > 0 && row.data[0] == '{';
}

/* Determines the columns and their roles. A readable table has all required roles. */
static blis_status sniff(const blis__trace_job *job, blis_slice head, bool has_json, reading *r,
                         blis_error *error) {
  BLIS_TRY(has_json ? sniff_jsonl(job, head, r, error) : sniff_csv(job, head, r, error));
  BLIS_TRY(
      blis__columns_map(r->columns, r->count, job->options->columns, job->name, &r->map, error));
  blis__role missing = blis__columns_missing(&r->map);
  return missing == BLIS__ROLES ? BLIS_OK : fail_missing(r, job, missing, error);
}

blis_status blis__trace_find_generic(const blis__trace_job *job, blis_slice head,
                                     const blis__trace_format **format, blis_error *error) {
  bool has_json = is_json(head);
  reading *r = blis_alloc_zeroed(job->alloc, 1, sizeof *r);
  BLIS_TRY_NEW(r, error);
  blis_status status = sniff(job, head, has_json, r, error);
  blis_alloc_free(job->alloc, r, sizeof *r);
  *format = has_json ? &blis__trace_jsonl : &blis__trace_csv;
  return status;
}

/* Opening. */

static const char *name_of(const reading *r, blis__role role) {
  return r->columns[r->map.column[role]].name;
}

/* Returns the last part of a name such as "body.created", which is a key in the line. */
static const char *last_part(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot != NULL ? dot + 1 : name;
}

static blis_status find_clock(reading *r, bool has_json, blis_error *error) {
  const char *name = name_of(r, BLIS__ROLE_TIMESTAMP);
  double unit_us = blis__columns_unit(name);
  return has_json ? blis__trace_json_clock(&r->rows, last_part(name), 0, unit_us, error)
                  : blis__trace_csv_clock(&r->rows, name, 0, unit_us, error);
}

static blis_status open_any(reading *r, bool has_json, blis_error *error) {
  blis_slice head;
  BLIS_TRY(blis__trace_head(r->rows.job, &head, error));
  BLIS_TRY(sniff(r->rows.job, head, has_json, r, error));
  BLIS_TRY(find_clock(r, has_json, error));
  r->has_text_times = r->rows.clock.count == 0;
  return has_json ? blis__trace_open_text(r, error) : blis__trace_open_csv(&r->rows, true, error);
}

static blis_status open_csv(void *reader, blis_error *error) {
  return open_any(reader, false, error);
}

static blis_status open_jsonl(void *reader, blis_error *error) {
  return open_any(reader, true, error);
}

/* Values. */

/* A value of a row: a field of the table, or a string or number member of the object. */
typedef struct cell {
  size_t column;
  blis_slice text;
  blis_json_value member;
  bool is_text; /* field of a table, or string member of an object */
  bool is_there;
} cell;

static blis_json_value find_member(blis_json_value object, const char *name) {
  blis_json_value found = blis_json_member(object, name);
  char part[BLIS__COLUMN_NAME_MAX];
  for (const char *dot = strchr(name, '.');
       blis_json_type_of(found) == BLIS_JSON_MISSING && dot != NULL; dot = strchr(dot + 1, '.')) {
    size_t length = (size_t)(dot - name);
    memcpy(part, name, length);
    part[length] = '\0';
    blis_json_value inner = blis_json_member(object, part);
    if (blis_json_type_of(inner) == BLIS_JSON_OBJECT) {
      return find_member(inner, dot + 1);
    }
  }
  return found;
}

static blis_status get(const reading *r, blis_json_value row, blis__role role, cell *value,
                       blis_error *error) {
  *value = (cell){.column = r->map.column[role], .text = blank};
  if (value->column == SIZE_MAX) {
    return BLIS_OK;
  }
  if (r->rows.csv != NULL) {
    BLIS_TRY(blis_csv_text(r->rows.csv, value->column, &value->text, error));
    value->is_text = true;
    value->is_there = value->text.length > 0;
    return BLIS_OK;
  }
  value->member = find_member(row, r->columns[value->column].name);
  value->is_there = blis_json_has(value->member);
  value->is_text = blis_json_type_of(value->member) == BLIS_JSON_TEXT;
  return value->is_text ? blis_json_text(value->member, &value->text, error) : BLIS_OK;
}

static blis_status fail_at(const reading *r, const cell *value, const char *what,
                           blis_error *error) {
  return r->rows.csv != NULL ? blis_csv_fail(r->rows.csv, value->column, what, error)
                             : blis_json_fail(value->member, what, error);
}

static blis_status read_double(const reading *r, const cell *value, double max, double *number,
                               blis_error *error) {
  if (r->rows.csv != NULL) {
    return blis_csv_double(r->rows.csv, value->column, 0, max, number, error);
  }
  if (!value->is_text) {
    return blis_json_double(value->member, 0, max, number, error);
  }
  blis_number_fault fault = blis_parse_double(blis_slice_trim(value->text), number);
  if (fault != BLIS_NUMBER_OK) {
    return fail_at(r, value, blis_number_fault_text(fault), error);
  }
  return *number >= 0 && *number <= max ? BLIS_OK : fail_at(r, value, "is out of range", error);
}

static blis_status read_int(const reading *r, const cell *value, int64_t max, int64_t *number,
                            blis_error *error) {
  if (r->rows.csv != NULL) {
    return blis_csv_int64(r->rows.csv, value->column, 0, max, number, error);
  }
  if (!value->is_text) {
    return blis_json_int64(value->member, 0, max, number, error);
  }
  blis_number_fault fault = blis_parse_int64(blis_slice_trim(value->text), number);
  if (fault != BLIS_NUMBER_OK) {
    return fail_at(r, value, blis_number_fault_text(fault), error);
  }
  return *number >= 0 && *number <= max ? BLIS_OK : fail_at(r, value, "is out of range", error);
}

static blis_status read_time(reading *r, blis_json_value row, int64_t *arrival_us,
                             blis_error *error) {
  cell value;
  BLIS_TRY(get(r, row, BLIS__ROLE_TIMESTAMP, &value, error));
  if (r->has_text_times) {
    int64_t ns;
    if (!value.is_text || !blis__trace_parse_timestamp(blis_slice_trim(value.text), &ns)) {
      return fail_at(r, &value,
                     "is neither a number nor a time such as 2026-05-10 00:00:00.25 (years 1970 "
                     "to 2199)",
                     error);
    }
    *arrival_us = ns / 1000;
    return BLIS_OK;
  }
  double time;
  double unit_us = r->rows.clock.unit_us;
  BLIS_TRY(read_double(r, &value, BLIS__TRACE_MAX_MS * 1000 / unit_us, &time, error));
  *arrival_us = llround(time * unit_us);
  return BLIS_OK;
}

/* Reads a number of tokens, or estimates the tokens of a string. */
static blis_status read_tokens(reading *r, blis_json_value row, blis__role role, uint32_t *tokens,
                               blis_error *error) {
  cell value;
  BLIS_TRY(get(r, row, role, &value, error));
  if (value.column == SIZE_MAX ||
      (role != BLIS__ROLE_PROMPT && role != BLIS__ROLE_OUTPUT && !value.is_there)) {
    return BLIS_OK;
  }
  if (value.is_text && !blis__column_has_numbers(&r->columns[value.column]) &&
      !is_number(value.text)) {
    size_t count = (value.text.length + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN;
    *tokens = count < BLIS_WORKLOAD_MAX_TOKENS ? (uint32_t)count : BLIS_WORKLOAD_MAX_TOKENS;
    r->estimated++;
    return BLIS_OK;
  }
  int64_t number;
  BLIS_TRY(read_int(r, &value, BLIS_WORKLOAD_MAX_TOKENS, &number, error));
  *tokens = (uint32_t)number;
  return BLIS_OK;
}

static blis_status read_label(reading *r, blis_json_value row, blis__role role, uint32_t *id,
                              blis_error *error) {
  cell value;
  BLIS_TRY(get(r, row, role, &value, error));
  if (!value.is_there) {
    return BLIS_OK;
  }
  char digits[BLIS_INT64_TEXT_SIZE];
  if (!value.is_text) {
    int64_t number;
    BLIS_TRY(blis_json_int64(value.member, INT64_MIN, INT64_MAX, &number, error));
    value.text = (blis_slice){digits, blis_format_int64(number, digits)};
  }
  return blis__trace_text(r->rows.job, value.text, id, error);
}

static blis_status read_labels(reading *r, blis_json_value row, blis_request *request,
                               blis_error *error) {
  const struct {
    blis__role role;
    uint32_t *id;
  } labels[] = {
      {BLIS__ROLE_SESSION, &request->session}, {BLIS__ROLE_PREFIX, &request->prefix_group},
      {BLIS__ROLE_TENANT, &request->tenant},   {BLIS__ROLE_SLO_CLASS, &request->slo_class},
      {BLIS__ROLE_MODEL, &request->model},     {BLIS__ROLE_CLIENT, &request->client},
      {BLIS__ROLE_ADAPTER, &request->adapter},
  };
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    BLIS_TRY(read_label(r, row, labels[i].role, labels[i].id, error));
  }
  return BLIS_OK;
}

static void set_prefix(reading *r, blis_request *request) {
  if (request->prefix_group == 0 || request->prefix_tokens == 0) {
    request->prefix_tokens = 0;
    return;
  }
  if (request->prefix_tokens > request->prompt_tokens) {
    request->prefix_tokens = request->prompt_tokens;
  }
  r->prefix = (blis_segment){.stream = PREFIX_STREAM | request->prefix_group,
                             .length_tokens = request->prefix_tokens};
  request->segments = &r->prefix;
  request->segment_count = request->prefix_tokens > 0;
  request->shared_tokens = request->prefix_tokens;
}

static blis_status read_turn(reading *r, blis_json_value row, blis_request *request,
                             blis_error *error) {
  cell value;
  BLIS_TRY(get(r, row, BLIS__ROLE_TURN, &value, error));
  int64_t turn = 0;
  if (value.is_there) {
    BLIS_TRY(read_int(r, &value, INT32_MAX, &turn, error));
  }
  request->round_index = (int32_t)turn;
  return BLIS_OK;
}

static blis_status read_row(reading *r, blis_json_value row, int64_t number, blis_request *request,
                            blis_error *error) {
  *request = (blis_request){.number = number};
  BLIS_TRY(read_time(r, row, &request->arrival_us, error));
  BLIS_TRY(read_tokens(r, row, BLIS__ROLE_PROMPT, &request->prompt_tokens, error));
  BLIS_TRY(read_tokens(r, row, BLIS__ROLE_OUTPUT, &request->output_tokens, error));
  request->max_output_tokens = request->output_tokens;
  BLIS_TRY(read_tokens(r, row, BLIS__ROLE_MAX_OUTPUT, &request->max_output_tokens, error));
  BLIS_TRY(read_tokens(r, row, BLIS__ROLE_PREFIX_TOKENS, &request->prefix_tokens, error));
  BLIS_TRY(read_labels(r, row, request, error));
  BLIS_TRY(read_turn(r, row, request, error));
  set_prefix(r, request);
  blis__trace_note_start(&r->rows, request->arrival_us);
  return BLIS_OK;
}

static blis_status next_csv(void *reader, blis_request *row, bool *has_row, blis_error *error) {
  reading *r = reader;
  const blis_json_value none = {0};
  BLIS_TRY(blis__trace_next_csv(&r->rows, has_row, error));
  return *has_row ? read_row(r, none, r->rows.taken - 1, row, error) : BLIS_OK;
}

static blis_status next_jsonl(void *reader, blis_request *row, bool *has_row, blis_error *error) {
  reading *r = reader;
  blis__trace_line line;
  BLIS_TRY(blis__trace_next_json(&r->rows, &line, has_row, error));
  return *has_row ? read_row(r, line.row, line.number, row, error) : BLIS_OK;
}

/* Completion. */

static void list_unused(const reading *r, char *text, size_t size) {
  blis__column unused[BLIS__COLUMNS_MAX];
  size_t count = 0;
  for (size_t i = 0; i < r->count; i++) {
    bool is_used = false;
    for (int role = 0; role < BLIS__ROLES; role++) {
      is_used = is_used || r->map.column[role] == i;
    }
    if (!is_used) {
      unused[count++] = r->columns[i];
    }
  }
  blis__columns_list(unused, count, text, size);
}

static blis_status finish(void *reader, blis_error *error) {
  reading *r = reader;
  char mapping[NOTE_SIZE];
  char unused[NOTE_SIZE / 3];
  blis__columns_describe(&r->map, r->columns, mapping, sizeof mapping);
  list_unused(r, unused, sizeof unused);
  BLIS_TRY_MEM(blis_workload_note(r->rows.job->workload, "%s: columns: %s%s%s", r->rows.job->name,
                                  mapping, *unused != '\0' ? "; not used: " : "", unused),
               error);
  bool has_group = r->map.column[BLIS__ROLE_PREFIX] != SIZE_MAX;
  if (has_group && r->map.column[BLIS__ROLE_PREFIX_TOKENS] == SIZE_MAX) {
    BLIS_TRY_MEM(blis_workload_note(r->rows.job->workload,
                                    "%s: prefixes have no effect without prefix_tokens",
                                    r->rows.job->name),
                 error);
  }
  return blis__trace_note(&r->rows, "lengths estimated from texts, at 4 bytes per token",
                          r->estimated, "", error);
}

static bool numbers_rounds(const void *reader) {
  const reading *r = reader;
  return r->map.column[BLIS__ROLE_TURN] == SIZE_MAX;
}

static bool never(blis_slice head) {
  (void)head;
  return false; /* blis__trace_find_generic detects this format after all others */
}

const blis__trace_format blis__trace_csv = {
    .name = "csv",
    .text = "any CSV with a header row; --columns assigns its columns",
    .recognise = never,
    .reader_size = sizeof(reading),
    .open = open_csv,
    .next = next_csv,
    .finish = finish,
    .settle = blis__trace_settle_us,
    .numbers_rounds = numbers_rounds,
};

const blis__trace_format blis__trace_jsonl = {
    .name = "jsonl",
    .text = "any JSON lines; --columns assigns their members",
    .recognise = never,
    .reader_size = sizeof(reading),
    .open = open_jsonl,
    .next = next_jsonl,
    .finish = finish,
    .settle = blis__trace_settle_us,
    .numbers_rounds = numbers_rounds,
};
