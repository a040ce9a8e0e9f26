/*
 * The traces published with Mooncake (Qin et al., FAST 2025): one JSON object per line with
 * timestamp (ms), input_length, output_length, and hash_ids. Conversations additionally have
 * session_id and turn_id (or turn).
 *
 * Hash id k of a request represents its tokens [512 k, 512 k + 512), and the last id represents the
 * rest of the prompt. Equal ids mean equal tokens, so each id is a stream of content. If a request
 * has fewer ids than blocks, the remaining tokens are unique. More ids than blocks are an error.
 */
#include "workload/trace/rows/jsonl.h"

enum { HASH_BLOCK_TOKENS = 512 };

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' &&
         blis__trace_first_line_has(head, "\"timestamp\"") &&
         blis__trace_first_line_has(head, "\"input_length\"") &&
         !blis__trace_first_line_has(head, "\"chat_id\"");
}

typedef struct reading {
  blis__trace_rows rows;
  uint32_t block_tokens;
  blis__trace_ids ids;     /* of the row */
  blis__trace_turns turns; /* turns of rows with a session */
} reading;

static blis_status set_content(reading *r, const blis__trace_line *line, blis_request *request,
                               blis_error *error) {
  uint32_t left = request->prompt_tokens;
  size_t blocks = ((size_t)left + r->block_tokens - 1) / r->block_tokens;
  size_t count = r->ids.segments.count;
  if (count > blocks) {
    return blis__trace_fail_ids(&r->rows, line, count, left, r->block_tokens, error);
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t length = left < r->block_tokens ? left : r->block_tokens;
    r->ids.segments.items[i].length_tokens = length;
    left -= length;
  }
  request->segments = r->ids.segments.items;
  request->segment_count = (uint32_t)count;
  request->shared_tokens = request->prompt_tokens - left;
  return BLIS_OK;
}

static blis_status set_session(reading *r, blis_json_value row, blis_request *request,
                               blis_error *error) {
  BLIS_TRY(blis__trace_name(r->rows.job, row, "session_id", &request->session, error));
  return request->session == 0
             ? BLIS_OK
             : blis__trace_read_turn(&r->turns, row, &request->round_index, error);
}

static blis_status next(void *reader, blis_request *request, bool *has_row, blis_error *error) {
  reading *r = reader;
  blis__trace_line line;
  BLIS_TRY(blis__trace_next_json(&r->rows, &line, has_row, error));
  if (!*has_row) {
    return BLIS_OK;
  }
  *request = (blis_request){.number = line.number};
  BLIS_TRY(
      blis__trace_time(line.row, "timestamp", r->rows.clock.unit_us, &request->arrival_us, error));
  blis__trace_note_start(&r->rows, request->arrival_us);
  BLIS_TRY(blis__trace_tokens(line.row, "input_length", &request->prompt_tokens, error));
  BLIS_TRY(blis__trace_tokens(line.row, "output_length", &request->output_tokens, error));
  request->max_output_tokens = request->output_tokens;
  BLIS_TRY(set_session(r, line.row, request, error));
  BLIS_TRY(blis__trace_read_ids(r->rows.job->alloc, blis_json_member(line.row, "hash_ids"), &r->ids,
                                error));
  return set_content(r, &line, request, error);
}

static blis_status finish(void *reader, blis_error *error) {
  reading *r = reader;
  return blis__trace_note_turns(&r->rows, &r->turns, error);
}

static void settle(const void *reader, blis_request *row, blis_segment *segments) {
  const reading *r = reader;
  const reading *known = r->rows.known;
  blis__trace_settle_us(reader, row, segments);
  if (row->session != 0) {
    row->round_index = blis__trace_round_of(&known->turns, row->round_index);
  }
}

static bool numbers_rounds(const void *reader) {
  const reading *r = reader;
  return r->turns.missing > 0;
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis__trace_ids_deinit(r->rows.job->alloc, &r->ids);
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  uint32_t given = r->rows.job->options->hash_block_tokens;
  r->block_tokens = given != 0 ? given : HASH_BLOCK_TOKENS;
  BLIS_TRY(blis__trace_json_clock(&r->rows, "timestamp", 1000, 0, error));
  return blis__trace_open_text(reader, error);
}

static const char *const fields[] = {"timestamp",  "input_length", "output_length", "hash_ids",
                                     "session_id", "turn_id",      "turn",          NULL};

const blis__trace_format blis__trace_mooncake = {
    .name = "mooncake",
    .text = "JSONL with timestamp, input_length, output_length, hash_ids",
    .recognise = recognise,
    .start = '{',
    .needs = {"\"timestamp\"", "\"input_length\""},
    .fields = fields,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .finish = finish,
    .settle = settle,
    .numbers_rounds = numbers_rounds,
    .close = close_reading,
};
