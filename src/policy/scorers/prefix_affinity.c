/*
 * prefix_affinity.c - scorer prefix-affinity: the fraction of the prompt's blocks that the router's
 * index predicts to be cached on an instance.
 */

#include "policy/contract/entry.h"
#include "policy/memory/prefix_memory.h"

static blis_status score(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  blis__prefix_memory *memory = q->state;
  BLIS_TRY_MEM(blis__prefix_memory_look_up(memory, q->request, view), q->error);
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = blis__prefix_memory_share(memory, view, i);
  }
  return BLIS_OK;
}

static blis_status score_few(const blis_question *q, double *scores, uint32_t *few, size_t *count) {
  blis__prefix_memory *memory = q->state;
  BLIS_TRY_MEM(blis__prefix_memory_look_up(memory, q->request, q->view), q->error);
  *count = memory->few.count;
  for (size_t k = 0; k < memory->few.count; k++) {
    few[k] = memory->few.items[k];
    scores[few[k]] = blis__prefix_memory_share(memory, q->view, few[k]);
  }
  return BLIS_OK;
}

static blis_status observe(const blis_question *q, size_t chosen) {
  BLIS_TRY_MEM(blis__prefix_memory_observe(q->state, q->request, q->view->instances[chosen]),
               q->error);
  return BLIS_OK;
}

static int64_t believed_tokens(const void *state, const blis_routing_view *view, size_t candidate) {
  return blis__prefix_memory_tokens(state, view, candidate);
}

static void free_state(const blis_alloc *alloc, void *state) {
  (void)alloc;
  blis__prefix_memory_deinit(state);
}

static const blis_scorer_ops ops = {.score = score,
                                    .score_few = score_few,
                                    .observe = observe,
                                    .believed_tokens = believed_tokens,
                                    .free = free_state};

static const blis_param_spec params_of[] = {
    BLIS__BLOCK_SIZE_PARAM(16, "block size of the index (profile go-blis: that of the KV "
                               "cache)"),
    BLIS__INDEX_CAPACITY_PARAM(31250, "size of the index per instance (profile go-blis: 10000)"),
};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  double block_size = blis_setup_number(setup, "block_size");
  double capacity = blis_setup_number(setup, "capacity");
  BLIS_TRY_MEM(
      blis__prefix_memory_init(state, setup->alloc, (uint32_t)block_size, (uint64_t)capacity),
      error);
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_prefix_affinity = {
    .kind = BLIS_POLICY_SCORER,
    .name = "prefix-affinity",
    .summary = "matched leading blocks / blocks of the prompt, by the router's "
               "own LRU index of sent prompts",
    .source = "Composable Scorer Framework for Weighted Routing; llm-d "
              "prefix-cache-scorer",
    BLIS__PARAMS(params_of),
    .ops = &ops,
    .state_size = sizeof(blis__prefix_memory),
    .init = init,
};
