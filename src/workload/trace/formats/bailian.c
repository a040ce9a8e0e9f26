/*
 * The traces of Alibaba's Bailian services (Wang et al., ATC 2025): one JSON object per line with
 * chat_id, parent_chat_id (-1 = none), timestamp (s), input_length, output_length, type, turn (or
 * turn_id), and hash_ids; some also have session_id.
 *
 * Hash id k of a request represents its k-th block of tokens, and the last id represents the rest
 * of the prompt. Published files have blocks of 16 tokens; samples for routing studies have blocks
 * of 512. A file is considered such a sample if no row has more ids than blocks of 512 tokens.
 *
 * A session is identified by session_id, or by the chat at the root of its chain of parents. Turns
 * count from 0 or from 1. If any row has no turn, rounds are in order of time. The type becomes the
 * client.
 */
#include "base/array.h"
#include "base/containers/map.h"
#include "workload/trace/rows/jsonl.h"

enum { USUAL_BLOCK_TOKENS = 16, LARGE_BLOCK_TOKENS = 512 };

/* Data of a row about its session. */
typedef struct chat {
  int64_t id;
  int64_t parent; /* negative = none */
  int64_t line;
  uint32_t session; /* 0 = not resolved yet */
} chat;

typedef struct reading {
  blis__trace_rows rows;
  blis__trace_ids ids; /* of the row */
  /* State that depends on the whole file. */
  BLIS_ARRAY(chat) chats;        /* chats of the rows, until their sessions are resolved */
  BLIS_ARRAY(uint32_t) sessions; /* resolved sessions, by row number */
  blis_map row_of_chat;          /* rows without a session_id, by chat */
  blis__trace_turns turns;
  bool has_small_blocks; /* blocks have USUAL_BLOCK_TOKENS tokens */
} reading;

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' &&
         blis__trace_first_line_has(head, "\"chat_id\"") &&
         blis__trace_first_line_has(head, "\"input_length\"");
}

/* Rows. */

static blis_status note_chat(reading *r, blis_json_value id, const chat *made, blis_error *error) {
  uint64_t *place;
  bool is_new = true;
  if (made->session == 0 && blis_map_add(&r->row_of_chat, (uint64_t)made->id, r->chats.count,
                                         &place, &is_new) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  if (!is_new) {
    return blis_json_fail(id, "is given twice; every row needs its own", error);
  }
  return blis_array_push(r->rows.job->alloc, &r->chats, *made) == BLIS_OK ? BLIS_OK
                                                                          : blis_fail_nomem(error);
}

static blis_status read_chat(reading *r, const blis__trace_line *line, blis_request *request,
                             blis_error *error) {
  blis_json_value id = blis_json_member(line->row, "chat_id");
  blis_json_value parent = blis_json_member(line->row, "parent_chat_id");
  chat made = {.parent = -1, .line = line->line};
  BLIS_TRY(blis__trace_name(r->rows.job, line->row, "session_id", &request->session, error));
  made.session = request->session;
  if (request->session == 0) {
    BLIS_TRY(blis_json_int64(id, 0, INT64_MAX, &made.id, error));
    if (blis_json_has(parent)) {
      BLIS_TRY(blis_json_int64(parent, -1, INT64_MAX, &made.parent, error));
    }
  }
  return r->rows.known == r ? note_chat(r, id, &made, error) : BLIS_OK;
}

static uint32_t count_blocks(uint32_t tokens, uint32_t block_tokens) {
  return tokens / block_tokens + (tokens % block_tokens != 0);
}

/* Determines the block size. A file with too many ids for large blocks has small blocks. */
static blis_status check_blocks(reading *r, const blis__trace_line *line,
                                const blis_request *request, blis_error *error) {
  uint32_t tokens = request->prompt_tokens;
  uint32_t given = r->rows.job->options->hash_block_tokens;
  uint32_t block_tokens = given != 0 ? given : USUAL_BLOCK_TOKENS;
  uint32_t blocks = count_blocks(tokens, block_tokens);
  if (request->segment_count > blocks) {
    return blis__trace_fail_ids(&r->rows, line, request->segment_count, tokens, block_tokens,
                                error);
  }
  r->has_small_blocks =
      r->has_small_blocks || request->segment_count > count_blocks(tokens, LARGE_BLOCK_TOKENS);
  return BLIS_OK;
}

static blis_status read_hash_ids(reading *r, const blis__trace_line *line, blis_request *request,
                                 blis_error *error) {
  BLIS_TRY(blis__trace_read_ids(r->rows.job->alloc, blis_json_member(line->row, "hash_ids"),
                                &r->ids, error));
  request->segments = r->ids.segments.items;
  request->segment_count = (uint32_t)r->ids.segments.count;
  return check_blocks(r, line, request, error);
}

static blis_status read_row(reading *r, const blis__trace_line *line, blis_request *request,
                            blis_error *error) {
  blis_json_value row = line->row;
  *request = (blis_request){.number = line->number};
  BLIS_TRY(blis__trace_time(row, "timestamp", r->rows.clock.unit_us, &request->arrival_us, error));
  blis__trace_note_start(&r->rows, request->arrival_us);
  BLIS_TRY(blis__trace_tokens(row, "input_length", &request->prompt_tokens, error));
  BLIS_TRY(blis__trace_tokens(row, "output_length", &request->output_tokens, error));
  request->max_output_tokens = request->output_tokens;
  BLIS_TRY(blis__trace_name(r->rows.job, row, "type", &request->client, error));
  BLIS_TRY(blis__trace_read_turn(&r->turns, row, &request->round_index, error));
  BLIS_TRY(read_chat(r, line, request, error));
  return read_hash_ids(r, line, request, error);
}

static blis_status next(void *reader, blis_request *row, bool *has_row, blis_error *error) {
  reading *r = reader;
  blis__trace_line line;
  BLIS_TRY(blis__trace_next_json(&r->rows, &line, has_row, error));
  return *has_row ? read_row(r, &line, row, error) : BLIS_OK;
}

/* Sessions. */

/* Finds the parent row that determines the session of a row, if any. */
static bool find_parent(const reading *r, size_t row, size_t *parent) {
  const chat *one = &r->chats.items[row];
  uint64_t found;
  if (one->session != 0 || one->parent < 0 ||
      !blis_map_get(&r->row_of_chat, (uint64_t)one->parent, &found)) {
    return false;
  }
  *parent = (size_t)found;
  return true;
}

/* Resolves the session of a row. A chain of parents ends at a known session, at a root, or at a
   missing chat. */
static blis_status name_session(reading *r, size_t row, uint32_t *session, blis_error *error) {
  const chat *end = &r->chats.items[row];
  *session = end->session;
  if (*session != 0) {
    return BLIS_OK;
  }
  char digits[BLIS_INT64_TEXT_SIZE];
  size_t length = blis_format_int64(end->parent >= 0 ? end->parent : end->id, digits);
  return blis__trace_text(r->rows.job, (blis_slice){digits, length}, session, error);
}

static blis_status resolve_session(reading *r, size_t row, blis_error *error) {
  size_t end = row;
  size_t steps = 0;
  while (find_parent(r, end, &end)) {
    if (++steps > r->chats.count) {
      return blis_fail(error, BLIS_ERR_PARSE,
                       "%s:%lld: key 'parent_chat_id': the parents of chat "
                       "%lld form a cycle",
                       r->rows.job->name, (long long)r->chats.items[row].line,
                       (long long)r->chats.items[row].id);
    }
  }
  uint32_t session;
  BLIS_TRY(name_session(r, end, &session, error));
  size_t next_row = row;
  bool goes_on;
  do {
    row = next_row;
    goes_on = find_parent(r, row, &next_row);
    r->chats.items[row].session = session;
  } while (goes_on);
  return BLIS_OK;
}

static blis_status resolve_sessions(reading *r, blis_error *error) {
  size_t count = r->chats.count;
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(resolve_session(r, i, error));
  }
  BLIS_TRY_MEM(blis_array_reserve(r->rows.job->alloc, &r->sessions, count), error);
  for (size_t i = 0; i < count; i++) {
    r->sessions.items[r->sessions.count++] = r->chats.items[i].session;
  }
  blis_array_deinit(r->rows.job->alloc, &r->chats);
  blis_map_deinit(&r->row_of_chat);
  blis_map_init(&r->row_of_chat, r->rows.job->alloc);
  return BLIS_OK;
}

