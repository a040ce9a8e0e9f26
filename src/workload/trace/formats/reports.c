/*
 * Reports of load generators that contain every request and its time:
 *
 *   inference-perf  per_request_lifecycle_metrics.json: a list of
 *                   {start_time (s), info: {request_metrics, response_metrics}};
 *                   in 2025 info: {input_tokens, output_tokens}
 *   guidellm        benchmarks, each with requests.successful: prompt_tokens,
 *                   output_tokens, request_start_time (s) or info.timings;
 *                   in early 2025 start_time
 *
 * Each file is one JSON text. Failed requests are skipped, with a note; GuideLLM
 * has a separate list for them. Arrivals are relative to the earliest request.
 */
#include <math.h>

#include "workload/trace/rows/jsonl.h"

typedef struct reading {
  blis__trace_rows rows; /* failed requests count as failed rows */
  blis_json_value lists; /* benchmarks, or the list of requests */
  size_t list;
  size_t next;
} reading;

static blis_status read_start(blis_json_value value, blis_request *row, blis_error *error) {
  double start_s;
  BLIS_TRY(blis_json_double(value, 0, BLIS__TRACE_MAX_MS / 1000, &start_s, error));
  row->arrival_us = llround(start_s * 1e6);
  return BLIS_OK;
}

static blis_status read_tokens(blis_json_value value, uint32_t *tokens, blis_error *error) {
  int64_t read;
  BLIS_TRY(blis_json_int64(value, 0, BLIS_WORKLOAD_MAX_TOKENS, &read, error));
  *tokens = (uint32_t)read;
  return BLIS_OK;
}

static blis_json_value first_of(blis_json_value a, blis_json_value b) {
  return blis_json_has(a) ? a : b;
}

static void take(reading *r, blis_request *row) {
  row->number = r->rows.taken++;
  row->max_output_tokens = row->output_tokens;
  blis__trace_note_start(&r->rows, row->arrival_us);
}

/* inference-perf. */

static bool recognise_inference_perf(blis_slice head) {
  return head.length > 0 && head.data[0] == '[' && blis__trace_head_has(head, "\"start_time\"") &&
         (blis__trace_head_has(head, "\"end_time\"") || blis__trace_head_has(head, "\"info\""));
}

static blis_status open_inference_perf(void *reader, blis_error *error) {
  reading *r = reader;
  r->rows.job->is_whole = true;
  BLIS_TRY(blis__trace_open_json(&r->rows, error));
  r->lists = blis_json_root(&r->rows.json);
  return blis_json_need_array(r->lists, error);
}

static blis_status next_inference_perf(void *reader, blis_request *row, bool *has_row,
                                       blis_error *error) {
  reading *r = reader;
  *has_row = false;
  while (r->next < blis_json_count(r->lists) && r->rows.taken < r->rows.job->limit) {
    blis_json_value one = blis_json_item(r->lists, r->next++);
    BLIS_TRY(blis_json_need_object(one, error));
    if (blis_json_has(blis_json_member(one, "error"))) {
      r->rows.failed++;
      continue;
    }
    blis_json_value info = blis_json_member(one, "info");
    blis_json_value text = blis_json_member(blis_json_member(info, "request_metrics"), "text");
    *row = (blis_request){0};
    BLIS_TRY(read_start(blis_json_member(one, "start_time"), row, error));
    BLIS_TRY(read_tokens(
        first_of(blis_json_member(text, "input_tokens"), blis_json_member(info, "input_tokens")),
        &row->prompt_tokens, error));
    blis_json_value response = blis_json_member(info, "response_metrics");
    BLIS_TRY(read_tokens(first_of(blis_json_member(response, "output_tokens"),
                                  blis_json_member(info, "output_tokens")),
                         &row->output_tokens, error));
    take(r, row);
    *has_row = true;
    return BLIS_OK;
  }
  return BLIS_OK;
}

