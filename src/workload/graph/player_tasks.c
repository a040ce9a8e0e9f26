/* Outcomes of played graphs; see player_state.h. */
#include "workload/graph/player_state.h"

#define NO_NODE BLIS_GRAPH_NO_NODE

typedef blis__node node;
typedef blis__live live;

static int64_t wait_of(const live *l, const node *n) {
  return n->arrival_us - (n->waited_for == NO_NODE ? l->start_us : l->nodes[n->waited_for].end_us);
}

static void add_path(const blis_graph_player *p, const live *l, blis_task *task, uint32_t last) {
  for (uint32_t i = last; i != NO_NODE; i = l->nodes[i].waited_for) {
    const node *n = &l->nodes[i];
    int64_t delay_us = wait_of(l, n);
    int64_t tool_us = blis__player_scaled(p, l->graph.nodes[i].tool_us);
    tool_us = tool_us < delay_us ? tool_us : delay_us;
    task->path_requests++;
    task->tool_us += tool_us;
    task->delay_us += delay_us - tool_us;
    task->queue_us += n->queue_us;
    task->prefill_us += n->prefill_us;
    task->decode_us += n->end_us - n->arrival_us - n->queue_us - n->prefill_us;
  }
}

bool blis__player_has_ended(const node *n) {
  return n->state == BLIS__COMPLETED || (n->state == BLIS__GIVEN_UP && n->end_us >= 0);
}

blis_task blis__player_task_of(const blis_graph_player *p, const live *l) {
  blis_task task = {.program = l->program.name,
                    .play = l->play,
                    .requests = l->graph.node_count,
                    .completed = l->completed,
                    .start_us = l->start_us,
                    .end_us = l->start_us,
                    .state = l->foreground > 0 ? BLIS_TASK_UNFINISHED
                             : l->is_broken    ? BLIS_TASK_BROKEN
                                               : BLIS_TASK_COMPLETED,
                    .prompt_tokens = l->program.prompt_tokens,
                    .cached_tokens = l->cached_tokens,
                    .output_tokens = l->program.output_tokens};
  uint32_t last = NO_NODE;
  for (uint32_t i = 0; i < l->graph.node_count; i++) {
    const node *n = &l->nodes[i];
    task.submitted += blis__player_has_ended(n) || n->state == BLIS__SUBMITTED;
    if (!blis__player_has_ended(n)) {
      continue;
    }
    task.request_us += n->end_us - n->arrival_us;
    task.waited_us += wait_of(l, n);
    if (!l->graph.nodes[i].is_background && (last == NO_NODE || n->end_us > task.end_us)) {
      last = i;
      task.end_us = n->end_us;
    }
  }
  add_path(p, l, &task, last);
  return task;
}