static blis_status finish(void *reader, blis_error *error) {
  reading *r = reader;
  BLIS_TRY(resolve_sessions(r, error));
  return blis__trace_note_turns(&r->rows, &r->turns, error);
}

static void settle(const void *reader, blis_request *row, blis_segment *segments) {
  const reading *r = reader;
  const reading *known = r->rows.known;
  uint32_t given = r->rows.job->options->hash_block_tokens;
  uint32_t block_tokens = given != 0                ? given
                          : known->has_small_blocks ? USUAL_BLOCK_TOKENS
                                                    : LARGE_BLOCK_TOKENS;
  uint32_t left = row->prompt_tokens;
  for (uint32_t i = 0; i < row->segment_count; i++) {
    segments[i].length_tokens = left < block_tokens ? left : block_tokens;
    left -= segments[i].length_tokens;
  }
  row->shared_tokens = row->prompt_tokens - left;
  if ((size_t)row->number < known->sessions.count) {
    row->session = known->sessions.items[row->number];
  }
  row->round_index = blis__trace_round_of(&known->turns, row->round_index);
  blis__trace_settle_us(reader, row, segments);
}

static bool numbers_rounds(const void *reader) {
  const reading *r = reader;
  return r->turns.missing > 0;
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis_map_deinit(&r->row_of_chat);
  blis_array_deinit(r->rows.job->alloc, &r->chats);
  blis_array_deinit(r->rows.job->alloc, &r->sessions);
  blis__trace_ids_deinit(r->rows.job->alloc, &r->ids);
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  blis_map_init(&r->row_of_chat, r->rows.job->alloc);
  BLIS_TRY(blis__trace_json_clock(&r->rows, "timestamp", 1e6, 0, error));
  return blis__trace_open_text(reader, error);
}

static const char *const fields[] = {"chat_id",       "parent_chat_id", "timestamp", "input_length",
                                     "output_length", "type",           "turn",      "hash_ids",
                                     "turn_id",       "session_id",     NULL};

const blis__trace_format blis__trace_bailian = {
    .name = "bailian",
    .text = "JSONL with chat_id, parent_chat_id, timestamp, hash_ids",
    .recognise = recognise,
    .start = '{',
    .needs = {"\"chat_id\"", "\"input_length\""},
    .fields = fields,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .finish = finish,
    .settle = settle,
    .numbers_rounds = numbers_rounds,
    .close = close_reading,
};
