/*
 * The result file of vLLM's "bench serve" with --save-detailed: one JSON object
 * whose input_lens, output_lens and start_times (s) have an entry per request.
 *
 * Start times are on a clock of the machine, so requests arrive from the first
 * one on. Requests with an entry in errors failed; they are left out, with a
 * note.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "workload/trace/format.h"
#include "workload/trace/rows.h"

enum { MAX_SIZE = 1 << 30 };

/* Microseconds up to here are exact in a double: 285 years. */
#define MAX_TIME_S 9e9

typedef struct result_lists {
  blis_json_value inputs;
  blis_json_value outputs;
  blis_json_value starts;
  blis_json_value errors; /* may be missing */
} result_lists;

typedef struct reading {
  const blis__trace_job *job;
  const struct reading *known; /* the reader of the job, or this one */
  blis_json json;
  bool has_json;
  result_lists lists;
  size_t count;
  size_t next;
  int64_t failed;
  int64_t start_us; /* of the first request that did not fail */
} reading;

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' &&
         ((blis__trace_head_has(head, "\"num_prompts\"") &&
           blis__trace_head_has(head, "\"request_rate\"")) ||
          blis__trace_head_has(head, "\"input_lens\""));
}

static blis_status need_list(const blis__trace_job *job, blis_json_value root,
                             const char *key, blis_json_value *list,
                             blis_error *error) {
  *list = blis_json_member(root, key);
  if (!blis_json_has(*list)) {
    return blis_fail(error, BLIS_ERR_PARSE,
                     "%s: key \"%s\" is missing; the benchmark saves it when "
                     "run with --save-detailed",
                     job->name, key);
  }
  return blis_json_need_array(*list, error);
}

static blis_status check_count(blis_json_value list, size_t count,
                               blis_error *error) {
  if (blis_json_count(list) == count) {
    return BLIS_OK;
  }
  char what[80];
  snprintf(what, sizeof what, "has %zu entries; input_lens has %zu",
           blis_json_count(list), count);
  return blis_json_fail(list, what, error);
}

static blis_status find_lists(const blis__trace_job *job, blis_json_value root,
                              result_lists *lists, blis_error *error) {
  BLIS_TRY(blis_json_need_object(root, error));
  BLIS_TRY(need_list(job, root, "input_lens", &lists->inputs, error));
  BLIS_TRY(need_list(job, root, "output_lens", &lists->outputs, error));
  BLIS_TRY(need_list(job, root, "start_times", &lists->starts, error));
  size_t count = blis_json_count(lists->inputs);
  BLIS_TRY(check_count(lists->outputs, count, error));
  BLIS_TRY(check_count(lists->starts, count, error));
  lists->errors = blis_json_member(root, "errors");
  if (!blis_json_has(lists->errors)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_need_array(lists->errors, error));
  return check_count(lists->errors, count, error);
}

static blis_status read_entry(const result_lists *lists, size_t index,
                              blis_request *row, bool *has_failed,
                              blis_error *error) {
  int64_t input;
  int64_t output;
  double start_s;
  BLIS_TRY(blis_json_int64(blis_json_item(lists->inputs, index), 0,
                           BLIS_WORKLOAD_MAX_TOKENS, &input, error));
  BLIS_TRY(blis_json_int64(blis_json_item(lists->outputs, index), 0,
                           BLIS_WORKLOAD_MAX_TOKENS, &output, error));
  BLIS_TRY(blis_json_double(blis_json_item(lists->starts, index), 0, MAX_TIME_S,
                            &start_s, error));
  *row = (blis_request){.number = (int64_t)index,
                        .arrival_us = llround(start_s * 1e6),
                        .prompt_tokens = (uint32_t)input,
                        .output_tokens = (uint32_t)output,
                        .max_output_tokens = (uint32_t)output};
  blis_json_value failure = blis_json_item(lists->errors, index);
  blis_slice text = {0};
  if (blis_json_has(failure)) {
    BLIS_TRY(blis_json_text(failure, &text, error));
  }
  *has_failed = text.length > 0;
  return BLIS_OK;
}

static blis_status next(void *reader, blis_request *row, bool *has_row,
                        blis_error *error) {
  reading *r = reader;
  *has_row = false;
  while (r->next < r->count && (int64_t)r->next < r->job->limit) {
    bool has_failed;
    BLIS_TRY(read_entry(&r->lists, r->next++, row, &has_failed, error));
    if (!has_failed) {
      r->start_us =
          row->arrival_us < r->start_us ? row->arrival_us : r->start_us;
      *has_row = true;
      return BLIS_OK;
    }
    r->failed++;
  }
  return BLIS_OK;
}

static void forget_json(reading *r) {
  if (r->has_json) {
    blis_json_deinit(&r->json);
    r->has_json = false;
  }
}

static blis_status finish(void *reader, blis_error *error) {
  reading *r = reader;
  forget_json(r);
  return blis__trace_note_failed(r->job, r->failed, error);
}

static void settle(const void *reader, blis_request *row,
                   blis_segment *segments) {
  (void)segments;
  const reading *r = reader;
  row->arrival_us -= r->known->start_us;
}

static void close_reading(void *reader) {
  reading *r = reader;
  forget_json(r);
}

static blis_status open_json(blis__trace_job *job, reading *r,
                             blis_error *error) {
  blis_input *input = blis__trace_take_input(job);
  blis_status status = blis_json_read_input(&r->json, job->alloc, input,
                                            job->name, MAX_SIZE, error);
  blis_input_close(input);
  BLIS_TRY(status);
  r->has_json = true;
  BLIS_TRY(find_lists(job, blis_json_root(&r->json), &r->lists, error));
  r->count = blis_json_count(r->lists.inputs);
  return BLIS_OK;
}

static blis_status open_reading(blis__trace_job *job, void *reader,
                                blis_error *error) {
  reading *r = reader;
  r->job = job;
  r->known = job->known != NULL ? job->known : r;
  r->start_us = INT64_MAX;
  job->is_whole = true;
  return open_json(job, r, error);
}

const blis__trace_format blis__trace_vllm = {
    .name = "vllm",
    .text = "detailed JSON result of vllm bench serve",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .finish = finish,
    .settle = settle,
    .close = close_reading,
};
