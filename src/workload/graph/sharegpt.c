/*
 * Conversations with texts, in a JSON list or one per line:
 *
 *   {"id": ..., "conversations": [{"from": "human", "value": ...}, ...]}         ShareGPT
 *   {"conversation_id": ..., "conversation": [{"role", "content"}, ...]}         LMSYS, WildChat
 *   {"messages": [{"role": ..., "content": ...}, ...]}                           OpenAI
 *   {"question_id": ..., "conversation_a": [...], "conversation_b": [...]}       Chatbot Arena
 *   {"rows": [{"row": a conversation}, ...]}               rows of a data set of Hugging Face
 *
 * The turns of users, systems, and tools up to a response are the new text of a request. Each
 * response is the output of a request, and the next request extends it. Tokens are derived from
 * bytes (4 per token by default). A content is a string, null, or a list of parts with texts.
 *
 * A conversation starts at the first recorded time of its turns (WildChat), or at its own
 * ("timestamp", "tstamp"). Starts are used if every conversation has one.
 */
#include <stdlib.h>

#include "workload/graph/format.h"
#include "workload/workload.h"

typedef struct exchange {
  uint32_t question; /* number of new tokens in the prompt */
  uint32_t answer;
} exchange;

typedef struct conversation {
  uint32_t name; /* number in strings */
  uint32_t order;
  int64_t line;
  int64_t start_us; /* -1 = unknown */
  size_t first;     /* index of the first exchange */
  size_t count;
} conversation;

typedef struct reading {
  blis__graph_rows rows;
  int64_t line; /* that is being read */
  bool is_list; /* the conversation is an item of a list; otherwise it has its own line */
  BLIS_ARRAY(exchange) exchanges;
  BLIS_ARRAY(conversation) conversations;
  uint32_t seen;  /* number of conversations, with or without a response */
  bool has_times; /* every conversation has a start */
  size_t next;
} reading;

static const char *const lists[] = {"conversations", "conversation", "messages", NULL};
static const char *const names[] = {"id", "conversation_id", "conversation_hash", "question_id",
                                    NULL};
static const char *const roles[] = {"from", "role", NULL};
static const char *const texts[] = {"value", "content", NULL};
static const char *const times[] = {"timestamp", "tstamp", NULL};

static bool recognise(blis_slice head) {
  static const char *const layouts[][3] = {{"\"conversations\"", "\"from\"", NULL},
                                           {"\"conversation\"", "\"role\"", NULL},
                                           {"\"conversation_a\"", "\"role\"", NULL},
                                           {"\"messages\"", "\"role\"", NULL}};
  /* Rows of single requests, which have the length of their response (mooncake-delta). */
  static const char *const request[] = {"\"messages\"", "\"output_length\"", NULL};
  bool is_json = head.length > 0 && (head.data[0] == '[' || head.data[0] == '{') &&
                 !blis__graph_head_has(head, request);
  for (size_t i = 0; is_json && i < sizeof layouts / sizeof *layouts; i++) {
    if (blis__graph_head_has(head, layouts[i])) {
      return true;
    }
  }
  return false;
}

static blis_status read_turn(const reading *r, blis_json_value turn, bool *is_answer,
                             uint32_t *tokens, blis_error *error) {
  static const char *const models[] = {"gpt", "assistant", "chatgpt", "bing", "bard", "model"};
  blis_slice from;
  size_t bytes = 0;
  BLIS_TRY(blis_json_need_object(turn, error));
  BLIS_TRY(blis_json_text(blis__graph_first(turn, roles), &from, error));
  *is_answer = false;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    *is_answer = *is_answer || blis_slice_equals(from, models[i]);
  }
  blis_json_value content = blis__graph_first(turn, texts);
  bool is_call = *is_answer && !blis_json_has(content); /* of a tool, without a text */
  if (!is_call) {
    BLIS_TRY(blis__graph_text_bytes(content, &bytes, error));
  }
  *tokens = blis__graph_tokens_of_bytes(&r->rows, bytes);
  return BLIS_OK;
}

static blis_status read_start(blis_json_value object, int64_t *start_us, blis_error *error) {
  blis_json_value time = blis__graph_first(object, times);
  return *start_us >= 0 || !blis_json_has(time) ? BLIS_OK
                                                : blis__graph_clock(time, start_us, error);
}

static blis_status read_turns(reading *r, blis_json_value turns, conversation *made,
                              blis_error *error) {
  uint32_t question = 0;
  BLIS_TRY(blis_json_need_array(turns, error));
  for (size_t i = 0; i < blis_json_count(turns); i++) {
    bool is_answer;
    uint32_t tokens;
    blis_json_value turn = blis_json_item(turns, i);
    BLIS_TRY(read_turn(r, turn, &is_answer, &tokens, error));
    BLIS_TRY(read_start(turn, &made->start_us, error));
    if (!is_answer) {
      question = question + tokens < BLIS_WORKLOAD_MAX_TOKENS ? question + tokens
                                                              : BLIS_WORKLOAD_MAX_TOKENS;
    } else if (question > 0) {
      const exchange one = {question, tokens};
      BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->exchanges, one), error);
      made->count++;
      question = 0;
    }
  }
  return BLIS_OK;
}

static blis_status read_name(reading *r, blis_json_value entry, uint32_t *name, blis_error *error) {
  for (size_t i = 0; *name == 0 && names[i] != NULL; i++) {
    BLIS_TRY(blis__graph_name(&r->rows, entry, names[i], name, error));
  }
  if (*name == 0) {
    BLIS_TRY_MEM(blis__graph_text(&r->rows, name, "conversation_%u", r->seen), error);
  }
  return BLIS_OK;
}

