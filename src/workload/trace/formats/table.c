/*
 * Traces that are CSV tables of times and lengths: traces of Azure's LLM inference services,
 * BurstGPT (Wang et al., 2024), the processed traces of Vidur (Agrawal et al., MLSys 2024), and
 * splitwise-sim (Patel et al., ISCA 2024). To add a format, add a rule and an entry at the end of
 * this file.
 *
 * Azure's traces were published in 2023 (Patel et al., Splitwise) with times such as "2023-11-16
 * 18:15:46.6805900", and in 2024 (Stojkovic et al., DynamoLLM) with times such as "2024-05-10
 * 00:00:00.009930+00:00". The 2025 trace of multimodal models (ModServe) also has a column
 * NumImages, which is reported but not used. The arrival of a request is its time minus that of the
 * earliest row, computed with nanosecond precision and converted to whole microseconds.
 *
 * In BurstGPT, the clock starts long before the first row of some files, so arrivals are relative
 * to the earliest row. A response of 0 tokens is a failed request; such rows are skipped, with a
 * note. The model becomes the client, since the models of that service are not those of the
 * cluster. Release 1.2 and later contain sessions; their rows are rounds, in order of time.
 */
#include <math.h>

#include "workload/trace/formats/timestamp.h"
#include "workload/trace/rows/rows.h"

/* Up to this time (285 years), microseconds are exact in a double. */
#define MAX_TIME_S 9e9

typedef struct table_rule {
  const char *time; /* seconds, or timestamps */
  const char *prompt;
  const char *output;
  const char *client; /* may be missing, like the next members; NULL = never present */
  const char *session;
  const char *batch; /* must be 1 */
  bool has_timestamps;
  bool has_failed_rows; /* rows with an output of 0 tokens have failed */
} table_rule;

typedef struct reading {
  blis__trace_rows rows;
  size_t time;
  size_t prompt;
  size_t output;
  size_t client; /* BLIS_CSV_NONE = missing; same for the next two members */
  size_t session;
  size_t batch;
} reading;

static size_t find_optional(const reading *r, const char *name) {
  return name != NULL ? blis_csv_column(r->rows.csv, name) : BLIS_CSV_NONE;
}

static blis_status open_table(void *reader, blis_error *error) {
  reading *r = reader;
  const table_rule *rule = r->rows.rule;
  if (!rule->has_timestamps) {
    BLIS_TRY(blis__trace_csv_clock(&r->rows, rule->time, 1e6, 0, error));
  }
  BLIS_TRY(blis__trace_open_csv(&r->rows, true, error));
  BLIS_TRY(blis_csv_need(r->rows.csv, rule->time, &r->time, error));
  BLIS_TRY(blis_csv_need(r->rows.csv, rule->prompt, &r->prompt, error));
  BLIS_TRY(blis_csv_need(r->rows.csv, rule->output, &r->output, error));
  r->client = find_optional(r, rule->client);
  r->session = find_optional(r, rule->session);
  r->batch = find_optional(r, rule->batch);
  return BLIS_OK;
}

/* Reads a time. Until rows are settled, timestamps are in nanoseconds. */
static blis_status read_time(const reading *r, const table_rule *rule, int64_t *arrival,
                             blis_error *error) {
  if (!rule->has_timestamps) {
    double time;
    double unit_us = r->rows.clock.unit_us;
    BLIS_TRY(blis_csv_double(r->rows.csv, r->time, 0, MAX_TIME_S * 1e6 / unit_us, &time, error));
    *arrival = llround(time * unit_us);
    return BLIS_OK;
  }
  blis_slice text;
  BLIS_TRY(blis_csv_text(r->rows.csv, r->time, &text, error));
  return blis__trace_parse_timestamp(blis_slice_trim(text), arrival)
             ? BLIS_OK
             : blis_csv_fail(r->rows.csv, r->time,
                             "is not a time such as 2023-11-16 "
                             "18:15:46.6805900 (years 1970 to 2199)",
                             error);
}

static blis_status read_tokens(const reading *r, size_t column, uint32_t *tokens,
                               blis_error *error) {
  int64_t value;
  BLIS_TRY(blis_csv_int64(r->rows.csv, column, 0, BLIS_WORKLOAD_MAX_TOKENS, &value, error));
  *tokens = (uint32_t)value;
  return BLIS_OK;
}

static blis_status read_label(const reading *r, size_t column, uint32_t *id, blis_error *error) {
  if (column == BLIS_CSV_NONE) {
    return BLIS_OK;
  }
  blis_slice text;
  BLIS_TRY(blis_csv_text(r->rows.csv, column, &text, error));
  return blis__trace_text(r->rows.job, text, id, error);
}

