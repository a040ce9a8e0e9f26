/*
 * The traces of Alibaba's Bailian services (Wang et al., ATC 2025): one JSON
 * object per line with chat_id, parent_chat_id (-1 = none), timestamp (s),
 * input_length, output_length, type, turn (or turn_id) and hash_ids; some have
 * session_id.
 *
 * Hash id k of a request stands for its k-th block of tokens, the last one for
 * what is left of the prompt. Published files have blocks of 16 tokens, samples
 * made for routing studies 512; a file in which no row has more ids than blocks
 * of 512 is one of those.
 *
 * A session is named, or it is the chat at the root of its parents. Turns count
 * from 0 or from 1; when some row has none, rounds are in order of time. The
 * type is kept as the client.
 */
#include <stdio.h>

#include "base/map.h"
#include "workload/trace_jsonl.h"
#include "workload/trace_rows.h"
#include "workload/trace_segments.h"

enum { USUAL_BLOCK_TOKENS = 16, LARGE_BLOCK_TOKENS = 512 };

/* What a row says beside its request. */
typedef struct chat {
  int64_t id;
  int64_t parent; /* < 0: none */
  int64_t line;
} chat;

typedef struct reading {
  const blis__trace_job *job;
  blis__trace_rows rows;
  BLIS_ARRAY(chat) chats;      /* of the rows */
  blis__segment_list segments; /* of all rows; streams, later lengths, too */
  blis_map row_of_chat;        /* of rows whose session is not named */
  size_t without_turn;         /* rows */
  bool counts_from_zero;       /* turns */
} reading;

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' &&
         blis__trace_first_line_has(head, "\"chat_id\"") &&
         blis__trace_first_line_has(head, "\"input_length\"");
}

/* Rows. */

static blis_status read_turn(reading *r, blis_json_value row,
                             blis_request *request, blis_error *error) {
  blis_json_value turn = blis_json_member(row, "turn");
  if (!blis_json_has(turn)) {
    turn = blis_json_member(row, "turn_id");
  }
  if (!blis_json_has(turn)) {
    r->without_turn++;
    return BLIS_OK;
  }
  int64_t value;
  BLIS_TRY(blis_json_int64(turn, 0, INT32_MAX, &value, error));
  request->round_index = (int32_t)value;
  r->counts_from_zero = r->counts_from_zero || value == 0;
  return BLIS_OK;
}