const blis__trace_format blis__trace_inference_perf = {
    .name = "inference-perf",
    .text = "per_request_lifecycle_metrics.json of inference-perf",
    .recognise = recognise_inference_perf,
    .start = '[',
    .needs = {"\"start_time\"", "\"info\""},
    .reader_size = sizeof(reading),
    .open = open_inference_perf,
    .next = next_inference_perf,
    .settle = blis__trace_settle_us,
};

/* GuideLLM. */

static bool recognise_guidellm(blis_slice head) {
  static const char *const others[] = {"\"metadata\"", "\"generative_benchmark\"", "\"run_stats\"",
                                       "\"successful\""};
  bool has_other = false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    has_other = has_other || blis__trace_head_has(head, others[i]);
  }
  return head.length > 0 && head.data[0] == '{' &&
         (blis__trace_head_has(head, "\"guidellm_version\"") ||
          (has_other && blis__trace_head_has(head, "\"benchmarks\"")));
}

static blis_status open_guidellm(void *reader, blis_error *error) {
  reading *r = reader;
  r->rows.job->is_whole = true;
  BLIS_TRY(blis__trace_open_json(&r->rows, error));
  r->lists = blis_json_member(blis_json_root(&r->rows.json), "benchmarks");
  return blis_json_need_array(r->lists, error);
}

/* Returns the count of tokens of a request: a member of it, or the text tokens of its metrics. */
static blis_json_value counted(blis_json_value one, const char *key, const char *metrics) {
  blis_json_value count = blis_json_member(one, key);
  blis_json_value text = blis_json_member(blis_json_member(one, metrics), "text_tokens");
  return blis_json_has(count) || !blis_json_has(text) ? count : text;
}

static blis_status read_guidellm(reading *r, blis_json_value one, blis_request *row,
                                 blis_error *error) {
  blis_json_value info = blis_json_member(one, "info");
  blis_json_value timings = blis_json_member(info, "timings");
  *row = (blis_request){0};
  BLIS_TRY(blis_json_need_object(one, error));
  blis_json_value start = first_of(blis_json_member(one, "request_start_time"),
                                   blis_json_member(timings, "request_start"));
  BLIS_TRY(read_start(first_of(start, blis_json_member(one, "start_time")), row, error));
  BLIS_TRY(read_tokens(counted(one, "prompt_tokens", "input_metrics"), &row->prompt_tokens, error));
  BLIS_TRY(
      read_tokens(counted(one, "output_tokens", "output_metrics"), &row->output_tokens, error));
  return blis__trace_name(r->rows.job, info, "conversation_id", &row->session, error);
}

static blis_status next_guidellm(void *reader, blis_request *row, bool *has_row,
                                 blis_error *error) {
  reading *r = reader;
  *has_row = false;
  for (; r->list < blis_json_count(r->lists); r->list++, r->next = 0) {
    blis_json_value requests = blis_json_member(blis_json_item(r->lists, r->list), "requests");
    blis_json_value done = blis_json_member(requests, "successful");
    if (r->next == 0) {
      r->rows.failed += (int64_t)blis_json_count(blis_json_member(requests, "errored"));
    }
    if (r->rows.taken == r->rows.job->limit) {
      return BLIS_OK;
    }
    if (r->next < blis_json_count(done)) {
      BLIS_TRY(read_guidellm(r, blis_json_item(done, r->next++), row, error));
      take(r, row);
      *has_row = true;
      return BLIS_OK;
    }
  }
  return BLIS_OK;
}

/* Turns are recorded, except for failed requests. */
static bool numbers_rounds(const void *reader) {
  (void)reader;
  return true;
}

const blis__trace_format blis__trace_guidellm = {
    .name = "guidellm",
    .text = "JSON report of GuideLLM with its requests",
    .recognise = recognise_guidellm,
    .start = '{',
    .needs = {"\"benchmarks\""},
    .reader_size = sizeof(reading),
    .open = open_guidellm,
    .next = next_guidellm,
    .settle = blis__trace_settle_us,
    .numbers_rounds = numbers_rounds,
};
