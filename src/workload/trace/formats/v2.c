/*
 * TraceV2, the format of BLIS (Go, inference-sim f90a1e3a): a CSV file with one row
 * per request and a YAML header file, replayed at fixed times.
 *
 * Columns are found by name, in any order. A prompt consists of the prefix of its group and unique
 * tokens. The first row of a group with a prefix_length determines the length for all rows of the
 * group, including earlier rows.
 *
 * Files written by blis may have more columns. cascade and mean_logprob are for cascades of models
 * (request.h). max_output_tokens is the limit of the output. request_number replaces request_id; it
 * is the number of the request in the recorded run. segments (segments.h) replaces the group and
 * describes the content that prompts share; in this case the length of a prefix is the length in
 * its own row.
 *
 * An observed trace has send times in microseconds since 1970, and arrivals and deadlines on the
 * clock of the load generator. Send times are converted to that clock. Its start is the smallest
 * difference between the send time and the arrival time of a row.
 */
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/time.h"
#include "workload/trace/formats/v2_header.h"
#include "workload/trace/rows/id_set.h"
#include "workload/trace/rows/rows.h"
#include "workload/trace/rows/segments.h"

typedef enum column_kind { WHOLE, SHARE, BOOLEAN, TEXT } column_kind;

typedef struct column_rule {
  const char *name;
  column_kind kind;
  bool is_required;
  bool may_be_empty;
  int64_t min;
  int64_t max;
} column_rule;

enum column {
  REQUEST_ID,
  INPUT_TOKENS,
  OUTPUT_TOKENS,
  ARRIVAL_TIME,
  SEND_TIME,
  DEADLINE,
  SERVER_INPUT_TOKENS,
  PREFIX_LENGTH,
  ROUND_INDEX,
  CLIENT_ID,
  TENANT_ID,
  SLO_CLASS,
  SESSION_ID,
  PREFIX_GROUP,
  MODEL,
  ADAPTER,
  MAX_OUTPUT_TOKENS,
  TEXT_TOKENS,
  IMAGE_TOKENS,
  AUDIO_TOKENS,
  VIDEO_TOKENS,
  SLO_TARGET,
  THINK_TIME,
  REQUEST_NUMBER,
  STREAMING,
  REASON_RATIO,
  CASCADE,
  MEAN_LOGPROB,
  FIRST_OF_THE_REST /* the following columns are only checked */
};

#define TOKENS BLIS_WORKLOAD_MAX_TOKENS

