/*
 * prefix_affinity.c - scorer prefix-affinity: the share of the prompt's blocks
 * that the router's own index believes an instance to have cached.
 */

#include "base/array.h"
#include "routing/policy.h"
#include "routing/prefix_index.h"

typedef struct prefix_affinity {
  blis_prefix_index *index;
  uint32_t block_size_tokens;
  BLIS_ARRAY(uint32_t) blocks; /* matched, by instance number */
  blis_alloc alloc;
} prefix_affinity;

static blis_status score(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, double *scores,
                         blis_error *error) {
  prefix_affinity *self = state;
  const blis_block_chain *chain =
      request->chain(request->chain_ud, self->block_size_tokens);
  uint32_t instances = view->instances[view->count - 1] + 1;
  if (chain == NULL ||
      blis_array_reserve(&self->alloc, &self->blocks, instances) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  uint32_t *blocks = self->blocks.items;
  blis_prefix_index_match(self->index, chain, blocks, instances);
  double total = chain->prompt_blocks > 0 ? (double)chain->prompt_blocks : 1;
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = (double)blocks[view->instances[i]] / total;
  }
  return BLIS_OK;
}

static blis_status observe(void *state, const blis_routing_request *request,
                           const blis_routing_view *view, size_t chosen,
                           blis_error *error) {
  prefix_affinity *self = state;
  const blis_block_chain *chain =
      request->chain(request->chain_ud, self->block_size_tokens);
  if (chain == NULL ||
      blis_prefix_index_observe(self->index, chain, view->instances[chosen]) !=
          BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  prefix_affinity *self = state;
  blis_prefix_index_free(self->index);
  blis_array_deinit(alloc, &self->blocks);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_scorer_ops ops = {
    .score = score, .observe = observe, .free = free_state};

enum { GO_BLIS_CAPACITY = 10000, PARAM_COUNT = 2 };

static const blis_param_spec params_of[PARAM_COUNT] = {
    {.name = "block_size",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 1 << 20,
     .fallback = 16,
     .unit = "tokens",
     .summary = "block size of the index (profile go-blis: that of the KV "
                "cache)"},
    {.name = "capacity",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 1 << 30,
     .fallback = 31250,
     .unit = "blocks",
     .summary = "size of the index per instance (profile go-blis: 10000)"},
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
  prefix_affinity *self = blis_alloc_new(alloc, sizeof *self);
  blis_prefix_index *index = blis_prefix_index_new(alloc, (uint64_t)capacity);
  if (self == NULL || index == NULL) {
    blis_alloc_free(alloc, self, sizeof *self);
    blis_prefix_index_free(index);
    return blis_fail_nomem(error);
  }
  *self = (prefix_affinity){.index = index,
                            .block_size_tokens = (uint32_t)block_size,
                            .alloc = *alloc};
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
