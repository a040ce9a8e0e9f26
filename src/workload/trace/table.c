/*
 * Traces that are CSV tables of times in seconds and lengths: BurstGPT (Wang
 * et al., 2024), the processed traces of Vidur (Agrawal et al., MLSys 2024) and
 * those of splitwise-sim (Patel et al., ISCA 2024).
 *
 * The clock of BurstGPT starts long before some of its files do, so its
 * requests arrive from the earliest row on. A response of 0 tokens is a request
 * that failed; such rows are left out, with a note. The model is kept as the
 * client, since the models of that service are not those of the cluster. Since
 * release 1.2 there are sessions; their rows are rounds in order of time.
 */
#include <math.h>

#include "base/csv.h"
#include "workload/trace/format.h"
#include "workload/trace/rows.h"

/* Microseconds up to here are exact in a double: 285 years. */
#define MAX_TIME_S 9e9

typedef struct table_rule {
  const char *time;
  const char *prompt;
  const char *output;
  const char *client; /* these may be absent; NULL = never there */
  const char *session;
  const char *batch; /* must be 1 */
  bool starts_at_first_row;
  bool has_failed_rows; /* with an output of 0 tokens */
} table_rule;

static const table_rule burstgpt_rule = {.time = "Timestamp",
                                         .prompt = "Request tokens",
                                         .output = "Response tokens",
                                         .client = "Model",
                                         .session = "Session ID",
                                         .starts_at_first_row = true,
                                         .has_failed_rows = true};

static const table_rule vidur_rule = {.time = "arrived_at",
                                      .prompt = "num_prefill_tokens",
                                      .output = "num_decode_tokens"};

static const table_rule splitwise_rule = {.time = "arrival_timestamp",
                                          .prompt = "prompt_size",
                                          .output = "token_size",
                                          .client = "application_id",
                                          .batch = "batch_size"};

typedef struct reading {
  const blis__trace_job *job;
  const struct reading *known; /* the reader of the job, or this one */
  const table_rule *rule;
  blis_csv *csv; /* NULL when all rows were read */
  size_t time;
  size_t prompt;
  size_t output;
  size_t client; /* BLIS_CSV_NONE = not there; the next two as well */
  size_t session;
  size_t batch;
  int64_t count;    /* rows */
  int64_t failed;   /* of these */
  int64_t start_us; /* of the earliest that did not fail */
} reading;

static size_t find_optional(const reading *r, const char *name) {
  return name != NULL ? blis_csv_column(r->csv, name) : BLIS_CSV_NONE;
}

static blis_status find_columns(reading *r, blis_error *error) {
  BLIS_TRY(blis_csv_need(r->csv, r->rule->time, &r->time, error));
  BLIS_TRY(blis_csv_need(r->csv, r->rule->prompt, &r->prompt, error));
  BLIS_TRY(blis_csv_need(r->csv, r->rule->output, &r->output, error));
  r->client = find_optional(r, r->rule->client);
  r->session = find_optional(r, r->rule->session);
  r->batch = find_optional(r, r->rule->batch);
  return BLIS_OK;
}

static blis_status read_tokens(const reading *r, size_t column,
                               uint32_t *tokens, blis_error *error) {
  int64_t value;
  BLIS_TRY(blis_csv_int64(r->csv, column, 0, BLIS_WORKLOAD_MAX_TOKENS, &value,
                          error));
  *tokens = (uint32_t)value;
  return BLIS_OK;
}

static blis_status read_label(const reading *r, size_t column, uint32_t *id,
                              blis_error *error) {
  if (column == BLIS_CSV_NONE) {
    return BLIS_OK;
  }
  blis_slice text;
  BLIS_TRY(blis_csv_text(r->csv, column, &text, error));
  return blis__trace_text(r->job, text, id, error);
}

static blis_status read_row(reading *r, blis_request *row, blis_error *error) {
  *row = (blis_request){.number = r->count++};
  double time_s;
  BLIS_TRY(blis_csv_double(r->csv, r->time, 0, MAX_TIME_S, &time_s, error));
  row->arrival_us = llround(time_s * 1e6);
  BLIS_TRY(read_tokens(r, r->prompt, &row->prompt_tokens, error));
  BLIS_TRY(read_tokens(r, r->output, &row->output_tokens, error));
  row->max_output_tokens = row->output_tokens;
  BLIS_TRY(read_label(r, r->client, &row->client, error));
  BLIS_TRY(read_label(r, r->session, &row->session, error));
  if (r->batch != BLIS_CSV_NONE) {
    int64_t batch;
    BLIS_TRY(blis_csv_int64(r->csv, r->batch, 1, 1, &batch, error));
  }
  return BLIS_OK;
}

