/*
 * Conversations with one turn and its new content per line. The rows of a session_id are its turns,
 * in file order. A prompt consists of the previous prompt, its response, and input_length new
 * tokens. The first turn arrives at timestamp (ms); each later turn arrives delay (ms) after the
 * end of the previous turn. With a timestamp and no delay, the delay is the difference of the
 * timestamps. A row without session_id is a separate conversation. Without input_length, tokens are
 * derived from the bytes of text_input, text, texts, or messages.
 *
 * Each hash id represents 512 new tokens and is shared by the whole file. Only the ids of first
 * turns matter, because a prompt that contains a response is unique.
 */
#include <stdlib.h>

#include "workload/graph/blocks.h"
#include "workload/graph/format.h"

enum { HASH_BLOCK_TOKENS = 512 };

typedef struct turn {
  uint32_t session; /* number of the session, in order of first rows */
  uint32_t name;    /* number in strings */
  int64_t line;
  int64_t start_us; /* start of the session; -1 = none */
  int64_t delay_us;
  uint32_t prompt_tokens; /* new ones */
  uint32_t output_tokens;
  uint32_t first_id;
  uint32_t id_count;
} turn;

typedef struct session {
  int64_t start_us;
  int64_t last_us; /* last timestamp of any turn */
} session;

typedef struct reading {
  blis__graph_rows rows;
  blis__blocks blocks;
  uint32_t block_tokens;
  blis_map by_name; /* sessions, by the string number of their session_id */
  BLIS_ARRAY(session) sessions;
  BLIS_ARRAY(turn) turns;
  size_t next;
} reading;

/* Detects the format. Rows with whole prompts look similar, but have no delays. */
static bool recognise(blis_slice head) {
  static const char *const words[] = {"\"session_id\"", "\"input_length\"", "\"delay\"", NULL};
  static const char *const spelled[] = {"\"session_id\"", "\"input_length\"", "\"delay_ms\"", NULL};
  static const char *const input[] = {"\"text_input\"", NULL};
  static const char *const text[] = {"\"text\"", "\"output_length\"", NULL};
  static const char *const list[] = {"\"texts\"", "\"output_length\"", NULL};
  static const char *const chat[] = {"\"messages\"", "\"output_length\"", NULL};
  static const char *const turns[] = {"\"turns\"", NULL}; /* a session per row: aiperf-turns */
  bool has_text = blis__graph_head_has(head, input) || blis__graph_head_has(head, text) ||
                  blis__graph_head_has(head, list) || blis__graph_head_has(head, chat);
  return blis__graph_head_has(head, words) || blis__graph_head_has(head, spelled) ||
         (has_text && head.data[0] == '{' && !blis__graph_head_has(head, turns));
}

static const char *const fields[] = {"session_id", "timestamp",    "delay",         "delay_ms",
                                     "hash_ids",   "input_length", "output_length", "text_input",
                                     "text",       "texts",        "messages",      NULL};
static const char *const texts[] = {"text_input", "text", "texts", "messages", NULL};

/* Finds the session of a row. A new session starts at the time of the row. */
static blis_status find_session(reading *r, turn *made, int64_t time_us, blis_error *error) {
  uint64_t *number;
  bool is_new = true;
  made->session = (uint32_t)r->sessions.count;
  if (made->name == 0) {
    BLIS_TRY_MEM(blis__graph_text(&r->rows, &made->name, "line_%lld", (long long)made->line),
                 error);
  } else {
    BLIS_TRY_MEM(blis_map_add(&r->by_name, made->name, r->sessions.count, &number, &is_new), error);
    made->session = (uint32_t)*number;
  }
  if (is_new) {
    const session one = {.start_us = time_us, .last_us = -1};
    BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->sessions, one), error);
  }
  return BLIS_OK;
}

static blis_status read_times(reading *r, blis_json_value object, turn *made, blis_error *error) {
  int64_t time_us = -1;
  int64_t delay_us = -1;
  BLIS_TRY(blis__graph_time(object, "timestamp", 1e3, &time_us, error));
  BLIS_TRY(blis__graph_either_time(object, "delay", "delay_ms", 1e3, &delay_us, error));
  BLIS_TRY(find_session(r, made, time_us, error));
  session *s = &r->sessions.items[made->session];
  if (time_us >= 0 && time_us < s->last_us) {
    return blis_json_fail(blis_json_member(object, "timestamp"),
                          "is before that of an earlier turn of its session", error);
  }
  if (delay_us < 0 && time_us >= 0 && s->last_us >= 0) {
    delay_us = time_us - s->last_us;
  }
  made->delay_us = delay_us > 0 ? blis__graph_capped(&r->rows, delay_us) : 0;
  s->last_us = time_us >= 0 ? time_us : s->last_us;
  return BLIS_OK;
}