static const column_rule columns[] = {
    [REQUEST_ID] = {"request_id", WHOLE, true, false, 0, INT64_MAX},
    [INPUT_TOKENS] = {"input_tokens", WHOLE, true, false, 0, TOKENS},
    [OUTPUT_TOKENS] = {"output_tokens", WHOLE, true, false, 0, TOKENS},
    [ARRIVAL_TIME] = {"arrival_time_us", WHOLE, true, false, 0, INT64_MAX},
    [SEND_TIME] = {"send_time_us", WHOLE, false, false, INT64_MIN, INT64_MAX},
    [DEADLINE] = {"deadline_us", WHOLE, false, false, 0, INT64_MAX},
    [SERVER_INPUT_TOKENS] = {"server_input_tokens", WHOLE, false, false, 0, TOKENS},
    [PREFIX_LENGTH] = {"prefix_length", WHOLE, false, false, 0, TOKENS},
    [ROUND_INDEX] = {"round_index", WHOLE, false, false, INT32_MIN, INT32_MAX},
    [CLIENT_ID] = {.name = "client_id", .kind = TEXT},
    [TENANT_ID] = {.name = "tenant_id", .kind = TEXT},
    [SLO_CLASS] = {.name = "slo_class", .kind = TEXT},
    [SESSION_ID] = {.name = "session_id", .kind = TEXT},
    [PREFIX_GROUP] = {.name = "prefix_group", .kind = TEXT},
    [MODEL] = {.name = "model", .kind = TEXT},
    [MAX_OUTPUT_TOKENS] = {"max_output_tokens", WHOLE, false, false, 0, TOKENS},
    [ADAPTER] = {.name = "adapter", .kind = TEXT},
    [TEXT_TOKENS] = {"text_tokens", WHOLE, false, false, 0, TOKENS},
    [IMAGE_TOKENS] = {"image_tokens", WHOLE, false, false, 0, TOKENS},
    [AUDIO_TOKENS] = {"audio_tokens", WHOLE, false, false, 0, TOKENS},
    [VIDEO_TOKENS] = {"video_tokens", WHOLE, false, false, 0, TOKENS},
    [SLO_TARGET] = {"slo_target_us", WHOLE, false, false, 0, INT64_MAX},
    [THINK_TIME] = {"think_time_us", WHOLE, false, true, 0, BLIS_TIME_SPAN_MAX_US},
    [REQUEST_NUMBER] = {"request_number", WHOLE, false, false, INT64_MIN, INT64_MAX},
    [STREAMING] = {.name = "streaming", .kind = BOOLEAN},
    [REASON_RATIO] = {.name = "reason_ratio", .kind = SHARE},
    [CASCADE] = {.name = "cascade", .kind = TEXT},
    [MEAN_LOGPROB] = {.name = "mean_logprob", .kind = TEXT},
    [FIRST_OF_THE_REST] = {"vllm_priority", WHOLE, false, false, 0, INT64_MAX},
    {"first_chunk_time_us", WHOLE, false, false, INT64_MIN, INT64_MAX},
    {"last_chunk_time_us", WHOLE, false, false, INT64_MIN, INT64_MAX},
    {"num_chunks", WHOLE, false, false, 0, INT64_MAX},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

typedef struct reading {
  blis__trace_rows rows;
  bool is_observed;
  size_t places[COLUMNS];      /* column positions in the file; BLIS_CSV_NONE = missing */
  int64_t values[COLUMNS];     /* values of the row; strings are stored as their numbers; 0 if
                                  missing */
  double reason_ratio;         /* of the row */
  size_t segments_place;       /* position of the column in the file */
  blis__segment_list segments; /* of the row */
  blis_segment prefix;         /* prefix of the row, without a length yet */
  /* Data about the whole file. */
  blis__id_set ids;
  int64_t clock_start_us; /* smallest send - arrival; INT64_MAX = none yet */
  bool has_sent;          /* some rows have a send time */
  bool has_unsent;
  BLIS_ARRAY(uint32_t) group_tokens; /* by string number of the group */
} reading;

/* Detects the format. Strings in a JSON object can contain any words, so JSON is excluded. */
static bool recognise(blis_slice head) {
  if (head.length > 0 && *head.data == '{') {
    return false;
  }
  return (blis__trace_first_line_has(head, "request_id") &&
          blis__trace_first_line_has(head, "arrival_time_us")) ||
         blis__trace_first_line_has(head, "trace_version:");
}

/* Files. */

static bool ends_in(const char *text, const char *end) {
  size_t length = strlen(text);
  size_t end_length = strlen(end);
  return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Returns the length of path without the extension of header or data. */
static size_t stem_length(const char *path, bool *is_header) {
  static const char *const endings[] = {".yaml", ".yml", ".csv", ".csv.gz", ".csv.zst"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (ends_in(path, endings[i])) {
      *is_header = i < 2;
      return strlen(path) - strlen(endings[i]);
    }
  }
  *is_header = true; /* neither extension: the path is the common stem */
  return strlen(path);
}

/* Sets data and header to the names of the two files. */
static blis_status find_files(const blis__trace_job *job, blis_buffer *data, blis_buffer *header,
                              blis_error *error) {
  bool is_header;
  size_t length = stem_length(job->path, &is_header);
  bool is_stem = job->path[length] == '\0';
  blis_buffer_bytes(data, job->path, length);
  blis_buffer_string(data, is_header ? ".csv" : job->path + length);
  if (job->options->header_path != NULL) {
    blis_buffer_string(header, job->options->header_path);
  } else {
    blis_buffer_bytes(header, job->path, length);
    blis_buffer_string(header, is_header && !is_stem ? job->path + length : ".yaml");
  }
  BLIS_TRY_MEM(blis_buffer_status(data), error);
  BLIS_TRY_MEM(blis_buffer_status(header), error);
  return BLIS_OK;
}

blis_status blis__trace_v2_find_stem(const blis_alloc *alloc, const char *path, bool *is_stem,
                                     blis_error *error) {
  blis_buffer data;
  blis_buffer_init(&data, alloc);
  blis_buffer_string(&data, path);
  blis_buffer_string(&data, ".csv");
  blis_input *input = NULL;
  blis_status status = blis_buffer_status(&data);
  if (status == BLIS_OK) {
    status = blis_input_open(alloc, blis_buffer_text(&data), &input, NULL);
  }
  blis_input_close(input);
  blis_buffer_deinit(&data);
  *is_stem = status == BLIS_OK;
  return status == BLIS_ERR_NOMEM ? blis_fail_nomem(error) : BLIS_OK;
}

/* Rows. */

/* Columns that are ignored: outcomes of requests, and names that a proxy uses. */
static const char *const passed_over[] = {"segments",      "status",       "error_message",
                                          "finish_reason", "x_request_id", NULL};

static bool is_column(const char *name) {
  for (size_t i = 0; i < COLUMNS; i++) {
    if (strcmp(columns[i].name, name) == 0) {
      return true;
    }
  }
  for (size_t i = 0; passed_over[i] != NULL; i++) {
    if (strcmp(passed_over[i], name) == 0) {
      return true;
    }
  }
  return false;
}

static blis_status find_columns(reading *r, blis_error *error) {
  const blis_csv *csv = r->rows.csv;
  for (size_t i = 0; i < blis_csv_column_count(csv); i++) {
    const char *name = blis_csv_column_name(csv, i);
    if (!is_column(name)) {
      blis__unread_add(&r->rows.unread, name);
    }
  }
  for (size_t i = 0; i < COLUMNS; i++) {
    if (columns[i].is_required) {
      BLIS_TRY(blis_csv_need(r->rows.csv, columns[i].name, &r->places[i], error));
    } else {
      r->places[i] = blis_csv_column(r->rows.csv, columns[i].name);
    }
  }
  r->segments_place = blis_csv_column(r->rows.csv, "segments");
  return BLIS_OK;
}

/* Returns whether a string equals that of the previous row, which is the common case. */
static bool is_as_before(const reading *r, size_t i, blis_slice text) {
  const blis_intern *strings = blis_workload_strings(r->rows.job->workload);
  uint32_t before = (uint32_t)r->values[i];
  return blis_intern_length(strings, before) == text.length &&
         memcmp(blis_intern_text(strings, before), text.data, text.length) == 0;
}

static blis_status read_text(reading *r, size_t i, blis_error *error) {
  blis_slice text;
  uint32_t id = 0;
  BLIS_TRY(blis_csv_text(r->rows.csv, r->places[i], &text, error));
  if (text.length > 0 && is_as_before(r, i, text)) {
    return BLIS_OK;
  }
  if (text.length > 0 &&
      blis_workload_text(r->rows.job->workload, text.data, text.length, &id) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  r->values[i] = id;
  return BLIS_OK;
}

static blis_status read_field(reading *r, size_t i, blis_error *error) {
  size_t place = r->places[i];
  switch (columns[i].kind) {
  case WHOLE:
    if (columns[i].may_be_empty && blis_csv_field(r->rows.csv, place).length == 0) {
      r->values[i] = 0;
      return BLIS_OK;
    }
    return blis_csv_int64(r->rows.csv, place, columns[i].min, columns[i].max, &r->values[i], error);
  case SHARE:
    return blis_csv_double(r->rows.csv, place, 0, 1, &r->reason_ratio, error);
  case BOOLEAN: {
    bool flag = false;
    blis_status status = blis_csv_bool(r->rows.csv, place, &flag, error);
    r->values[i] = flag;
    return status;
  }
  case TEXT:
    break;
  }
  return read_text(r, i, error);
}

static blis_status read_fields(reading *r, blis_error *error) {
  size_t count = blis_csv_count(r->rows.csv);
  size_t expected = blis_csv_column_count(r->rows.csv);
  if (count < expected) {
    return blis_fail(error, BLIS_ERR_PARSE, "%s:%lld: the row has %zu fields; the header has %zu",
                     blis_csv_name(r->rows.csv), (long long)blis_csv_line(r->rows.csv), count,
                     expected);
  }
  for (size_t i = 0; i < COLUMNS; i++) {
    if (r->places[i] != BLIS_CSV_NONE) {
      BLIS_TRY(read_field(r, i, error));
    }
  }
  int64_t arrival_us = r->values[ARRIVAL_TIME];
  if (r->values[DEADLINE] > 0 && arrival_us > 0 && r->values[DEADLINE] < arrival_us) {
    return blis_csv_fail(r->rows.csv, r->places[DEADLINE],
                         "is before arrival_time_us; expected 0 (none) or a later time", error);
  }
  return BLIS_OK;
}

static enum column id_column(const reading *r) {
  return r->places[REQUEST_NUMBER] != BLIS_CSV_NONE ? REQUEST_NUMBER : REQUEST_ID;
}

static blis_status check_id(reading *r, blis_error *error) {
  enum column column = id_column(r);
  bool is_new;
  BLIS_TRY_MEM(blis__id_set_add(&r->ids, r->values[column], &is_new), error);
  return is_new ? BLIS_OK
                : blis_csv_fail(r->rows.csv, r->places[column],
                                "is given twice; every row needs its own", error);
}

static blis_status note_group(reading *r, blis_error *error) {
  size_t group = (size_t)r->values[PREFIX_GROUP];
  if (group == 0 || r->values[PREFIX_LENGTH] == 0) {
    return BLIS_OK;
  }
  while (r->group_tokens.count <= group) {
    BLIS_TRY_MEM(blis_array_push(r->rows.job->alloc, &r->group_tokens, 0), error);
  }
  if (r->group_tokens.items[group] == 0) {
    r->group_tokens.items[group] = (uint32_t)r->values[PREFIX_LENGTH];
  }
  return BLIS_OK;
}

/*
 * Reads the column segments. With this column, the prefix is not taken from the group. Without it,
 * the length of the prefix is set after the whole file has been read.
 */
static blis_status read_segments(reading *r, blis_request *request, blis_error *error) {
  if (r->segments_place == BLIS_CSV_NONE) {
    r->prefix = (blis_segment){.stream = request->prefix_group};
    request->segments = &r->prefix;
    request->segment_count = request->prefix_group != 0;
    return BLIS_OK;
  }
  r->segments.count = 0;
  if (request->prefix_group != 0) {
    request->prompt_tokens += request->prefix_tokens;
  }
  char fault[BLIS__SEGMENTS_FAULT_SIZE];
  blis_slice text = blis_csv_field(r->rows.csv, r->segments_place);
  blis_status status =
      blis__trace_parse_segments(r->rows.job->alloc, text, &r->segments, request, fault);
  if (status == BLIS_ERR_NOMEM) {
    return blis_fail_nomem(error);
  }
  request->segments = r->segments.items;
  return status == BLIS_OK ? BLIS_OK : blis_csv_fail(r->rows.csv, r->segments_place, fault, error);
}

static void note_clock(reading *r) {
  int64_t send_us = r->values[SEND_TIME];
  int64_t arrival_us = r->values[ARRIVAL_TIME];
  if (send_us > 0 && send_us - arrival_us < r->clock_start_us) {
    r->clock_start_us = send_us - arrival_us;
  }
  r->has_sent = r->has_sent || send_us > 0;
  r->has_unsent = r->has_unsent || send_us <= 0;
}

static blis_status make_row(reading *r, blis_request *row, blis_error *error) {
  const int64_t *values = r->values;
  int64_t send_us = values[SEND_TIME];
  int64_t arrival_us = values[ARRIVAL_TIME];
  bool is_measured = values[SERVER_INPUT_TOKENS] > 0 && values[PREFIX_GROUP] == 0;
  bool has_limit = r->places[MAX_OUTPUT_TOKENS] != BLIS_CSV_NONE;
  *row = (blis_request){
      .number = values[id_column(r)],
      .arrival_us = send_us > 0 ? send_us : arrival_us,
      .deadline_us = values[DEADLINE],
      .prompt_tokens = (uint32_t)(is_measured ? values[SERVER_INPUT_TOKENS] : values[INPUT_TOKENS]),
      .output_tokens = (uint32_t)values[OUTPUT_TOKENS],
      .max_output_tokens = (uint32_t)values[has_limit ? MAX_OUTPUT_TOKENS : OUTPUT_TOKENS],
      .tenant = (uint32_t)values[TENANT_ID],
      .slo_class = (uint32_t)values[SLO_CLASS],
      .model = (uint32_t)values[MODEL],
      .session = (uint32_t)values[SESSION_ID],
      .client = (uint32_t)values[CLIENT_ID],
      .prefix_group = (uint32_t)values[PREFIX_GROUP],
      .prefix_tokens = (uint32_t)values[PREFIX_LENGTH],
      .round_index = (int32_t)values[ROUND_INDEX],
      .adapter = (uint32_t)values[ADAPTER],
      .cascade = (uint32_t)values[CASCADE],
      .mean_logprob = (uint32_t)values[MEAN_LOGPROB],
      .slo_target_us = values[SLO_TARGET],
      .think_us = values[THINK_TIME],
      .reason_ratio = r->reason_ratio,
      .text_tokens = (uint32_t)values[TEXT_TOKENS],
      .image_tokens = (uint32_t)values[IMAGE_TOKENS],
      .audio_tokens = (uint32_t)values[AUDIO_TOKENS],
      .video_tokens = (uint32_t)values[VIDEO_TOKENS],
      .has_think_time = r->places[THINK_TIME] != BLIS_CSV_NONE &&
                        blis_csv_field(r->rows.csv, r->places[THINK_TIME]).length > 0,
      .is_streaming = values[STREAMING] != 0};
  return read_segments(r, row, error);
}

static blis_status next(void *reader, blis_request *row, bool *has_row, blis_error *error) {
  reading *r = reader;
  BLIS_TRY(blis__trace_next_csv(&r->rows, has_row, error));
  if (!*has_row) {
    return BLIS_OK;
  }
  BLIS_TRY(read_fields(r, error));
  if (r->rows.known == r) {
    BLIS_TRY(check_id(r, error));
    BLIS_TRY(note_group(r, error));
    note_clock(r);
  }
  return make_row(r, row, error);
}

/* Returns whether rows with a send time are converted to the clock of the arrivals. */
static bool shifts(const reading *known) {
  return known->is_observed && !known->rows.job->options->keep_epoch && known->has_sent &&
         known->clock_start_us > 0;
}

/* Completes a row. The string number of a group is the stream of its prefix. */
static void settle(const void *reader, blis_request *row, blis_segment *segments) {
  const reading *r = reader;
  const reading *known = r->rows.known;
  size_t group = row->prefix_group;
  if (r->segments_place == BLIS_CSV_NONE && group != 0) {
    uint32_t length = group < known->group_tokens.count ? known->group_tokens.items[group] : 0;
    segments[0].length_tokens = length;
    row->segment_count = length > 0;
    row->shared_tokens = length;
    row->prompt_tokens += length;
  }
  if (shifts(known) && row->arrival_us >= known->clock_start_us) {
    row->arrival_us -= known->clock_start_us;
  }
}

/* Rows without a send time already use this clock. */
static bool moves_unevenly(const void *reader) {
  const reading *r = reader;
  return shifts(r) && r->has_unsent;
}

/* Reader. */

static void close_reading(void *reader) {
  reading *r = reader;
  blis__id_set_deinit(&r->ids);
  blis_array_deinit(r->rows.job->alloc, &r->segments);
  blis_array_deinit(r->rows.job->alloc, &r->group_tokens);
}

static blis_status open_files(reading *r, const char *data, const char *header_path,
                              blis_error *error) {
  blis__trace_job *job = r->rows.job;
  if (r->rows.known == r) {
    blis__trace_v2_header header;
    BLIS_TRY(blis__trace_v2_read_header(job->alloc, header_path, job->workload, &header, error));
    r->is_observed = header.is_observed;
  }
  if (job->input == NULL || strcmp(data, job->path) != 0) {
    BLIS_TRY(blis__trace_change_input(job, data, error));
  }
  BLIS_TRY(blis__trace_open_csv(&r->rows, false, error));
  return find_columns(r, error);
}

static blis_status find_and_open(reading *r, blis_error *error) {
  const blis__trace_job *job = r->rows.job;
  bool is_stdin = strcmp(job->path, "-") == 0;
  if (is_stdin && job->options->header_path == NULL) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a tracev2 trace from standard input also needs its "
                     "header file (--trace-header)");
  }
  if (is_stdin) {
    return open_files(r, job->path, job->options->header_path, error);
  }
  blis_buffer data;
  blis_buffer header_path;
  blis_buffer_init(&data, job->alloc);
  blis_buffer_init(&header_path, job->alloc);
  blis_status status = find_files(job, &data, &header_path, error);
  if (status == BLIS_OK) {
    status = open_files(r, blis_buffer_text(&data), blis_buffer_text(&header_path), error);
  }
  blis_buffer_deinit(&data);
  blis_buffer_deinit(&header_path);
  return status;
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  r->clock_start_us = INT64_MAX;
  blis__id_set_init(&r->ids, r->rows.job->alloc);
  return find_and_open(r, error);
}

const blis__trace_format blis__trace_v2 = {
    .name = "tracev2",
    .text = "CSV with a separate YAML header, the format of BLIS",
    .recognise = recognise,
    .needs = {"arrival_time_us"},
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .settle = settle,
    .moves_unevenly = moves_unevenly,
    .close = close_reading,
};
