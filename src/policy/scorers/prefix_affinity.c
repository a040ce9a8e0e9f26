/*
 * prefix_affinity.c - scorer prefix-affinity: the share of the prompt's blocks
 * that the router's own index believes an instance to have cached.
 */

#include "policy/contract/policy.h"
#include "policy/memory/prefix_memory.h"

static blis_status score(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, double *scores,
                         blis_error *error) {
  blis__prefix_memory *memory = state;
  BLIS_TRY_MEM(blis__prefix_memory_look_up(memory, request, view), error);
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = blis__prefix_memory_share(memory, view, i);
  }
  return BLIS_OK;
}

static blis_status observe(void *state, const blis_routing_request *request,
                           const blis_routing_view *view, size_t chosen,
                           blis_error *error) {
  return blis__prefix_memory_observe(state, request, view->instances[chosen]) ==
                 BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static int64_t believed_tokens(const void *state, const blis_routing_view *view,
                               size_t candidate) {
  return blis__prefix_memory_tokens(state, view, candidate);
}

static void free_state(const blis_alloc *alloc, void *state) {
  blis__prefix_memory_deinit(state);
  blis_alloc_free(alloc, state, sizeof(blis__prefix_memory));
}

static const blis_scorer_ops ops = {.score = score,
                                    .observe = observe,
                                    .believed_tokens = believed_tokens,
                                    .free = free_state};

enum { GO_BLIS_CAPACITY = 10000, PARAM_COUNT = 2 };

static const blis_param_spec params_of[PARAM_COUNT] = {
    BLIS__BLOCK_SIZE_PARAM(
        16, "block size of the index (profile go-blis: that of the KV "
            "cache)"),
    BLIS__INDEX_CAPACITY_PARAM(
        31250, "size of the index per instance (profile go-blis: 10000)"),
};

static int64_t choose(const blis_params *params, const char *name, bool go_blis,
                      int64_t go_blis_value) {
  if (go_blis && blis_params_find(params, name) == NULL) {
    return go_blis_value;
  }
  return (int64_t)blis_params_number(params, params_of, PARAM_COUNT, name);
}

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context,
                          blis_scorer *scorer, blis_error *error) {
  int64_t block_size = choose(params, "block_size", context->go_blis,
                              context->kv_block_size_tokens);
  int64_t capacity =
      choose(params, "capacity", context->go_blis, GO_BLIS_CAPACITY);
  blis__prefix_memory *self = blis_alloc_new(alloc, sizeof *self);
  if (self == NULL ||
      blis__prefix_memory_init(self, alloc, (uint32_t)block_size,
                               (uint64_t)capacity) != BLIS_OK) {
    blis_alloc_free(alloc, self, sizeof *self);
    return blis_fail_nomem(error);
  }
  *scorer = (blis_scorer){
      .ops = &ops, .state = self, .alloc = *alloc, .name = "prefix-affinity"};
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_prefix_affinity = {
    .name = "prefix-affinity",
    .aliases = "",
    .summary = "matched leading blocks / blocks of the prompt, by the router's "
               "own LRU index of what it sent where",
    .source = "Composable Scorer Framework for Weighted Routing; llm-d "
              "prefix-cache-scorer",
    .params = params_of,
    .param_count = PARAM_COUNT,
    .create = create,
};
