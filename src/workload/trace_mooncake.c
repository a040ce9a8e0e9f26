/*
 * The traces published with Mooncake (Qin et al., FAST 2025): one JSON object
 * per line with timestamp (ms), input_length, output_length and hash_ids.
 *
 * Hash id k of a request stands for its tokens [512 k, 512 k + 512), the last
 * one for what is left of the prompt. Equal ids are equal tokens, so an id is a
 * stream of content. A request with fewer ids than blocks has tokens of its own
 * behind them; more ids than blocks are an error.
 */
#include <math.h>
#include <stdio.h>

#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "workload/trace_format.h"

enum { HASH_BLOCK_TOKENS = 512 };

/* Microseconds up to here are exact in a double: 285 years. */
#define MAX_TIME_MS 9e12

typedef BLIS_ARRAY(blis_segment) segment_list;

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' &&
         blis__trace_first_line_has(head, "\"timestamp\"") &&
         blis__trace_first_line_has(head, "\"input_length\"") &&
         !blis__trace_first_line_has(head, "\"chat_id\"");
}

static uint32_t hash_block_tokens(const blis__trace_job *job) {
  return job->options->hash_block_tokens != 0 ? job->options->hash_block_tokens
                                              : HASH_BLOCK_TOKENS;
}

static blis_status read_segments(const blis__trace_job *job,
                                 blis_json_value ids, blis_request *request,
                                 segment_list *segments, blis_error *error) {
  segments->count = 0;
  if (!blis_json_has(ids)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_need_array(ids, error));
  uint32_t block_tokens = hash_block_tokens(job);
  uint32_t left = request->prompt_tokens;
  size_t count = blis_json_count(ids);
  size_t blocks = ((size_t)left + block_tokens - 1) / block_tokens;
  if (count > blocks) {
    char what[120];
    snprintf(what, sizeof what,
             "has %zu ids; %u tokens in blocks of %u need %zu", count, left,
             block_tokens, blocks);
    return blis_json_fail(ids, what, error);
  }
  if (blis_array_reserve(job->alloc, segments, count) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  for (size_t i = 0; i < count; i++) {
    int64_t id;
    BLIS_TRY(blis_json_int64(blis_json_item(ids, i), 0, INT64_MAX, &id, error));
    uint32_t length = left < block_tokens ? left : block_tokens;
    segments->items[segments->count++] =
        (blis_segment){.stream = (uint64_t)id, .length_tokens = length};
    left -= length;
  }
  request->segments = segments->items;
  request->segment_count = (uint32_t)count;
  request->shared_tokens = request->prompt_tokens - left;
  return BLIS_OK;
}

static blis_status read_row(const blis__trace_job *job, blis_json_value row,
                            int64_t number, segment_list *segments,
                            blis_error *error) {
  double time_ms;
  int64_t input;
  int64_t output;
  BLIS_TRY(blis_json_need_object(row, error));
  BLIS_TRY(blis_json_double(blis_json_member(row, "timestamp"), 0, MAX_TIME_MS,
                            &time_ms, error));
  BLIS_TRY(blis_json_int64(blis_json_member(row, "input_length"), 0,
                           BLIS_WORKLOAD_MAX_TOKENS, &input, error));
  BLIS_TRY(blis_json_int64(blis_json_member(row, "output_length"), 0,
                           BLIS_WORKLOAD_MAX_TOKENS, &output, error));
  blis_request request = {.number = number,
                          .arrival_us = llround(time_ms * 1000),
                          .prompt_tokens = (uint32_t)input,
                          .output_tokens = (uint32_t)output,
                          .max_output_tokens = (uint32_t)output};
  BLIS_TRY(read_segments(job, blis_json_member(row, "hash_ids"), &request,
                         segments, error));
  if (blis_workload_add(job->workload, &request) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status read_lines(const blis__trace_job *job, blis_text *text,
                              segment_list *segments, blis_error *error) {
  int64_t number = 0;
  while (number < job->limit) {
    blis_text_line line;
    bool has_line;
    BLIS_TRY(blis_text_next(text, &line, &has_line, error));
    if (!has_line) {
      break;
    }
    if (blis_slice_trim(line.content).length == 0) {
      continue;
    }
    blis_json json;
    BLIS_TRY(blis_json_parse(&json, blis_text_name(text), line.number,
                             line.content, error));
    blis_status status =
        read_row(job, blis_json_root(&json), number, segments, error);
    blis_json_deinit(&json);
    BLIS_TRY(status);
    number++;
  }
  return BLIS_OK;
}

static blis_status read(const blis__trace_job *job, blis_error *error) {
  blis_text *text;
  BLIS_TRY(blis_text_open(job->alloc, job->path, &text, error));
  segment_list segments = {0};
  blis_status status = read_lines(job, text, &segments, error);
  blis_array_deinit(job->alloc, &segments);
  blis_text_close(text);
  return status;
}

const blis__trace_format blis__trace_mooncake = {
    .name = "mooncake",
    .text = "JSONL with timestamp, input_length, output_length, hash_ids",
    .recognise = recognise,
    .read = read,
};
