/*
 * The traces of LLMServingSim (Cho et al., IISWC 2024): one JSON object per line, in one of three
 * forms.
 *
 *   flat         input_toks, output_toks, and arrival_time_ns
 *   multi-call   arrival_time_ns and sub_requests, a list of calls with input_toks, output_toks,
 * and tool_duration_ns measurement  input_toks, output_toks, and arrival_time, in s since 1970
 *
 * The calls of a line are the rounds of a session: the next call arrives tool_duration_ns after the
 * end of the previous one. A trace does not contain this end. Replay at recorded times therefore
 * assumes that only the tools take time, with a note. Arrivals of measurements are relative to the
 * earliest arrival.
 *
 * With input_tok_ids, tokens are compared in pieces of 16. Equal pieces are equal content, so
 * prompts share their common prefix up to a multiple of 16 tokens. Without ids, prompts share
 * nothing.
 */
#include <stdio.h>

#include "base/array.h"
#include "base/buffer.h"
#include "workload/trace/rows/jsonl.h"

enum { PIECE_TOKENS = 16, NAME_SIZE = 40 };

typedef struct reading {
  blis__trace_rows rows;
  blis__segment_list segments; /* segments of one row */
  blis_buffer piece;           /* ids of the piece, 4 bytes each */
  blis_intern *pieces;         /* number of a piece, which is its stream */
  int64_t count;               /* number of requests */
  /* The session of the line that is being read. */
  blis_json_value calls;
  size_t call_count;
  size_t next_call;
  uint32_t session;
  int64_t arrival_us;         /* arrival of the next call */
  int64_t think_us;           /* before it */
  BLIS_ARRAY(int32_t) rounds; /* number of rounds so far, by session */
  /* State that depends on the whole file. */
  int64_t later_calls; /* number of requests that are not the first of a line */
  bool is_measured;
} reading;

static const char *const call_fields[] = {"input_toks",    "output_toks",    "tool_duration_ns",
                                          "input_tok_ids", "output_tok_ids", NULL};

/* Fields of all forms, including measured times that only calibration reads. */
static const char *const row_fields[] = {"request_id",     "input_toks",
                                         "output_toks",    "arrival_time_ns",
                                         "arrival_time",   "input_tok_ids",
                                         "output_tok_ids", "session_id",
                                         "sub_requests",   "queued_ts",
                                         "scheduled_ts",   "first_token_ts",
                                         "last_token_ts",  NULL};

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' &&
         (blis__trace_first_line_has(head, "\"input_toks\"") ||
          blis__trace_first_line_has(head, "\"sub_requests\""));
}