/* Reads the conversation of an entry. The suffix distinguishes conversations of one entry. */
static blis_status read_conversation(reading *r, blis_json_value entry, blis_json_value turns,
                                     const char *suffix, blis_error *error) {
  conversation made = {
      .order = r->seen++, .line = r->line, .start_us = -1, .first = r->exchanges.count};
  BLIS_TRY(read_name(r, entry, &made.name, error));
  if (suffix[0] != '\0') {
    BLIS_TRY_MEM(blis__graph_text(&r->rows, &made.name, "%s%s",
                                  blis_intern_text(r->rows.strings, made.name), suffix),
                 error);
  }
  BLIS_TRY(read_turns(r, turns, &made, error));
  BLIS_TRY(read_start(entry, &made.start_us, error));
  if (made.count == 0) {
    r->rows.known->left_out += r->rows.known->is_first;
    return BLIS_OK;
  }
  r->has_times = r->has_times && made.start_us >= 0;
  r->rows.known->estimated += r->rows.known->is_first ? (int64_t)made.count : 0;
  BLIS_TRY_MEM(blis_array_push(r->rows.alloc, &r->conversations, made), error);
  return BLIS_OK;
}

static blis_status read_entry(reading *r, blis_json_value entry, blis_error *error) {
  BLIS_TRY(blis_json_need_object(entry, error));
  if (blis_json_type_of(blis_json_member(entry, "row")) == BLIS_JSON_OBJECT) {
    entry = blis_json_member(entry, "row");
  }
  blis_json_value second = blis_json_member(entry, "conversation_b");
  if (!blis_json_has(second)) {
    return read_conversation(r, entry, blis__graph_first(entry, lists), "", error);
  }
  blis_json_value first = blis_json_member(entry, "conversation_a");
  BLIS_TRY(read_conversation(r, entry, first, "_a", error));
  return read_conversation(r, entry, second, "_b", error);
}

/* In a list, the number of the conversation is more useful than a line. */
static blis_status read_one(reading *r, blis_json_value entry, size_t number, blis_error *error) {
  blis_error own = {0};
  blis_status status = read_entry(r, entry, &own);
  if (status == BLIS_OK) {
    return BLIS_OK;
  }
  return r->is_list && status != BLIS_ERR_NOMEM
             ? blis_fail(error, status, "%s (conversation %zu of the list)", own.message, number)
             : blis_fail(error, status, "%s", own.message);
}

static int compare_starts(const void *a, const void *b) {
  const conversation *left = a;
  const conversation *right = b;
  if (left->start_us != right->start_us) {
    return left->start_us < right->start_us ? -1 : 1;
  }
  return (left->order > right->order) - (left->order < right->order);
}

static void sort_by_start(reading *r) {
  if (r->has_times && r->conversations.count > 1) {
    qsort(r->conversations.items, r->conversations.count, sizeof *r->conversations.items,
          compare_starts);
  }
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  bool has_text = true;
  r->has_times = true;
  while (has_text) {
    blis_json_value root;
    BLIS_TRY(blis__graph_next_text(&r->rows, &root, &r->line, &has_text, error));
    if (!has_text) {
      break;
    }
    if (blis_json_type_of(blis_json_member(root, "rows")) == BLIS_JSON_ARRAY) {
      root = blis_json_member(root, "rows");
    }
    r->is_list = blis_json_type_of(root) == BLIS_JSON_ARRAY;
    if (!r->is_list) {
      BLIS_TRY(read_one(r, root, 1, error));
    }
    for (size_t i = 0; r->is_list && i < blis_json_count(root); i++) {
      BLIS_TRY(read_one(r, blis_json_item(root, i), i + 1, error));
    }
  }
  sort_by_start(r);
  return BLIS_OK;
}

static blis_status add_request(reading *r, const conversation *c, uint32_t round,
                               blis_error *error) {
  const exchange *one = &r->exchanges.items[c->first + round];
  const uint32_t before = round - 1;
  const blis_graph_node node = {.request = {.prompt_tokens = one->question,
                                            .output_tokens = one->answer,
                                            .max_output_tokens = one->answer,
                                            .session = c->name,
                                            .round_index = (int32_t)round},
                                .extends = round > 0 ? before : BLIS_GRAPH_NO_NODE};
  return blis__graph_add(&r->rows, c->line, &node, true, &before, round > 0, error);
}

static blis_status next(void *reader, blis_graph *graph, bool *done, blis_error *error) {
  reading *r = reader;
  *done = r->next == r->conversations.count;
  if (*done) {
    return BLIS_OK;
  }
  const conversation *c = &r->conversations.items[r->next++];
  blis_graph_builder_clear(&r->rows.builder);
  for (uint32_t round = 0; round < c->count; round++) {
    BLIS_TRY(add_request(r, c, round, error));
  }
  *graph = blis_graph_builder_get(&r->rows.builder, c->name, r->has_times ? c->start_us : -1);
  return BLIS_OK;
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis_array_deinit(r->rows.alloc, &r->exchanges);
  blis_array_deinit(r->rows.alloc, &r->conversations);
}

const blis__graph_format blis__graph_sharegpt = {
    .name = "sharegpt",
    .text = "JSON list or JSONL of conversations with texts (ShareGPT, LMSYS, WildChat, OpenAI "
            "messages); tokens are derived from bytes",
    .needs = "\"conversations\" with \"from\"; or \"conversation\" or \"messages\" with \"role\"",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .close = close_reading,
};
