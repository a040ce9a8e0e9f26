#include "policy/b3/b3.h"

static int64_t capacity_of(int64_t given, const blis_policy_context *context,
                           int64_t block_size_tokens) {
  if (given > 0) {
    return given;
  }
  double tokens = (double)context->kv_blocks * (double)context->kv_block_size_tokens;
  double blocks = tokens / (double)block_size_tokens;
  return blocks < 1 ? 1 : blocks > 0x1p40 ? (int64_t)1 << 40 : (int64_t)blocks;
}

blis_status blis__b3_init(blis__b3 *self, const blis_policy_setup *setup) {
  int64_t given = (int64_t)blis_setup_number(setup, "cache_capacity");
  int64_t capacity = capacity_of(given, setup->context, self->block_size_tokens);
  self->alloc = *setup->alloc;
  self->index = blis_prefix_index_new(setup->alloc, (uint64_t)capacity);
  return self->index == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
}

void blis__b3_deinit(blis__b3 *self) {
  blis_prefix_index_free(self->index);
  blis_array_deinit(&self->alloc, &self->counters);
  blis_array_deinit(&self->alloc, &self->blocks);
  blis_array_deinit(&self->alloc, &self->scores);
}

blis_status blis__b3_score(blis__b3 *self, const blis_routing_request *request,
                           const blis_routing_view *view, double bs_offset) {
  const blis_block_chain *chain = request->chain(request->chain_ud, self->block_size_tokens);
  uint32_t instances = view->instances[view->count - 1] + 1;
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(blis__load_counters_reserve(&self->counters, &self->alloc, view));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->blocks, instances));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->scores, view->count));
  blis_prefix_index_match(self->index, chain, self->blocks.items, instances);
  for (size_t i = 0; i < view->count; i++) {
    uint32_t instance = view->instances[i];
    const blis__load *load = &self->counters.items[instance];
    int64_t prefill = load->pending_prefill_tokens + request->prompt_tokens -
                      blis__b3_cached_tokens(self, request, instance);
    self->scores.items[i] = 0 - (double)prefill * ((double)load->requests + bs_offset);
  }
  return BLIS_OK;
}

blis_status blis__b3_take(blis__b3 *self, const blis_routing_request *request,
                          const blis_routing_view *view, size_t chosen, blis_decision *decision) {
  uint32_t instance = view->instances[chosen];
  const blis_block_chain *chain = request->chain(request->chain_ud, self->block_size_tokens);
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(blis_prefix_index_observe(self->index, chain, instance));
  blis__load_counters_add(&self->counters, request->ticket, instance,
                          request->prompt_tokens - blis__b3_cached_tokens(self, request, instance),
                          request->prompt_tokens);
  *decision = (blis_decision){.chosen = chosen,
                              .score = self->scores.items[chosen],
                              .scores = self->scores.items,
                              .has_belief = true,
                              .believed_tokens = blis__b3_cached_tokens(self, request, instance)};
  return BLIS_OK;
}

void blis__b3_first_token(void *state, blis_ticket *ticket, uint32_t instance,
                          const blis_request_times *times) {
  (void)times;
  blis__b3 *self = state;
  blis__load_counters_first_token(&self->counters, ticket, instance);
}

void blis__b3_ended(void *state, blis_ticket *ticket, uint32_t instance,
                    const blis_request_times *times) {
  (void)times;
  blis__b3 *self = state;
  blis__load_counters_ended(&self->counters, ticket, instance);
}
