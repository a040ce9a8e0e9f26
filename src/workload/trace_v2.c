/*
 * TraceV2, the format of BLIS (Go, inference-sim f90a1e3a): a CSV file with one
 * row per request and a YAML header beside it, replayed at fixed times.
 *
 * Columns are found by name, in any order. A prompt is the prefix of its group
 * and tokens of its own; the first row of a group with a prefix_length fixes it
 * for all rows of the group, those before it as well.
 *
 * Files that are written here may have more columns: cascade and mean_logprob,
 * for cascades of models (request.h); max_output_tokens;
 * request_number, what the request was called in the run that the trace is of,
 * in place of request_id; and segments (trace_segments.h), which tells what
 * prompts share in place of the group; a prefix is then as long as its own row
 * says.
 *
 * An observed trace has send times in microseconds since 1970, and arrivals and
 * deadlines on the clock of the load generator. Requests are put on that clock:
 * the smallest difference between a row's send and arrival time is when it
 * started.
 */
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/csv.h"
#include "base/input.h"
#include "base/map.h"
#include "base/time.h"
#include "workload/trace_format.h"
#include "workload/trace_segments.h"
#include "workload/trace_v2_header.h"

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
  FIRST_OF_THE_REST /* these are only checked */
};

#define TOKENS BLIS_WORKLOAD_MAX_TOKENS

static const column_rule columns[] = {
    [REQUEST_ID] = {"request_id", WHOLE, true, false, 0, INT64_MAX},
    [INPUT_TOKENS] = {"input_tokens", WHOLE, true, false, 0, TOKENS},
    [OUTPUT_TOKENS] = {"output_tokens", WHOLE, true, false, 0, TOKENS},
    [ARRIVAL_TIME] = {"arrival_time_us", WHOLE, true, false, 0, INT64_MAX},
    [SEND_TIME] = {"send_time_us", WHOLE, false, false, INT64_MIN, INT64_MAX},
    [DEADLINE] = {"deadline_us", WHOLE, false, false, 0, INT64_MAX},
    [SERVER_INPUT_TOKENS] = {"server_input_tokens", WHOLE, false, false, 0,
                             TOKENS},
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
    [THINK_TIME] = {"think_time_us", WHOLE, false, true, 0,
                    BLIS_TIME_SPAN_MAX_US},
    [REQUEST_NUMBER] = {"request_number", WHOLE, false, false, INT64_MIN,
                        INT64_MAX},
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
  const blis__trace_job *job;
  blis_csv *csv;
  bool is_observed;
  size_t places[COLUMNS];  /* in the file; BLIS_CSV_NONE = not there */
  int64_t values[COLUMNS]; /* of the row; texts as their numbers; else 0 */
  double reason_ratio;     /* of the row */
  size_t segments_place;   /* the column in the file, too */
  int64_t clock_start_us;  /* smallest send - arrival; INT64_MAX = none yet */
  /* prompt_tokens: without the prefix of the group, unless there are segments
   */
  BLIS_ARRAY(blis_request) rows;
  blis__segment_list segments;       /* of all rows */
  BLIS_ARRAY(uint32_t) group_tokens; /* by number of the group's text */
  blis_map ids;                      /* once they are not in order */
  bool has_ids;
} reading;

/* Texts of a JSON object may hold any words. */
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

/* The length of path without an ending of header or data. */
static size_t stem_length(const char *path, bool *is_header) {
  static const char *const endings[] = {".yaml", ".yml", ".csv", ".csv.gz",
                                        ".csv.zst"};
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    if (ends_in(path, endings[i])) {
      *is_header = i < 2;
      return strlen(path) - strlen(endings[i]);
    }
  }
  *is_header = true; /* of neither: it is the stem itself */
  return strlen(path);
}