static blis_status add_piece(reading *r, blis_error *error) {
  uint32_t stream;
  blis_segment segment = {.length_tokens = (uint32_t)(r->piece.length / sizeof(uint32_t))};
  BLIS_TRY_MEM(blis_buffer_status(&r->piece), error);
  BLIS_TRY_MEM(blis_intern_add(r->pieces, r->piece.data, r->piece.length, &stream), error);
  segment.stream = stream;
  blis_buffer_clear(&r->piece);
  return blis_array_push(r->rows.job->alloc, &r->segments, segment) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static blis_status read_ids(reading *r, blis_json_value ids, blis_request *request,
                            blis_error *error) {
  BLIS_TRY(blis_json_need_array(ids, error));
  size_t count = blis_json_count(ids);
  if (count != request->prompt_tokens) {
    return blis_json_fail(ids, "does not have as many ids as input_toks says", error);
  }
  size_t piece_tokens = r->rows.job->options->hash_block_tokens != 0
                            ? r->rows.job->options->hash_block_tokens
                            : PIECE_TOKENS;
  for (size_t i = 0; i < count; i++) {
    int64_t id;
    BLIS_TRY(blis_json_int64(blis_json_item(ids, i), 0, UINT32_MAX, &id, error));
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

/* Reads the lengths and content of a row or call. */
static blis_status read_call(reading *r, blis_json_value call, blis_request *request,
                             blis_error *error) {
  *request = (blis_request){.number = r->count++};
  BLIS_TRY(blis__trace_tokens(call, "input_toks", &request->prompt_tokens, error));
  BLIS_TRY(blis__trace_tokens(call, "output_toks", &request->output_tokens, error));
  request->max_output_tokens = request->output_tokens;
  r->segments.count = 0;
  blis_json_value ids = blis_json_member(call, "input_tok_ids");
  return blis_json_has(ids) ? read_ids(r, ids, request, error) : BLIS_OK;
}

/* Reads a time. The first line determines whether times are on the clock of the file or since
   1970. */
static blis_status read_time(reading *r, const blis__trace_line *line, int64_t *arrival_us,
                             blis_error *error) {
  bool has_epoch = blis_json_has(blis_json_member(line->row, "arrival_time"));
  bool has_own = blis_json_has(blis_json_member(line->row, "arrival_time_ns"));
  if (line->number == 0) {
    r->is_measured = has_epoch && !has_own;
  } else if (r->is_measured ? has_own && !has_epoch : has_epoch && !has_own) {
    const char *const names[] = {"arrival_time_ns", "arrival_time"};
    return blis_fail(error, BLIS_ERR_PARSE,
                     "%s:%lld: the row has %s but earlier rows have %s; all "
                     "must have the same",
                     r->rows.job->name, (long long)line->line, names[!r->is_measured],
                     names[r->is_measured]);
  }
  BLIS_TRY(r->is_measured
               ? blis__trace_time(line->row, "arrival_time", 1e6, arrival_us, error)
               : blis__trace_time(line->row, "arrival_time_ns", 1e-3, arrival_us, error));
  blis__trace_note_start(&r->rows, *arrival_us);
  return BLIS_OK;
}

/* Calls. */

static blis_status name_session(reading *r, const blis__trace_line *line, blis_error *error) {
  BLIS_TRY(blis__trace_name(r->rows.job, line->row, "session_id", &r->session, error));
  if (r->session == 0) {
    char name[NAME_SIZE];
    int length = snprintf(name, sizeof name, "line_%lld", (long long)line->line);
    BLIS_TRY(blis__trace_text(r->rows.job, (blis_slice){name, (size_t)length}, &r->session, error));
  }
  while (r->rounds.count <= r->session) {
    BLIS_TRY_MEM(blis_array_push(r->rows.job->alloc, &r->rounds, 0), error);
  }
  return BLIS_OK;
}

static blis_status start_calls(reading *r, const blis__trace_line *line, blis_json_value calls,
                               blis_error *error) {
  BLIS_TRY(blis_json_need_array(calls, error));
  r->calls = calls;
  r->call_count = blis_json_count(calls);
  r->next_call = 0;
  r->think_us = 0;
  if (r->call_count == 0) {
    return blis_json_fail(calls, "is empty; a row needs at least one call", error);
  }
  BLIS_TRY(read_time(r, line, &r->arrival_us, error));
  return name_session(r, line, error);
}

static blis_status next_call(reading *r, blis_request *request, blis_error *error) {
  blis_json_value call = blis_json_item(r->calls, r->next_call);
  bool is_first = r->next_call++ == 0;
  bool is_last = r->next_call == r->call_count;
  BLIS_TRY(blis_json_need_object(call, error));
  blis__trace_see_members(&r->rows, call, call_fields);
  BLIS_TRY(read_call(r, call, request, error));
  request->arrival_us = r->arrival_us;
  request->session = r->session;
  request->round_index = r->rounds.items[r->session]++;
  request->think_us = r->think_us;
  request->has_think_time = !is_first;
  r->later_calls += !is_first;
  blis_json_value tool = blis_json_member(call, "tool_duration_ns");
  if (is_last && !blis_json_has(tool)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis__trace_time(call, "tool_duration_ns", 1e-3, &r->think_us, error));
  r->arrival_us += r->think_us;
  return BLIS_OK;
}

static blis_status next(void *reader, blis_request *row, bool *has_row, blis_error *error) {
  reading *r = reader;
  *has_row = true;
  if (r->next_call < r->call_count) {
    return next_call(r, row, error);
  }
  blis__trace_line line;
  BLIS_TRY(blis__trace_next_json(&r->rows, &line, has_row, error));
  if (!*has_row) {
    return BLIS_OK;
  }
  blis_json_value calls = blis_json_member(line.row, "sub_requests");
  if (blis_json_has(calls)) {
    BLIS_TRY(start_calls(r, &line, calls, error));
    return next_call(r, row, error);
  }
  BLIS_TRY(read_call(r, line.row, row, error));
  return read_time(r, &line, &row->arrival_us, error);
}

static blis_status finish(void *reader, blis_error *error) {
  reading *r = reader;
  return blis__trace_note(
      &r->rows, "calls that wait for the previous one, whose duration is unknown", r->later_calls,
      "; unless sessions are replayed in a closed loop, only tool time "
      "separates them",
      error);
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis_buffer_deinit(&r->piece);
  blis_array_deinit(r->rows.job->alloc, &r->segments);
  blis_array_deinit(r->rows.job->alloc, &r->rounds);
  blis_intern_free(r->pieces);
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  blis_buffer_init(&r->piece, r->rows.job->alloc);
  r->pieces = blis_intern_new(r->rows.job->alloc);
  BLIS_TRY_NEW(r->pieces, error);
  return blis__trace_open_text(reader, error);
}

const blis__trace_format blis__trace_llmservingsim = {
    .name = "llmservingsim",
    .text = "JSONL with input_toks, output_toks, arrival_time_ns; or calls",
    .recognise = recognise,
    .start = '{',
    .needs = {"\"input_toks\""},
    .fields = row_fields,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .finish = finish,
    .settle = blis__trace_settle_us,
    .close = close_reading,
};