static blis_status read_chat(reading *r, const blis__trace_line *line,
                             blis_request *request, blis_error *error) {
  blis_json_value id = blis_json_member(line->row, "chat_id");
  blis_json_value parent = blis_json_member(line->row, "parent_chat_id");
  chat made = {.parent = -1, .line = line->line};
  BLIS_TRY(blis__trace_name(r->job, line->row, "session_id", &request->session,
                            error));
  if (request->session == 0) {
    BLIS_TRY(blis_json_int64(id, 0, INT64_MAX, &made.id, error));
    if (blis_json_has(parent)) {
      BLIS_TRY(blis_json_int64(parent, -1, INT64_MAX, &made.parent, error));
    }
    uint64_t *place;
    bool is_new;
    if (blis_map_add(&r->row_of_chat, (uint64_t)made.id, r->rows.count, &place,
                     &is_new) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
    if (!is_new) {
      return blis_json_fail(id, "is there twice; every row needs its own",
                            error);
    }
  }
  return blis_array_push(r->job->alloc, &r->chats, made) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static blis_status read_hash_ids(reading *r, blis_json_value ids,
                                 blis_request *request, blis_error *error) {
  if (!blis_json_has(ids)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_need_array(ids, error));
  size_t count = blis_json_count(ids);
  for (size_t i = 0; i < count; i++) {
    int64_t id;
    BLIS_TRY(blis_json_int64(blis_json_item(ids, i), 0, INT64_MAX, &id, error));
    blis_segment segment = {.stream = (uint64_t)id};
    if (blis_array_push(r->job->alloc, &r->segments, segment) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  request->segment_count = (uint32_t)count;
  return BLIS_OK;
}

static blis_status read_row(void *state, const blis__trace_line *line,
                            blis_error *error) {
  reading *r = state;
  blis_json_value row = line->row;
  blis_request request = {.number = line->number};
  BLIS_TRY(blis__trace_time(row, "timestamp", 1e6, &request.arrival_us, error));
  BLIS_TRY(
      blis__trace_tokens(row, "input_length", &request.prompt_tokens, error));
  BLIS_TRY(
      blis__trace_tokens(row, "output_length", &request.output_tokens, error));
  request.max_output_tokens = request.output_tokens;
  BLIS_TRY(blis__trace_name(r->job, row, "type", &request.client, error));
  BLIS_TRY(read_turn(r, row, &request, error));
  BLIS_TRY(read_chat(r, line, &request, error));
  BLIS_TRY(
      read_hash_ids(r, blis_json_member(row, "hash_ids"), &request, error));
  return blis_array_push(r->job->alloc, &r->rows, request) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

/* Content. */

static uint32_t count_blocks(uint32_t tokens, uint32_t block_tokens) {
  return tokens / block_tokens + (tokens % block_tokens != 0);
}

static uint32_t choose_block_tokens(const reading *r) {
  if (r->job->options->hash_block_tokens != 0) {
    return r->job->options->hash_block_tokens;
  }
  for (size_t i = 0; i < r->rows.count; i++) {
    const blis_request *row = &r->rows.items[i];
    if (row->segment_count >
        count_blocks(row->prompt_tokens, LARGE_BLOCK_TOKENS)) {
      return USUAL_BLOCK_TOKENS;
    }
  }
  return LARGE_BLOCK_TOKENS;
}

static blis_status measure_blocks(reading *r, blis_error *error) {
  uint32_t block_tokens = choose_block_tokens(r);
  blis_segment *segment = r->segments.items;
  for (size_t i = 0; i < r->rows.count; i++) {
    blis_request *row = &r->rows.items[i];
    uint32_t left = row->prompt_tokens;
    uint32_t blocks = count_blocks(left, block_tokens);
    if (row->segment_count > blocks) {
      return blis_fail(error, BLIS_ERR_PARSE,
                       "%s:%lld: key \"hash_ids\" has %u ids; %u tokens in "
                       "blocks of %u need %u",
                       r->job->path, (long long)r->chats.items[i].line,
                       row->segment_count, left, block_tokens, blocks);
    }
    for (uint32_t k = 0; k < row->segment_count; k++, segment++) {
      segment->length_tokens = left < block_tokens ? left : block_tokens;
      left -= segment->length_tokens;
    }
    row->shared_tokens = row->prompt_tokens - left;
  }
  return BLIS_OK;
}

/* Sessions. */

/* Whether the session of a row is that of another one, its parent. */
static bool find_parent(const reading *r, size_t row, size_t *parent) {
  uint64_t found;
  if (r->rows.items[row].session != 0 || r->chats.items[row].parent < 0 ||
      !blis_map_get(&r->row_of_chat, (uint64_t)r->chats.items[row].parent,
                    &found)) {
    return false;
  }
  *parent = (size_t)found;
  return true;
}

/* A chain ends in a known session, in a root, or in a chat that is not there.
 */
static blis_status name_session(reading *r, size_t row, uint32_t *session,
                                blis_error *error) {
  *session = r->rows.items[row].session;
  if (*session != 0) {
    return BLIS_OK;
  }
  const chat *end = &r->chats.items[row];
  char digits[BLIS_INT64_TEXT_SIZE];
  size_t length =
      blis_format_int64(end->parent >= 0 ? end->parent : end->id, digits);
  return blis__trace_text(r->job, (blis_slice){digits, length}, session, error);
}

static blis_status resolve_session(reading *r, size_t row, blis_error *error) {
  size_t end = row;
  size_t steps = 0;
  while (find_parent(r, end, &end)) {
    if (++steps > r->rows.count) {
      return blis_fail(error, BLIS_ERR_PARSE,
                       "%s:%lld: key \"parent_chat_id\": the parents of chat "
                       "%lld never end",
                       r->job->path, (long long)r->chats.items[row].line,
                       (long long)r->chats.items[row].id);
    }
  }
  uint32_t session;
  BLIS_TRY(name_session(r, end, &session, error));
  size_t next = row;
  bool goes_on;
  do {
    row = next;
    goes_on = find_parent(r, row, &next);
    r->rows.items[row].session = session;
  } while (goes_on);
  return BLIS_OK;
}

static blis_status set_rounds(reading *r, blis_error *error) {
  if (r->without_turn == 0) {
    for (size_t i = 0; i < r->rows.count; i++) {
      r->rows.items[i].round_index -= r->counts_from_zero ? 0 : 1;
    }
    return BLIS_OK;
  }
  if (blis_workload_note(r->job->workload,
                         "%s: rows without a turn: %zu; the rounds of a "
                         "session are taken in order of time",
                         r->job->path, r->without_turn) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return blis__trace_number_rounds(r->job->alloc, &r->rows, error);
}

static blis_status read_rows(reading *r, blis_error *error) {
  BLIS_TRY(blis__trace_each_line(r->job, read_row, r, error));
  BLIS_TRY(measure_blocks(r, error));
  for (size_t i = 0; i < r->rows.count; i++) {
    BLIS_TRY(resolve_session(r, i, error));
  }
  BLIS_TRY(set_rounds(r, error));
  return blis__trace_add_rows(r->job, &r->rows, r->segments.items, error);
}

static blis_status read(const blis__trace_job *job, blis_error *error) {
  reading r = {.job = job};
  blis_map_init(&r.row_of_chat, job->alloc);
  blis_status status = read_rows(&r, error);
  blis_map_deinit(&r.row_of_chat);
  blis_array_deinit(job->alloc, &r.rows);
  blis_array_deinit(job->alloc, &r.chats);
  blis_array_deinit(job->alloc, &r.segments);
  return status;
}

const blis__trace_format blis__trace_bailian = {
    .name = "bailian",
    .text = "JSONL with chat_id, parent_chat_id, timestamp, hash_ids",
    .recognise = recognise,
    .read = read,
};