/* Reads the new tokens of a prompt: a count, or the tokens of a text. */
static blis_status read_prompt(reading *r, blis_json_value object, uint32_t *tokens,
                               blis_error *error) {
  blis_json_value text = blis__graph_first(object, texts);
  size_t bytes = 0;
  if (!blis_json_has(text) || blis_json_has(blis_json_member(object, "input_length"))) {
    BLIS_TRY(blis__graph_need(object, "input_length", error));
    return blis__graph_tokens(object, "input_length", tokens, error);
  }
  BLIS_TRY(blis__graph_text_bytes(text, &bytes, error));
  *tokens = blis__graph_tokens_of_bytes(&r->rows, bytes);
  r->rows.known->estimated += r->rows.known->is_first;
  return BLIS_OK;
}

static blis_status read_row(reading *r, blis_json_value object, int64_t line, blis_error *error) {
  turn made = {.line = line};
  blis__graph_see(&r->rows, object, fields);
  BLIS_TRY(blis__graph_name(&r->rows, object, "session_id", &made.name, error));
  BLIS_TRY(read_prompt(r, object, &made.prompt_tokens, error));
  BLIS_TRY(blis__graph_need(object, "output_length", error));
  BLIS_TRY(blis__graph_tokens(object, "output_length", &made.output_tokens, error));
  BLIS_TRY(blis__blocks_read(&r->blocks, blis_json_member(object, "hash_ids"), &made.first_id,
                             &made.id_count, error));
  uint32_t full = made.prompt_tokens / r->block_tokens;
  if (made.id_count > full + 1) {
    r->rows.known->excess_ids += r->rows.known->is_first;
  }
  made.id_count = made.id_count > full ? full : made.id_count;
  BLIS_TRY(read_times(r, object, &made, error));
  BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->turns, made), error);
  return BLIS_OK;
}

static int compare_turns(const void *a, const void *b) {
  const turn *left = a;
  const turn *right = b;
  if (left->start_us != right->start_us) {
    return left->start_us < right->start_us ? -1 : 1;
  }
  if (left->session != right->session) {
    return left->session < right->session ? -1 : 1;
  }
  return (left->line > right->line) - (left->line < right->line);
}

/* Sorts sessions by start, and turns in file order. */
static void sort_turns(reading *r) {
  for (size_t i = 0; i < r->turns.count; i++) {
    turn *one = &r->turns.items[i];
    one->start_us = r->sessions.items[one->session].start_us;
  }
  if (r->turns.count > 1) {
    qsort(r->turns.items, r->turns.count, sizeof *r->turns.items, compare_turns);
  }
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  uint32_t given = r->rows.options->hash_block_tokens;
  r->block_tokens = given != 0 ? given : HASH_BLOCK_TOKENS;
  blis__blocks_init(&r->blocks, r->rows.alloc);
  blis_map_init(&r->by_name, r->rows.alloc);
  bool has_line = true;
  while (has_line) {
    blis_json_value object;
    int64_t line;
    BLIS_TRY(blis__graph_next_object(&r->rows, &object, &line, &has_line, error));
    if (has_line) {
      BLIS_TRY(read_row(r, object, line, error));
    }
  }
  sort_turns(r);
  return BLIS_OK;
}

static blis_status add_turn(reading *r, const turn *t, uint32_t round, blis_error *error) {
  const uint32_t before = round - 1;
  blis_graph_node node = {.request = {.prompt_tokens = t->prompt_tokens,
                                      .output_tokens = t->output_tokens,
                                      .max_output_tokens = t->output_tokens,
                                      .session = t->name,
                                      .round_index = (int32_t)round},
                          .delay_us = round > 0 ? t->delay_us : 0,
                          .extends = round > 0 ? before : BLIS_GRAPH_NO_NODE};
  if (round == 0) {
    BLIS_TRY(blis__blocks_segments(&r->blocks, t->first_id, t->id_count, BLIS__BLOCKS_GLOBAL,
                                   r->block_tokens, &node.request, error));
    node.request.prompt_tokens -= node.request.shared_tokens;
  }
  return blis__graph_add(&r->rows, t->line, &node, true, &before, round > 0, error);
}

static blis_status next(void *reader, blis_graph *graph, bool *done, blis_error *error) {
  reading *r = reader;
  *done = r->next == r->turns.count;
  if (*done) {
    return BLIS_OK;
  }
  const turn *first = &r->turns.items[r->next];
  blis_graph_builder_clear(&r->rows.builder);
  for (uint32_t round = 0;
       r->next < r->turns.count && r->turns.items[r->next].session == first->session; round++) {
    BLIS_TRY(add_turn(r, &r->turns.items[r->next++], round, error));
  }
  *graph = blis_graph_builder_get(&r->rows.builder, first->name, first->start_us);
  return BLIS_OK;
}

static void close_reading(void *reader) {
  reading *r = reader;
  const blis_alloc *alloc = r->rows.alloc;
  blis__blocks_deinit(&r->blocks);
  blis_map_deinit(&r->by_name);
  blis_array_deinit(alloc, &r->sessions);
  blis_array_deinit(alloc, &r->turns);
}

const blis__graph_format blis__graph_mooncake_delta = {
    .name = "mooncake-delta",
    .text = "JSONL of turns with session_id, delay, and the new tokens of each "
            "as input_length",
    .needs = "\"session_id\", \"input_length\", and \"delay\"; or a text with \"output_length\"",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .close = close_reading,
};
