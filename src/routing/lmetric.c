/*
 * lmetric.c - routing policy lmetric: least product of the prefill work ahead
 * of the request and the number of requests at the instance.
 *
 *   score = (pending prefill tokens + max(0, prompt - cached)) *
 *           (requests + bs_offset)
 *
 * All counters are the router's own: they rise at the decision, pending
 * prefill falls at the first token, requests fall at the end. What it believes
 * to be cached is its own index of what it sent where.
 */

#include "base/array.h"
#include "routing/policy.h"
#include "routing/prefix_index.h"

typedef struct counters {
  int64_t pending_prefill_tokens;
  int64_t requests;
} counters;

typedef struct lmetric {
  blis_prefix_index *index;
  uint32_t block_size_tokens;
  double bs_offset;
  BLIS_ARRAY(counters) counters; /* by instance number, like blocks */
  BLIS_ARRAY(uint32_t) blocks;   /* matched */
  BLIS_ARRAY(double) scores;     /* negated: the highest is the best */
  blis_tie tie;
  blis_alloc alloc;
} lmetric;

/* What a ticket holds: the tokens still counted as pending prefill. */
enum { PENDING_TOKENS = 0 };

static blis_status make_room(lmetric *self, const blis_routing_view *view) {
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->blocks, instances));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->scores, view->count));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->counters, instances));
  while (self->counters.count < instances) {
    self->counters.items[self->counters.count++] = (counters){0};
  }
  return BLIS_OK;
}

static int64_t new_tokens(const lmetric *self,
                          const blis_routing_request *request,
                          uint32_t instance) {
  int64_t cached =
      (int64_t)self->blocks.items[instance] * (int64_t)self->block_size_tokens;
  return cached < request->prompt_tokens ? request->prompt_tokens - cached : 0;
}

static blis_status route(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, blis_decision *decision,
                         blis_error *error) {
  lmetric *self = state;
  const blis_block_chain *chain =
      request->chain(request->chain_ud, self->block_size_tokens);
  if (chain == NULL || make_room(self, view) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  blis_prefix_index_match(self->index, chain, self->blocks.items,
                          view->instances[view->count - 1] + 1);
  for (size_t i = 0; i < view->count; i++) {
    const counters *c = &self->counters.items[view->instances[i]];
    int64_t prefill = c->pending_prefill_tokens +
                      new_tokens(self, request, view->instances[i]);
    self->scores.items[i] =
        0 - (double)prefill * ((double)c->requests + self->bs_offset);
  }
  size_t chosen = blis_tie_pick_max(&self->tie, self->scores.items, view);
  uint32_t instance = view->instances[chosen];
  int64_t tokens = new_tokens(self, request, instance);
  if (blis_prefix_index_observe(self->index, chain, instance) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  self->counters.items[instance].pending_prefill_tokens += tokens;
  self->counters.items[instance].requests++;
  request->ticket->values[PENDING_TOKENS] = tokens;
  *decision = (blis_decision){.chosen = chosen,
                              .score = self->scores.items[chosen],
                              .scores = self->scores.items};
  return BLIS_OK;
}

/* Also after a preemption, when nothing is pending any more. */
static void first_token(void *state, blis_ticket *ticket, uint32_t instance) {
  lmetric *self = state;
  self->counters.items[instance].pending_prefill_tokens -=
      ticket->values[PENDING_TOKENS];
  ticket->values[PENDING_TOKENS] = 0;
}

static void ended(void *state, blis_ticket *ticket, uint32_t instance) {
  lmetric *self = state;
  first_token(state, ticket, instance);
  self->counters.items[instance].requests--;
}

static void free_state(const blis_alloc *alloc, void *state) {
  lmetric *self = state;
  blis_prefix_index_free(self->index);
  blis_array_deinit(alloc, &self->counters);
  blis_array_deinit(alloc, &self->blocks);
  blis_array_deinit(alloc, &self->scores);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_router_ops ops = {.route = route,
                                    .first_token = first_token,
                                    .ended = ended,
                                    .free = free_state};

enum { PARAM_COUNT = 4 };

static const blis_param_spec params_of[PARAM_COUNT] = {
    {.name = "bs_offset",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e6,
     .fallback = 0,
     .unit = "requests",
     .summary = "added to the number of requests: 0 in the B3 pseudocode, 1 "
                "in the authors' router and its ports"},
    {.name = "block_size",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 1 << 20,
     .fallback = 512,
     .unit = "tokens",
     .summary = "block size of the router's index"},
    {.name = "cache_capacity",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 0,
     .maximum = 1 << 30,
     .fallback = 0,
     .unit = "blocks",
     .summary = "size of the index per instance; 0 = as many tokens as the KV "
                "cache"},
    {.name = "tie",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "first|lowest-id|random|last|rotate",
     .unit = "",
     .summary = "which of equally good ones"},
};

/* In the order of the choices above. */
static const blis_tie_rule tie_rules[] = {BLIS_TIE_FIRST, BLIS_TIE_LOWEST_ID,
                                          BLIS_TIE_RANDOM, BLIS_TIE_LAST,
                                          BLIS_TIE_ROTATE};

static int64_t capacity_of(const blis_params *params,
                           const blis_policy_context *context,
                           int64_t block_size_tokens) {
  int64_t given = (int64_t)blis_params_number(params, params_of, PARAM_COUNT,
                                              "cache_capacity");
  if (given > 0) {
    return given;
  }
  double tokens =
      (double)context->kv_blocks * (double)context->kv_block_size_tokens;
  double blocks = tokens / (double)block_size_tokens;
  return blocks < 1 ? 1 : blocks > 0x1p40 ? (int64_t)1 << 40 : (int64_t)blocks;
}

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context,
                          blis_router *router, blis_error *error) {
  int64_t block_size =
      (int64_t)blis_params_number(params, params_of, PARAM_COUNT, "block_size");
  int64_t capacity = capacity_of(params, context, block_size);
  lmetric *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  blis_prefix_index *index = blis_prefix_index_new(alloc, (uint64_t)capacity);
  if (self == NULL || index == NULL) {
    blis_alloc_free(alloc, self, sizeof *self);
    blis_prefix_index_free(index);
    return blis_fail_nomem(error);
  }
  self->index = index;
  self->block_size_tokens = (uint32_t)block_size;
  self->bs_offset =
      blis_params_number(params, params_of, PARAM_COUNT, "bs_offset");
  self->alloc = *alloc;
  int tie = blis_params_choice(params, params_of, PARAM_COUNT, "tie");
  blis_tie_init(&self->tie, tie_rules[tie], context->seed, "policy/lmetric");
  *router = (blis_router){
      .ops = &ops, .state = self, .alloc = *alloc, .name = "lmetric"};
  return BLIS_OK;
}

const blis_router_entry blis__router_lmetric = {
    .name = "lmetric",
    .aliases = "b3.lmetric",
    .summary = "least (pending prefill + new tokens) x requests",
    .source = "B3 Routing Policies - Pseudocode; LMetric, arXiv 2603.15202",
    .params = params_of,
    .param_count = PARAM_COUNT,
    .create = create,
};