static blis_status read_row(reading *r, const table_rule *rule, blis_request *row,
                            blis_error *error) {
  *row = (blis_request){.number = r->rows.taken - 1};
  BLIS_TRY(read_time(r, rule, &row->arrival_us, error));
  BLIS_TRY(read_tokens(r, r->prompt, &row->prompt_tokens, error));
  BLIS_TRY(read_tokens(r, r->output, &row->output_tokens, error));
  row->max_output_tokens = row->output_tokens;
  BLIS_TRY(read_label(r, r->client, &row->client, error));
  BLIS_TRY(read_label(r, r->session, &row->session, error));
  if (r->batch != BLIS_CSV_NONE) {
    int64_t batch;
    BLIS_TRY(blis_csv_int64(r->rows.csv, r->batch, 1, 1, &batch, error));
  }
  return BLIS_OK;
}

static blis_status next(void *reader, blis_request *row, bool *has_row, blis_error *error) {
  reading *r = reader;
  const table_rule *rule = r->rows.rule;
  for (;;) {
    BLIS_TRY(blis__trace_next_csv(&r->rows, has_row, error));
    if (!*has_row) {
      return BLIS_OK;
    }
    BLIS_TRY(read_row(r, rule, row, error));
    if (!rule->has_failed_rows || row->output_tokens > 0) {
      blis__trace_note_start(&r->rows, row->arrival_us);
      return BLIS_OK;
    }
    r->rows.failed++;
  }
}

static bool numbers_rounds(const void *reader) {
  const reading *r = reader;
  return r->session != BLIS_CSV_NONE;
}

/* The formats. Without settle, times are kept as they are. */

#define TABLE_READER                                                                               \
  .reader_size = sizeof(reading), .open = open_table, .next = next, .numbers_rounds = numbers_rounds

static const table_rule azure_rule = {.time = "TIMESTAMP",
                                      .prompt = "ContextTokens",
                                      .output = "GeneratedTokens",
                                      .has_timestamps = true};

static const char *const azure_fields[] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens", NULL};

const blis__trace_format blis__trace_azure = {
    .name = "azure",
    .text = "CSV with TIMESTAMP, ContextTokens, GeneratedTokens",
    .marks = {"TIMESTAMP,", "ContextTokens,GeneratedTokens"},
    .rule = &azure_rule,
    .fields = azure_fields,
    .settle = blis__trace_settle_ns,
    TABLE_READER};

static const table_rule burstgpt_rule = {.time = "Timestamp",
                                         .prompt = "Request tokens",
                                         .output = "Response tokens",
                                         .client = "Model",
                                         .session = "Session ID",
                                         .has_failed_rows = true};

static const char *const burstgpt_fields[] = {"Timestamp",    "Session ID",     "Elapsed time",
                                              "Model",        "Request tokens", "Response tokens",
                                              "Total tokens", "Log Type",       NULL};

const blis__trace_format blis__trace_burstgpt = {
    .name = "burstgpt",
    .text = "CSV with Timestamp, Request tokens, Response tokens",
    .marks = {"Request tokens", "Response tokens"},
    .rule = &burstgpt_rule,
    .fields = burstgpt_fields,
    .settle = blis__trace_settle_us,
    TABLE_READER};

static const table_rule vidur_rule = {
    .time = "arrived_at", .prompt = "num_prefill_tokens", .output = "num_decode_tokens"};

static const char *const vidur_fields[] = {"arrived_at", "num_prefill_tokens", "num_decode_tokens",
                                           NULL};

const blis__trace_format blis__trace_vidur = {
    .name = "vidur",
    .text = "CSV with arrived_at, num_prefill_tokens, num_decode_tokens",
    .marks = {"num_prefill_tokens", "num_decode_tokens"},
    .rule = &vidur_rule,
    .fields = vidur_fields,
    .settle = blis__trace_settle_us,
    TABLE_READER};

static const table_rule splitwise_rule = {.time = "arrival_timestamp",
                                          .prompt = "prompt_size",
                                          .output = "token_size",
                                          .client = "application_id",
                                          .batch = "batch_size"};

static const char *const splitwise_fields[] = {
    "request_id", "request_type", "application_id", "arrival_timestamp",
    "batch_size", "prompt_size",  "token_size",     NULL};

const blis__trace_format blis__trace_splitwise = {
    .name = "splitwise",
    .text = "CSV with arrival_timestamp, prompt_size, token_size",
    .marks = {"arrival_timestamp", "prompt_size"},
    .rule = &splitwise_rule,
    .fields = splitwise_fields,
    .settle = blis__trace_settle_us,
    TABLE_READER};
