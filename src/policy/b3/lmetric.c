/*
 * lmetric.c - routing policy lmetric: selects the lowest product of the prefill work ahead of the
 * request and the number of requests at the instance. The capped variant excludes the late turns of
 * long sessions.
 */
#include "policy/b3/b3.h"
#include "policy/b3/hotspot_guard.h"

typedef struct lmetric {
  blis__b3 b3;
  double bs_offset;
  int64_t max_turns; /* turns of a session that count; 0 = all */
  bool is_guarded;
  blis__hotspot_guard guard;
  blis_tie tie;
} lmetric;

/* Applies the guard to a request that has just been scored. */
static blis_status guard(lmetric *self, const blis_routing_request *request,
                         const blis_routing_view *view) {
  const blis_block_chain *chain = request->chain(request->chain_ud, self->b3.block_size_tokens);
  uint64_t class = chain->prompt_blocks > 0 ? blis_block_chain_at(chain, 0) : 0;
  return blis__hotspot_guard_apply(&self->guard, class, view, self->b3.blocks.items,
                                   self->b3.scores.items);
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  lmetric *self = q->state;
  if (self->max_turns > 0 && request->round_index >= self->max_turns) {
    *decision = (blis_decision){.rejected = "turn-cap"};
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__b3_score(&self->b3, request, view, self->bs_offset), q->error);
  if (self->is_guarded && guard(self, request, view) != BLIS_OK) {
    return blis_fail_nomem(q->error);
  }
  size_t chosen = blis_tie_pick_max(&self->tie, self->b3.scores.items, view);
  BLIS_TRY_MEM(blis__b3_take(&self->b3, request, view, chosen, decision), q->error);
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  (void)alloc;
  lmetric *self = state;
  blis__b3_deinit(&self->b3);
  blis__hotspot_guard_deinit(&self->guard);
}

static const blis_router_ops ops = {.route = route,
                                    .first_token = blis__b3_first_token,
                                    .ended = blis__b3_ended,
                                    .free = free_state};

#define LMETRIC_PARAMS                                                                             \
  BLIS__B3_PARAMS,                                                                                 \
      BLIS__NUMBER("bs_offset", 0, 1e6, 0, "requests",                                             \
                   "added to the number of requests: 0 in the B3 pseudocode, "                     \
                   "1 in the authors' router and its ports",                                       \
                   BLIS__INTO(lmetric, bs_offset)),                                                \
      BLIS__TIE_FIRST_PARAM,                                                                       \
      BLIS__BOOLEAN("hotspot_guard", 0,                                                            \
                    "excludes the instances holding a prefix while more "                          \
                    "requests share it than there are such instances",                             \
                    BLIS__INTO(lmetric, is_guarded)),                                              \
      BLIS__INTEGER("hotspot_window", 1, 1 << 24, 1000, "requests",                                \
                    "window over which the guard measures the shares of prefixes")

static const blis_param_spec lmetric_params[] = {LMETRIC_PARAMS};

static const blis_param_spec capped_params[] = {
    LMETRIC_PARAMS,
    BLIS__INTEGER("max_turns", 1, 1 << 30, 8, "turns", "turns of a session that are served",
                  BLIS__INTO(lmetric, max_turns)),
};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  lmetric *self = state;
  size_t window = (size_t)blis_setup_number(setup, "hotspot_window");
  blis__hotspot_guard_init(&self->guard, setup->alloc, window);
  blis_setup_tie(setup, &self->tie);
  BLIS_TRY_MEM(blis__b3_init(&self->b3, setup), error);
  return BLIS_OK;
}

const blis_policy_entry blis__router_lmetric = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "lmetric",
    .aliases = "b3.lmetric",
    .summary = "least (pending prefill + new tokens) x requests",
    .source = "B3 Routing Policies - Pseudocode (08530b3915); LMetric, arXiv "
              "2603.15202",
    BLIS__PARAMS(lmetric_params),
    .ops = &ops,
    .state_size = sizeof(lmetric),
    .init = init,
};

const blis_policy_entry blis__router_capped = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "capped",
    .aliases = "b3.capped",
    .summary = "lmetric for the first turns of every session; rejects later "
               "ones (turn-cap) instead of cutting them from the trace",
    .source = "B3 Routing Policies - Pseudocode (08530b3915)",
    BLIS__PARAMS(capped_params),
    .ops = &ops,
    .state_size = sizeof(lmetric),
    .init = init,
};