/* Sets data and header to the names of the two files. */
static blis_status find_files(const blis__trace_job *job, blis_buffer *data,
                              blis_buffer *header, blis_error *error) {
  bool is_header;
  size_t length = stem_length(job->path, &is_header);
  bool is_stem = job->path[length] == '\0';
  blis_buffer_bytes(data, job->path, length);
  blis_buffer_string(data, is_header ? ".csv" : job->path + length);
  if (job->options->header_path != NULL) {
    blis_buffer_string(header, job->options->header_path);
  } else {
    blis_buffer_bytes(header, job->path, length);
    blis_buffer_string(header,
                       is_header && !is_stem ? job->path + length : ".yaml");
  }
  if (blis_buffer_status(data) != BLIS_OK ||
      blis_buffer_status(header) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

blis_status blis__trace_v2_find_stem(const blis_alloc *alloc, const char *path,
                                     bool *is_stem, blis_error *error) {
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

static blis_status find_columns(reading *r, blis_error *error) {
  for (size_t i = 0; i < COLUMNS; i++) {
    if (columns[i].is_required) {
      BLIS_TRY(blis_csv_need(r->csv, columns[i].name, &r->places[i], error));
    } else {
      r->places[i] = blis_csv_column(r->csv, columns[i].name);
    }
  }
  r->segments_place = blis_csv_column(r->csv, "segments");
  return BLIS_OK;
}

/* Most texts are those of the row before. */
static bool is_as_before(const reading *r, size_t i, blis_slice text) {
  const blis_intern *strings = blis_workload_strings(r->job->workload);
  uint32_t before = (uint32_t)r->values[i];
  return blis_intern_length(strings, before) == text.length &&
         memcmp(blis_intern_text(strings, before), text.data, text.length) == 0;
}

static blis_status read_text(reading *r, size_t i, blis_error *error) {
  blis_slice text;
  uint32_t id = 0;
  BLIS_TRY(blis_csv_text(r->csv, r->places[i], &text, error));
  if (text.length > 0 && is_as_before(r, i, text)) {
    return BLIS_OK;
  }
  if (text.length > 0 && blis_workload_text(r->job->workload, text.data,
                                            text.length, &id) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  r->values[i] = id;
  return BLIS_OK;
}

static blis_status read_field(reading *r, size_t i, blis_error *error) {
  size_t place = r->places[i];
  switch (columns[i].kind) {
  case WHOLE:
    if (columns[i].may_be_empty && blis_csv_field(r->csv, place).length == 0) {
      r->values[i] = 0;
      return BLIS_OK;
    }
    return blis_csv_int64(r->csv, place, columns[i].min, columns[i].max,
                          &r->values[i], error);
  case SHARE:
    return blis_csv_double(r->csv, place, 0, 1, &r->reason_ratio, error);
  case BOOLEAN: {
    bool flag = false;
    blis_status status = blis_csv_bool(r->csv, place, &flag, error);
    r->values[i] = flag;
    return status;
  }
  case TEXT:
    break;
  }
  return read_text(r, i, error);
}

static blis_status read_fields(reading *r, blis_error *error) {
  size_t count = blis_csv_count(r->csv);
  size_t expected = blis_csv_column_count(r->csv);
  if (count < expected) {
    return blis_fail(error, BLIS_ERR_PARSE,
                     "%s:%lld: the row has %zu fields; the header has %zu",
                     blis_csv_name(r->csv), (long long)blis_csv_line(r->csv),
                     count, expected);
  }
  for (size_t i = 0; i < COLUMNS; i++) {
    if (r->places[i] != BLIS_CSV_NONE) {
      BLIS_TRY(read_field(r, i, error));
    }
  }
  int64_t arrival_us = r->values[ARRIVAL_TIME];
  if (r->values[DEADLINE] > 0 && arrival_us > 0 &&
      r->values[DEADLINE] < arrival_us) {
    return blis_csv_fail(r->csv, r->places[DEADLINE],
                         "is before arrival_time_us; 0 (none) and times from "
                         "there on are allowed",
                         error);
  }
  return BLIS_OK;
}

static enum column id_column(const reading *r) {
  return r->places[REQUEST_NUMBER] != BLIS_CSV_NONE ? REQUEST_NUMBER
                                                    : REQUEST_ID;
}

/* A map is only needed when the ids do not count up. */
static blis_status check_id(reading *r, blis_error *error) {
  enum column column = id_column(r);
  int64_t id = r->values[column];
  size_t count = r->rows.count;
  if (!r->has_ids && (count == 0 || id > r->rows.items[count - 1].number)) {
    return BLIS_OK;
  }
  for (size_t i = 0; !r->has_ids && i < count; i++) {
    if (blis_map_put(&r->ids, (uint64_t)r->rows.items[i].number, 0) !=
        BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  r->has_ids = true;
  uint64_t *place;
  bool is_new;
  if (blis_map_add(&r->ids, (uint64_t)id, 0, &place, &is_new) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return is_new
             ? BLIS_OK
             : blis_csv_fail(r->csv, r->places[column],
                             "is there twice; every row needs its own", error);
}

static blis_status note_group(reading *r, blis_error *error) {
  size_t group = (size_t)r->values[PREFIX_GROUP];
  if (group == 0 || r->values[PREFIX_LENGTH] == 0) {
    return BLIS_OK;
  }
  while (r->group_tokens.count <= group) {
    if (blis_array_push(r->job->alloc, &r->group_tokens, 0) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  if (r->group_tokens.items[group] == 0) {
    r->group_tokens.items[group] = (uint32_t)r->values[PREFIX_LENGTH];
  }
  return BLIS_OK;
}

/* With the column there, a prefix is not taken from its group. */
static blis_status read_segments(reading *r, blis_request *request,
                                 blis_error *error) {
  if (r->segments_place == BLIS_CSV_NONE) {
    return BLIS_OK;
  }
  if (request->prefix_group != 0) {
    request->prompt_tokens += request->prefix_tokens;
  }
  char fault[BLIS__SEGMENTS_FAULT_SIZE];
  blis_slice text = blis_csv_field(r->csv, r->segments_place);
  blis_status status = blis__trace_parse_segments(r->job->alloc, text,
                                                  &r->segments, request, fault);
  if (status == BLIS_ERR_NOMEM) {
    return blis_fail_nomem(error);
  }
  return status == BLIS_OK
             ? BLIS_OK
             : blis_csv_fail(r->csv, r->segments_place, fault, error);
}

static blis_status keep_row(reading *r, blis_error *error) {
  const int64_t *values = r->values;
  int64_t send_us = values[SEND_TIME];
  int64_t arrival_us = values[ARRIVAL_TIME];
  if (send_us > 0 && send_us - arrival_us < r->clock_start_us) {
    r->clock_start_us = send_us - arrival_us;
  }
  bool is_measured =
      values[SERVER_INPUT_TOKENS] > 0 && values[PREFIX_GROUP] == 0;
  bool has_limit = r->places[MAX_OUTPUT_TOKENS] != BLIS_CSV_NONE;
  blis_request request = {
      .number = values[id_column(r)],
      .arrival_us = send_us > 0 ? send_us : arrival_us,
      .deadline_us = values[DEADLINE],
      .prompt_tokens = (uint32_t)(is_measured ? values[SERVER_INPUT_TOKENS]
                                              : values[INPUT_TOKENS]),
      .output_tokens = (uint32_t)values[OUTPUT_TOKENS],
      .max_output_tokens =
          (uint32_t)values[has_limit ? MAX_OUTPUT_TOKENS : OUTPUT_TOKENS],
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
      .has_think_time =
          r->places[THINK_TIME] != BLIS_CSV_NONE &&
          blis_csv_field(r->csv, r->places[THINK_TIME]).length > 0,
      .is_streaming = values[STREAMING] != 0};
  BLIS_TRY(read_segments(r, &request, error));
  if (blis_array_push(r->job->alloc, &r->rows, request) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status read_rows(reading *r, blis_error *error) {
  BLIS_TRY(find_columns(r, error));
  while ((int64_t)r->rows.count < r->job->limit) {
    bool has_row;
    BLIS_TRY(blis_csv_next(r->csv, &has_row, error));
    if (!has_row) {
      break;
    }
    BLIS_TRY(read_fields(r, error));
    BLIS_TRY(check_id(r, error));
    BLIS_TRY(note_group(r, error));
    BLIS_TRY(keep_row(r, error));
  }
  return BLIS_OK;
}

/* The number of a group's text is the stream of its prefix. */
static blis_status add_rows(const reading *r, blis_error *error) {
  bool shifts =
      r->is_observed && !r->job->options->keep_epoch && r->clock_start_us > 0;
  bool has_segments = r->segments_place != BLIS_CSV_NONE;
  const blis_segment *segments = r->segments.items;
  for (size_t i = 0; i < r->rows.count; i++) {
    blis_request request = r->rows.items[i];
    size_t group = request.prefix_group;
    blis_segment prefix = {.stream = group};
    if (request.segment_count > 0) {
      request.segments = segments;
      segments += request.segment_count;
    } else if (!has_segments && group < r->group_tokens.count &&
               r->group_tokens.items[group] > 0) {
      prefix.length_tokens = r->group_tokens.items[group];
      request.segments = &prefix;
      request.segment_count = 1;
      request.shared_tokens = prefix.length_tokens;
      request.prompt_tokens += prefix.length_tokens;
    }
    if (shifts && request.arrival_us > r->clock_start_us) {
      request.arrival_us -= r->clock_start_us;
    }
    if (blis_workload_add(r->job->workload, &request) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  return BLIS_OK;
}

static blis_status read_data(const blis__trace_job *job, const char *path,
                             const blis__trace_v2_header *header,
                             blis_error *error) {
  blis_csv_options options = {.has_header = true};
  reading r = {.job = job,
               .is_observed = header->is_observed,
               .clock_start_us = INT64_MAX};
  BLIS_TRY(blis_csv_open(job->alloc, path, &options, &r.csv, error));
  blis_map_init(&r.ids, job->alloc);
  blis_status status = read_rows(&r, error);
  if (status == BLIS_OK) {
    status = add_rows(&r, error);
  }
  blis_map_deinit(&r.ids);
  blis_array_deinit(job->alloc, &r.rows);
  blis_array_deinit(job->alloc, &r.segments);
  blis_array_deinit(job->alloc, &r.group_tokens);
  blis_csv_close(r.csv);
  return status;
}

static blis_status read(const blis__trace_job *job, blis_error *error) {
  blis_buffer data;
  blis_buffer header_path;
  blis_buffer_init(&data, job->alloc);
  blis_buffer_init(&header_path, job->alloc);
  blis__trace_v2_header header;
  blis_status status = find_files(job, &data, &header_path, error);
  if (status == BLIS_OK) {
    status =
        blis__trace_v2_read_header(job->alloc, blis_buffer_text(&header_path),
                                   job->workload, &header, error);
  }
  if (status == BLIS_OK) {
    status = read_data(job, blis_buffer_text(&data), &header, error);
  }
  blis_buffer_deinit(&data);
  blis_buffer_deinit(&header_path);
  return status;
}

const blis__trace_format blis__trace_v2 = {
    .name = "tracev2",
    .text = "CSV with a YAML header beside it, the format of BLIS",
    .recognise = recognise,
    .read = read,
};
