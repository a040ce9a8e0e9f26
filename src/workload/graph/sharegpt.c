/* ShareGPT: a JSON list of {id, conversations: [{from, value}]}. The turns of users and systems
   up to a response are the new text of a request. Each response is the output of a request, and
   the next request extends it. Tokens are derived from bytes (4 per token by default). */
#include "workload/graph/format.h"

#include "workload/workload.h"

typedef struct reading {
  blis__graph_rows rows;
  blis_json_value root;
  size_t next;
  uint32_t name; /* of the conversation, a number of strings */
} reading;

static bool recognise(blis_slice head) {
  static const char *const words[] = {"\"conversations\"", "\"from\"", NULL};
  return head.length > 0 && head.data[0] == '[' && blis__graph_head_has(head, words);
}

/* Returns the tokens of a string. */
static blis_status count_tokens(const reading *r, blis_json_value turn, uint32_t *tokens,
                                blis_error *error) {
  blis_slice text;
  BLIS_TRY(blis_json_text(blis_json_member(turn, "value"), &text, error));
  *tokens = blis__graph_tokens_of_bytes(&r->rows, text.length);
  return BLIS_OK;
}

static blis_status read_turn(const reading *r, blis_json_value turn, bool *is_answer,
                             uint32_t *tokens, blis_error *error) {
  blis_slice from;
  BLIS_TRY(blis_json_need_object(turn, error));
  BLIS_TRY(blis_json_text(blis_json_member(turn, "from"), &from, error));
  *is_answer = blis_slice_equals(from, "gpt") || blis_slice_equals(from, "assistant") ||
               blis_slice_equals(from, "chatgpt") || blis_slice_equals(from, "bing") ||
               blis_slice_equals(from, "bard");
  return count_tokens(r, turn, tokens, error);
}

static blis_status add_request(reading *r, uint32_t session, uint32_t question, uint32_t answer,
                               blis_error *error) {
  uint32_t round = (uint32_t)r->rows.builder.nodes.count;
  const uint32_t before = round - 1;
  const blis_graph_node node = {.request = {.prompt_tokens = question,
                                            .output_tokens = answer,
                                            .max_output_tokens = answer,
                                            .session = session,
                                            .round_index = (int32_t)round},
                                .extends = round > 0 ? before : BLIS_GRAPH_NO_NODE};
  r->rows.known->estimated += r->rows.known->is_first;
  return blis__graph_add(&r->rows, 1, &node, true, &before, round > 0, error);
}

static blis_status build(reading *r, blis_json_value entry, uint32_t session, blis_error *error) {
  blis_json_value turns = blis_json_member(entry, "conversations");
  BLIS_TRY(blis_json_need_array(turns, error));
  uint32_t question = 0;
  blis_graph_builder_clear(&r->rows.builder);
  for (size_t i = 0; i < blis_json_count(turns); i++) {
    bool is_answer;
    uint32_t tokens;
    BLIS_TRY(read_turn(r, blis_json_item(turns, i), &is_answer, &tokens, error));
    if (!is_answer) {
      question = question + tokens < BLIS_WORKLOAD_MAX_TOKENS ? question + tokens
                                                              : BLIS_WORKLOAD_MAX_TOKENS;
    } else if (question > 0) {
      BLIS_TRY(add_request(r, session, question, tokens, error));
      question = 0;
    }
  }
  return BLIS_OK;
}

/* The file is one JSON text: which conversation it is says more than a line. */
static blis_status fail_in(const reading *r, blis_status status, const blis_error *own,
                           blis_error *error) {
  if (status == BLIS_OK || status == BLIS_ERR_NOMEM) {
    return status;
  }
  return blis_fail(error, status, "%s (conversation %zu of the list)", own->message, r->next + 1);
}

static blis_status read_entry(reading *r, blis_error *error) {
  blis_json_value entry = blis_json_item(r->root, r->next);
  r->name = 0;
  BLIS_TRY(blis_json_need_object(entry, error));
  BLIS_TRY(blis__graph_name(&r->rows, entry, "id", &r->name, error));
  if (r->name == 0) {
    BLIS_TRY_MEM(blis__graph_text(&r->rows, &r->name, "conversation_%zu", r->next + 1), error);
  }
  return build(r, entry, r->name, error);
}

static blis_status next(void *reader, blis_graph *graph, bool *done, blis_error *error) {
  reading *r = reader;
  for (; r->next < blis_json_count(r->root); r->next++) {
    blis_error own = {0};
    BLIS_TRY(fail_in(r, read_entry(r, &own), &own, error));
    if (r->rows.builder.nodes.count > 0) {
      r->next++;
      *done = false;
      *graph = blis_graph_builder_get(&r->rows.builder, r->name, -1);
      return BLIS_OK;
    }
    r->rows.known->left_out += r->rows.known->is_first;
  }
  *done = true;
  return BLIS_OK;
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  BLIS_TRY(blis__graph_read_all(&r->rows, &r->root, error));
  return blis_json_need_array(r->root, error);
}

const blis__graph_format blis__graph_sharegpt = {
    .name = "sharegpt",
    .text = "JSON list of conversations with text; tokens are derived from bytes",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
};
