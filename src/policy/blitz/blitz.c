/*
 * blitz.c - the baseline policies of LMetric's authors: routing policies that minimize a formula
 * over the metrics that an engine reports.
 */
#include "policy/blitz/blitz.h"

enum { WAITING_WEIGHT = 4 };

static double shortest_weight(const blis_question *q, size_t i) {
  return WAITING_WEIGHT * blis__blitz_waiting(q, i) + blis__blitz_requests(q, i);
}

const blis_policy_entry blis__router_blitz_join_shortest_weight = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.join-shortest-weight",
    .summary = "least 4 x waiting + requests, as vLLM chooses between its ranks",
    .source = BLIS__BLITZ_SOURCE,
    BLIS__GATEWAY(BLIS__BLITZ_NEEDS_COUNTS, .least = {.by = {shortest_weight}}),
};

const blis_policy_entry blis__router_blitz_least_bs = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.least-bs",
    .summary = "fewest requests, waiting and running",
    .source = BLIS__BLITZ_SOURCE,
    BLIS__GATEWAY(BLIS__BLITZ_NEEDS_COUNTS, .least = {.by = {blis__blitz_requests}}),
};

const blis_policy_entry blis__router_blitz_least_waiting = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.least-waiting",
    .summary = "fewest waiting requests",
    .source = BLIS__BLITZ_SOURCE,
    BLIS__GATEWAY(BLIS__BLITZ_NEEDS_COUNTS, .least = {.by = {blis__blitz_waiting}}),
};

const blis_policy_entry blis__router_blitz_least_wait_token = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.least-wait-token",
    .summary = "least pending prefill + new tokens",
    .source = BLIS__BLITZ_SOURCE,
    BLIS__GATEWAY(BLIS__BLITZ_NEEDS_TOKENS, .least = {.by = {blis__blitz_wait_tokens}}),
};

enum { MAX_PENDING };

static const blis_param_spec bounded_params[] = {
    BLIS__NUMBER("max_pending_tokens", 0, 1e15, 2048, "tokens",
                 "an instance with this much pending prefill or more is not "
                 "chosen for its cache"),
};

/* Chooses the last candidate with the most cached tokens among those with a small backlog. */
static blis_status choose_bounded(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  size_t none = q->view->count;
  *chosen = none;
  for (size_t i = 0; i < none; i++) {
    double pending = blis__column_at(q, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, i);
    if (pending < self->values[MAX_PENDING] &&
        (*chosen == none || blis__blitz_cached(q, i) >= blis__blitz_cached(q, *chosen))) {
      *chosen = i;
    }
  }
  if (*chosen == none) {
    *chosen = blis__least_of(q, &(blis__least){.by = {blis__blitz_wait_tokens}});
  }
  return BLIS_OK;
}

const blis_policy_entry blis__router_blitz_bounded_most_hit = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.bounded-most-hit",
    .summary = "most cached tokens among instances with little pending "
               "prefill; if none, least pending prefill + new tokens",
    .source = BLIS__BLITZ_SOURCE,
    BLIS__PARAMS(bounded_params),
    BLIS__GATEWAY(BLIS__BLITZ_NEEDS_TOKENS, .choose = choose_bounded),
};

static double lmetric(const blis_question *q, size_t i) {
  return blis__blitz_wait_tokens(q, i) * (blis__blitz_requests(q, i) + 1);
}

const blis_policy_entry blis__router_blitz_lmetric = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "blitz.lmetric",
    .summary = "least (pending prefill + new tokens) x (requests + 1), by what "
               "the engines report",
    .source = BLIS__BLITZ_SOURCE,
    BLIS__GATEWAY(BLIS__BLITZ_NEEDS_COUNTS | BLIS__BLITZ_NEEDS_TOKENS, .least = {.by = {lmetric}}),
};
