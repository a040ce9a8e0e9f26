/*
 * prefix_policy.c - routing policy prefix-affinity: equal prompts are sent to the instance that got
 * the first of them. New prompts are sent to the least loaded instance.
 *
 * A prompt is identified by its last full block, whose id covers all full blocks. A prompt shorter
 * than one block is identified by all its tokens. Prompts that only share a prefix are not equal. A
 * prompt that ends in unique tokens cannot recur, so it is not stored.
 */
#include "policy/contract/entry.h"
#include "policy/memory/bindings.h"

typedef struct prefix_policy {
  blis__bindings prompts;
  uint32_t block_size_tokens;
  uint32_t max_entries; /* 0 = unlimited */
  blis_tie tie;
} prefix_policy;

/* Computes the key of a prompt: BLIS_BLOCK_NONE for an empty prompt, since all empty prompts are
   equal. */
static blis_status key_of(const prefix_policy *self, const blis_routing_request *request,
                          blis_block_id *key) {
  uint32_t block_size = self->block_size_tokens;
  *key = BLIS_BLOCK_NONE;
  if (request->prompt_tokens == 0) {
    return BLIS_OK;
  }
  if (request->prompt_tokens < block_size) {
    block_size = (uint32_t)request->prompt_tokens;
  }
  const blis_block_chain *chain = request->chain(request->chain_ud, block_size);
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *key = blis_block_chain_at(chain, chain->prompt_blocks - 1);
  return BLIS_OK;
}

static blis_status bind_prompt(prefix_policy *self, blis_block_id key, uint32_t instance,
                               int64_t now_us) {
  if ((key & BLIS_BLOCK_PRIVATE) != 0) {
    return BLIS_OK;
  }
  bool is_full = self->max_entries > 0 &&
                 blis__bindings_count(&self->prompts) >= self->max_entries &&
                 blis__bindings_find(&self->prompts, key) == NULL;
  if (is_full) {
    blis__bindings_drop_oldest(&self->prompts, 1);
  }
  return blis__bindings_put(&self->prompts, key, instance, now_us);
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  prefix_policy *self = q->state;
  blis_block_id key;
  BLIS_TRY_MEM(key_of(self, q->request, &key), q->error);
  size_t chosen = blis__bindings_candidate(&self->prompts, key, view);
  if (chosen == view->count) {
    chosen = blis_tie_pick_min(&self->tie, view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD], view);
  }
  BLIS_TRY_MEM(bind_prompt(self, key, view->instances[chosen], view->now_us), q->error);
  *decision = (blis_decision){.chosen = chosen};
  return BLIS_OK;
}

static blis_status learn(const blis_question *q, size_t chosen) {
  prefix_policy *self = q->state;
  blis_block_id key;
  BLIS_TRY_MEM(key_of(self, q->request, &key), q->error);
  BLIS_TRY_MEM(bind_prompt(self, key, q->view->instances[chosen], q->view->now_us), q->error);
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  (void)alloc;
  prefix_policy *self = state;
  blis__bindings_deinit(&self->prompts);
}

static const blis_router_ops ops = {.route = route, .learn = learn, .free = free_state};

static const blis_param_spec params_of[] = {
    BLIS__BLOCK_SIZE_PARAM(16, "block size; only full blocks count (profile go-blis: "
                               "that of the KV cache)"),
    BLIS__INTEGER("max_entries", 0, 1 << 30, 0, "prompts",
                  "prompts kept, the least recently used evicted first; 0 = all",
                  BLIS__INTO(prefix_policy, max_entries)),
    BLIS__TIE_FIRST_PARAM};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  prefix_policy *self = state;
  blis__bindings_init(&self->prompts, setup->alloc);
  self->block_size_tokens = (uint32_t)blis_setup_number(setup, "block_size");
  blis_setup_tie(setup, &self->tie);
  return BLIS_OK;
}

const blis_policy_entry blis__router_prefix_policy = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "prefix-affinity",
    .summary = "the same instance for prompts with the same full blocks; for "
               "new ones the lowest effective load",
    .source = "BLIS Evolutionary Policy Optimization: Macro-Level "
              "Implementation Plan; BLIS (Go) v0.6.0 to v0.6.6",
    BLIS__PARAMS(params_of),
    .ops = &ops,
    .state_size = sizeof(prefix_policy),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_EFFECTIVE_LOAD),
    .init = init,
};
