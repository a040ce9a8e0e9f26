/*
 * lmetric.c - routing policy lmetric: least product of the prefill work ahead
 * of the request and the number of requests at the instance; and capped, the
 * same without the late turns of long sessions.
 */
#include "policy/b3/b3.h"
#include "policy/b3/hotspot_guard.h"

typedef struct lmetric {
  blis__b3 b3;
  double bs_offset;
  int64_t max_turns; /* of a session; 0 = any */
  bool is_guarded;
  blis__hotspot_guard guard;
  blis_tie tie;
} lmetric;

/* Of a request that has just been scored. */
static blis_status guard(lmetric *self, const blis_routing_request *request,
                         const blis_routing_view *view) {
  const blis_block_chain *chain =
      request->chain(request->chain_ud, self->b3.block_size_tokens);
  uint64_t class = chain->prompt_blocks > 0 ? blis_block_chain_at(chain, 0) : 0;
  return blis__hotspot_guard_apply(
      &self->guard, class, view, self->b3.blocks.items, self->b3.scores.items);
}

static blis_status route(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, blis_decision *decision,
                         blis_error *error) {
  lmetric *self = state;
  if (self->max_turns > 0 && request->round_index >= self->max_turns) {
    *decision = (blis_decision){.rejected = "turn-cap"};
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__b3_score(&self->b3, request, view, self->bs_offset),
               error);
  if (self->is_guarded && guard(self, request, view) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  size_t chosen = blis_tie_pick_max(&self->tie, self->b3.scores.items, view);
  BLIS_TRY_MEM(blis__b3_take(&self->b3, request, view, chosen, decision),
               error);
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  lmetric *self = state;
  blis__b3_deinit(&self->b3);
  blis__hotspot_guard_deinit(&self->guard);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_router_ops ops = {.route = route,
                                    .first_token = blis__b3_first_token,
                                    .ended = blis__b3_ended,
                                    .free = free_state};

enum { LMETRIC_PARAM_COUNT = 6, CAPPED_PARAM_COUNT };

/* capped has all of them, lmetric all but the last. */
static const blis_param_spec params_of[CAPPED_PARAM_COUNT] = {
    BLIS__B3_PARAMS,
    {.name = "bs_offset",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e6,
     .fallback = 0,
     .unit = "requests",
     .summary = "added to the number of requests: 0 in the B3 pseudocode, 1 "
                "in the authors' router and its ports"},
    BLIS__TIE_FIRST_PARAM,
    {.name = "hotspot_guard",
     .kind = BLIS_PARAM_BOOLEAN,
     .fallback = 0,
     .unit = "",
     .summary = "rules out the instances that hold a prefix while more "
                "requests want it than they are many"},
    {.name = "hotspot_window",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 1 << 24,
     .fallback = 1000,
     .unit = "requests",
     .summary = "over which the guard takes the shares of prefixes"},
    {.name = "max_turns",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 1 << 30,
     .fallback = 8,
     .unit = "turns",
     .summary = "of a session that are served"},
};

static blis_status make(const blis_alloc *alloc, const char *name,
                        const blis_params *params,
                        const blis_policy_context *context, blis_router *router,
                        blis_error *error) {
  lmetric *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  if (self == NULL || blis__b3_init(&self->b3, alloc, params, params_of,
                                    CAPPED_PARAM_COUNT, context) != BLIS_OK) {
    blis_alloc_free(alloc, self, sizeof *self);
    return blis_fail_nomem(error);
  }
  self->bs_offset =
      blis_params_number(params, params_of, CAPPED_PARAM_COUNT, "bs_offset");
  self->is_guarded = blis_params_number(params, params_of, CAPPED_PARAM_COUNT,
                                        "hotspot_guard") != 0;
  blis__hotspot_guard_init(&self->guard, alloc,
                           (size_t)blis_params_number(params, params_of,
                                                      CAPPED_PARAM_COUNT,
                                                      "hotspot_window"));
  blis_tie_rule rule =
      blis__tie_first_param(params, params_of, CAPPED_PARAM_COUNT);
  blis_tie_init_of(&self->tie, rule, context->seed, name);
  *router =
      (blis_router){.ops = &ops, .state = self, .alloc = *alloc, .name = name};
  return BLIS_OK;
}

static blis_status create_lmetric(const blis_alloc *alloc,
                                  const blis_params *params,
                                  const blis_policy_context *context,
                                  blis_router *router, blis_error *error) {
  return make(alloc, "lmetric", params, context, router, error);
}

const blis_router_entry blis__router_lmetric = {
    .name = "lmetric",
    .aliases = "b3.lmetric",
    .summary = "least (pending prefill + new tokens) x requests",
    .source = "B3 Routing Policies - Pseudocode (08530b3915); LMetric, arXiv "
              "2603.15202",
    .params = params_of,
    .param_count = LMETRIC_PARAM_COUNT,
    .create = create_lmetric,
};

static blis_status create_capped(const blis_alloc *alloc,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_router *router, blis_error *error) {
  BLIS_TRY(make(alloc, "capped", params, context, router, error));
  lmetric *self = router->state;
  self->max_turns = (int64_t)blis_params_number(
      params, params_of, CAPPED_PARAM_COUNT, "max_turns");
  return BLIS_OK;
}

const blis_router_entry blis__router_capped = {
    .name = "capped",
    .aliases = "b3.capped",
    .summary = "lmetric for the first turns of every session; later ones are "
               "rejected (turn-cap) in place of being cut from the trace",
    .source = "B3 Routing Policies - Pseudocode (08530b3915)",
    .params = params_of,
    .param_count = CAPPED_PARAM_COUNT,
    .create = create_capped,
};
