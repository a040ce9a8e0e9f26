/*
 * Tasks in the format that Applied Compute publishes: num_turns calls that each end with a tool
 * call, followed by a final call. Prompts grow by the response and by the output of the tool.
 */
#include "workload/graph/format.h"

#include "workload/workload.h"

static bool recognise(blis_slice head) {
  static const char *const words[] = {"\"num_turns\"", "\"input_prompt_length\"", NULL};
  return blis__graph_head_has(head, words);
}

static const char *const fields[] = {"num_turns",
                                     "input_prompt_length",
                                     "assistant_response_length",
                                     "tool_call_output_length",
                                     "tool_call_latency",
                                     "final_assistant_response_length",
                                     NULL};

typedef struct task {
  blis_json_value answers;
  blis_json_value outputs;
  blis_json_value latencies;
  int64_t turns;
  int64_t line;
} task;

/* Reads a list with one item per turn. */
static blis_status read_list(blis_json_value object, const char *key, int64_t turns,
                             blis_json_value *list, blis_error *error) {
  *list = blis_json_member(object, key);
  if (turns == 0 && !blis_json_has(*list)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_need_array(*list, error));
  return (int64_t)blis_json_count(*list) == turns
             ? BLIS_OK
             : blis_json_fail(*list, "has not num_turns items", error);
}

static blis_status item_tokens(blis_json_value list, int64_t index, uint32_t *tokens,
                               blis_error *error) {
  int64_t read;
  BLIS_TRY(blis_json_int64(blis_json_item(list, (size_t)index), 0, BLIS_WORKLOAD_MAX_TOKENS, &read,
                           error));
  *tokens = (uint32_t)read;
  return BLIS_OK;
}

static blis_status add_turn(blis__graph_rows *rows, const task *t, int64_t turn, uint32_t session,
                            blis_graph_node *node, blis_error *error) {
  blis_request *request = &node->request;
  node->extends = turn == 0 ? BLIS_GRAPH_NO_NODE : (uint32_t)turn - 1;
  if (turn > 0) {
    double latency_s;
    BLIS_TRY(item_tokens(t->outputs, turn - 1, &request->prompt_tokens, error));
    BLIS_TRY(blis_json_double(blis_json_item(t->latencies, (size_t)turn - 1), 0, 1e9, &latency_s,
                              error));
    node->delay_us = blis__graph_capped(rows, (int64_t)(latency_s * 1e6 + 0.5));
    node->tool_us = node->delay_us;
  }
  if (turn < t->turns) {
    BLIS_TRY(item_tokens(t->answers, turn, &request->output_tokens, error));
  }
  request->max_output_tokens = request->output_tokens;
  request->session = session;
  request->round_index = (int32_t)turn;
  const uint32_t before = (uint32_t)turn - 1;
  return blis__graph_add(rows, t->line, node, true, &before, turn > 0, error);
}

static blis_status next(void *reader, blis_graph *graph, bool *done, blis_error *error) {
  blis__graph_rows *rows = reader;
  blis_json_value object;
  bool has_line;
  task t = {0};
  uint32_t name = 0;
  BLIS_TRY(blis__graph_next_object(rows, &object, &t.line, &has_line, error));
  *done = !has_line;
  if (*done) {
    return BLIS_OK;
  }
  blis__graph_see(rows, object, fields);
  BLIS_TRY(blis_json_int64(blis_json_member(object, "num_turns"), 0, BLIS_GRAPH_MAX_NODES - 1,
                           &t.turns, error));
  BLIS_TRY(read_list(object, "assistant_response_length", t.turns, &t.answers, error));
  BLIS_TRY(read_list(object, "tool_call_output_length", t.turns, &t.outputs, error));
  BLIS_TRY(read_list(object, "tool_call_latency", t.turns, &t.latencies, error));
  BLIS_TRY_MEM(blis__graph_text(rows, &name, "line_%lld", (long long)t.line), error);
  blis_graph_builder_clear(&rows->builder);
  for (int64_t turn = 0; turn <= t.turns; turn++) {
    blis_graph_node node = {0};
    if (turn == 0) {
      BLIS_TRY(blis__graph_need(object, "input_prompt_length", error));
      BLIS_TRY(
          blis__graph_tokens(object, "input_prompt_length", &node.request.prompt_tokens, error));
    }
    if (turn == t.turns) {
      BLIS_TRY(blis__graph_need(object, "final_assistant_response_length", error));
      BLIS_TRY(blis__graph_tokens(object, "final_assistant_response_length",
                                  &node.request.output_tokens, error));
    }
    BLIS_TRY(add_turn(rows, &t, turn, name, &node, error));
  }
  *graph = blis_graph_builder_get(&rows->builder, name, -1);
  return BLIS_OK;
}

const blis__graph_format blis__graph_applied_compute = {
    .name = "applied-compute",
    .text = "JSONL of tasks with num_turns, input_prompt_length, "
            "tool_call_latency",
    .needs = "\"num_turns\" and \"input_prompt_length\"",
    .recognise = recognise,
    .reader_size = sizeof(blis__graph_rows),
    .next = next,
};