static blis_status next(void *reader, blis_request *row, bool *has_row,
                        blis_error *error) {
  reading *r = reader;
  *has_row = false;
  while (r->count < r->job->limit) {
    BLIS_TRY(blis_csv_next(r->csv, has_row, error));
    if (!*has_row) {
      return BLIS_OK;
    }
    BLIS_TRY(read_row(r, row, error));
    if (!r->rule->has_failed_rows || row->output_tokens > 0) {
      r->start_us =
          row->arrival_us < r->start_us ? row->arrival_us : r->start_us;
      return BLIS_OK;
    }
    r->failed++;
    *has_row = false;
  }
  return BLIS_OK;
}

static blis_status finish(void *reader, blis_error *error) {
  reading *r = reader;
  blis_csv_close(r->csv);
  r->csv = NULL;
  return blis__trace_note_failed(r->job, r->failed, error);
}

static void settle(const void *reader, blis_request *row,
                   blis_segment *segments) {
  (void)segments;
  const reading *r = reader;
  if (r->rule->starts_at_first_row) {
    row->arrival_us -= r->known->start_us;
  }
}

static bool numbers_rounds(const void *reader) {
  const reading *r = reader;
  return r->session != BLIS_CSV_NONE;
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis_csv_close(r->csv);
}

static blis_status open_csv(blis__trace_job *job, reading *r,
                            blis_error *error) {
  const blis_csv_options options = {.has_header = true, .has_even_rows = true};
  BLIS_TRY(blis_csv_open_input(job->alloc, blis__trace_take_input(job),
                               &options, &r->csv, error));
  return find_columns(r, error);
}

static blis_status open_table(blis__trace_job *job, const table_rule *rule,
                              void *reader, blis_error *error) {
  reading *r = reader;
  r->job = job;
  r->known = job->known != NULL ? job->known : r;
  r->rule = rule;
  r->start_us = INT64_MAX;
  return open_csv(job, r, error);
}

static bool is_burstgpt(blis_slice head) {
  return blis__trace_first_line_has(head, "Request tokens") &&
         blis__trace_first_line_has(head, "Response tokens");
}

static bool is_vidur(blis_slice head) {
  return blis__trace_first_line_has(head, "num_prefill_tokens") &&
         blis__trace_first_line_has(head, "num_decode_tokens");
}

static bool is_splitwise(blis_slice head) {
  return blis__trace_first_line_has(head, "arrival_timestamp") &&
         blis__trace_first_line_has(head, "prompt_size");
}

static blis_status open_burstgpt(blis__trace_job *job, void *reader,
                                 blis_error *error) {
  return open_table(job, &burstgpt_rule, reader, error);
}

static blis_status open_vidur(blis__trace_job *job, void *reader,
                              blis_error *error) {
  return open_table(job, &vidur_rule, reader, error);
}

static blis_status open_splitwise(blis__trace_job *job, void *reader,
                                  blis_error *error) {
  return open_table(job, &splitwise_rule, reader, error);
}

const blis__trace_format blis__trace_burstgpt = {
    .name = "burstgpt",
    .text = "CSV with Timestamp, Request tokens, Response tokens",
    .recognise = is_burstgpt,
    .reader_size = sizeof(reading),
    .open = open_burstgpt,
    .next = next,
    .finish = finish,
    .settle = settle,
    .numbers_rounds = numbers_rounds,
    .close = close_reading,
};

const blis__trace_format blis__trace_vidur = {
    .name = "vidur",
    .text = "CSV with arrived_at, num_prefill_tokens, num_decode_tokens",
    .recognise = is_vidur,
    .reader_size = sizeof(reading),
    .open = open_vidur,
    .next = next,
    .finish = finish,
    .close = close_reading,
};

const blis__trace_format blis__trace_splitwise = {
    .name = "splitwise",
    .text = "CSV with arrival_timestamp, prompt_size, token_size",
    .recognise = is_splitwise,
    .reader_size = sizeof(reading),
    .open = open_splitwise,
    .next = next,
    .finish = finish,
    .close = close_reading,
};
