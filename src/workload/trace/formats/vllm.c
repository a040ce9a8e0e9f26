/*
 * The result file of vLLM's "bench serve" with --save-detailed: one JSON object whose lists
 * input_lens, output_lens, and start_times (s) have one entry per request.
 *
 * Start times use the machine's clock, so arrivals are relative to the first request. With
 * queue_times (newest versions), requests arrive when the client releases them, because a
 * concurrency limit makes some wait in the client. Requests with an entry in errors have failed;
 * they are skipped, with a note.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workload/trace/rows/rows.h"

/* Up to this time (285 years), microseconds are exact in a double. */
#define MAX_TIME_S 9e9

typedef struct result_lists {
  blis_json_value inputs;
  blis_json_value outputs;
  blis_json_value starts;
  blis_json_value waits;  /* may be missing */
  blis_json_value errors; /* may be missing */
} result_lists;

typedef struct reading {
  blis__trace_rows rows; /* member failed counts the rows with an error */
  result_lists lists;
  int64_t count;
} reading;

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' &&
         ((blis__trace_head_has(head, "\"num_prompts\"") &&
           blis__trace_head_has(head, "\"request_rate\"")) ||
          blis__trace_head_has(head, "\"input_lens\""));
}

static blis_status need_list(const blis__trace_job *job, blis_json_value root, const char *key,
                             blis_json_value *list, blis_error *error) {
  *list = blis_json_member(root, key);
  if (!blis_json_has(*list)) {
    return blis_fail(error, BLIS_ERR_PARSE,
                     "%s: key '%s' is missing; run the benchmark with "
                     "--save-detailed to get it",
                     job->name, key);
  }
  return blis_json_need_array(*list, error);
}

static blis_status check_count(blis_json_value list, size_t count, blis_error *error) {
  if (blis_json_count(list) == count) {
    return BLIS_OK;
  }
  char what[80];
  snprintf(what, sizeof what, "has %zu entries; input_lens has %zu", blis_json_count(list), count);
  return blis_json_fail(list, what, error);
}

/*
 * Lists with one entry per request: results and text of the server. All other members describe the
 * whole run.
 */
static const char *const known_lists[] = {
    "input_lens", "output_lens",     "start_times", "errors",    "ttfts",
    "itls",       "generated_texts", "queue_times", "latencies", NULL};

static void see_lists(reading *r, blis_json_value root) {
  const char *name = NULL;
  blis_json_value member;
  while (blis_json_next(root, &name, &member)) {
    bool is_known = blis_json_type_of(member) != BLIS_JSON_ARRAY;
    for (size_t i = 0; !is_known && known_lists[i] != NULL; i++) {
      is_known = strcmp(known_lists[i], name) == 0;
    }
    if (!is_known) {
      blis__unread_add(&r->rows.unread, name);
    }
  }
}

static blis_status find_lists(const blis__trace_job *job, blis_json_value root, result_lists *lists,
                              blis_error *error) {
  BLIS_TRY(blis_json_need_object(root, error));
  BLIS_TRY(need_list(job, root, "input_lens", &lists->inputs, error));
  BLIS_TRY(need_list(job, root, "output_lens", &lists->outputs, error));
  BLIS_TRY(need_list(job, root, "start_times", &lists->starts, error));
  size_t count = blis_json_count(lists->inputs);
  BLIS_TRY(check_count(lists->outputs, count, error));
  BLIS_TRY(check_count(lists->starts, count, error));
  lists->waits = blis_json_member(root, "queue_times");
  if (blis_json_has(lists->waits)) {
    BLIS_TRY(blis_json_need_array(lists->waits, error));
    BLIS_TRY(check_count(lists->waits, count, error));
  }
  lists->errors = blis_json_member(root, "errors");
  if (!blis_json_has(lists->errors)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_need_array(lists->errors, error));
  return check_count(lists->errors, count, error);
}

static blis_status read_entry(const result_lists *lists, size_t index, blis_request *row,
                              bool *has_failed, blis_error *error) {
  int64_t input;
  int64_t output;
  double start_s;
  BLIS_TRY(blis_json_int64(blis_json_item(lists->inputs, index), 0, BLIS_WORKLOAD_MAX_TOKENS,
                           &input, error));
  BLIS_TRY(blis_json_int64(blis_json_item(lists->outputs, index), 0, BLIS_WORKLOAD_MAX_TOKENS,
                           &output, error));
  BLIS_TRY(blis_json_double(blis_json_item(lists->starts, index), 0, MAX_TIME_S, &start_s, error));
  double wait_s = 0;
  if (blis_json_has(lists->waits)) {
    BLIS_TRY(blis_json_double(blis_json_item(lists->waits, index), 0, MAX_TIME_S, &wait_s, error));
  }
  *row = (blis_request){.number = (int64_t)index,
                        .arrival_us = llround((start_s + wait_s) * 1e6),
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

static blis_status next(void *reader, blis_request *row, bool *has_row, blis_error *error) {
  reading *r = reader;
  blis__trace_rows *rows = &r->rows;
  *has_row = false;
  while (rows->taken < r->count && rows->taken < rows->job->limit) {
    bool has_failed;
    BLIS_TRY(read_entry(&r->lists, (size_t)rows->taken++, row, &has_failed, error));
    if (!has_failed) {
      blis__trace_note_start(rows, row->arrival_us);
      *has_row = true;
      return BLIS_OK;
    }
    rows->failed++;
  }
  return BLIS_OK;
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  r->rows.job->is_whole = true;
  BLIS_TRY(blis__trace_open_json(&r->rows, error));
  BLIS_TRY(find_lists(r->rows.job, blis_json_root(&r->rows.json), &r->lists, error));
  see_lists(r, blis_json_root(&r->rows.json));
  r->count = (int64_t)blis_json_count(r->lists.inputs);
  return BLIS_OK;
}

const blis__trace_format blis__trace_vllm = {
    .name = "vllm",
    .text = "detailed JSON result of vllm bench serve",
    .recognise = recognise,
    .start = '{',
    .needs = {"\"input_lens\""},
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .settle = blis__trace_settle_us,
};
