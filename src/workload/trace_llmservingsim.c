/*
 * The traces of LLMServingSim (Cho et al., IISWC 2024), flat form: one JSON
 * object per line with input_toks, output_toks and arrival_time_ns, and
 * input_tok_ids when the tokens are known.
 *
 * Tokens are compared in pieces of 16: equal pieces are equal content, so
 * prompts share what they have in common up to a multiple of 16 tokens. Without
 * ids prompts share nothing.
 */
#include "base/buffer.h"
#include "workload/trace_jsonl.h"
#include "workload/trace_segments.h"

enum { PIECE_TOKENS = 16 };

typedef struct reading {
  const blis__trace_job *job;
  blis__segment_list segments; /* of one row */
  blis_buffer piece;           /* its ids, 4 bytes each */
  blis_intern *pieces;         /* the stream of a piece is its number here */
} reading;

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' &&
         (blis__trace_first_line_has(head, "\"input_toks\"") ||
          blis__trace_first_line_has(head, "\"sub_requests\""));
}

static blis_status add_piece(reading *r, blis_error *error) {
  uint32_t stream;
  blis_segment segment = {.length_tokens =
                              (uint32_t)(r->piece.length / sizeof(uint32_t))};
  if (blis_buffer_status(&r->piece) != BLIS_OK ||
      blis_intern_add(r->pieces, r->piece.data, r->piece.length, &stream) !=
          BLIS_OK) {
    return blis_fail_nomem(error);
  }
  segment.stream = stream;
  blis_buffer_clear(&r->piece);
  return blis_array_push(r->job->alloc, &r->segments, segment) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static blis_status read_ids(reading *r, blis_json_value ids,
                            blis_request *request, blis_error *error) {
  BLIS_TRY(blis_json_need_array(ids, error));
  size_t count = blis_json_count(ids);
  if (count != request->prompt_tokens) {
    return blis_json_fail(ids, "has not as many ids as input_toks says", error);
  }
  size_t piece_tokens = r->job->options->hash_block_tokens != 0
                            ? r->job->options->hash_block_tokens
                            : PIECE_TOKENS;
  for (size_t i = 0; i < count; i++) {
    int64_t id;
    BLIS_TRY(
        blis_json_int64(blis_json_item(ids, i), 0, UINT32_MAX, &id, error));
    uint32_t token = (uint32_t)id;
    blis_buffer_bytes(&r->piece, (const char *)&token, sizeof token);
    if ((i + 1) % piece_tokens == 0 || i + 1 == count) {
      BLIS_TRY(add_piece(r, error));
    }
  }
  request->segments = r->segments.items;
  request->segment_count = (uint32_t)r->segments.count;
  request->shared_tokens = request->prompt_tokens;
  return BLIS_OK;
}

static blis_status read_row(void *state, const blis__trace_line *line,
                            blis_error *error) {
  reading *r = state;
  blis_json_value row = line->row;
  blis_request request = {.number = line->number};
  blis_json_value calls = blis_json_member(row, "sub_requests");
  if (blis_json_has(calls)) {
    return blis_json_fail(calls,
                          "is a chain of calls, which cannot be read; rows "
                          "with input_toks and output_toks can",
                          error);
  }
  BLIS_TRY(blis__trace_time(row, "arrival_time_ns", 1e-3, &request.arrival_us,
                            error));
  BLIS_TRY(
      blis__trace_tokens(row, "input_toks", &request.prompt_tokens, error));
  BLIS_TRY(
      blis__trace_tokens(row, "output_toks", &request.output_tokens, error));
  request.max_output_tokens = request.output_tokens;
  r->segments.count = 0;
  blis_json_value ids = blis_json_member(row, "input_tok_ids");
  if (blis_json_has(ids)) {
    BLIS_TRY(read_ids(r, ids, &request, error));
  }
  return blis_workload_add(r->job->workload, &request) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static blis_status read(const blis__trace_job *job, blis_error *error) {
  reading r = {.job = job, .pieces = blis_intern_new(job->alloc)};
  if (r.pieces == NULL) {
    return blis_fail_nomem(error);
  }
  blis_buffer_init(&r.piece, job->alloc);
  blis_status status = blis__trace_each_line(job, read_row, &r, error);
  blis_buffer_deinit(&r.piece);
  blis_array_deinit(job->alloc, &r.segments);
  blis_intern_free(r.pieces);
  return status;
}

const blis__trace_format blis__trace_llmservingsim = {
    .name = "llmservingsim",
    .text = "JSONL with input_toks, output_toks, arrival_time_ns",
    .recognise = recognise,
    .read = read,
};
