/*
 * least_work.c - routing policies that minimize the work ahead of a request: sglang.lmetric,
 * infera.kv.
 */
#include "policy/gateways/gateway.h"

static double new_tokens(const blis_question *q, size_t i) {
  const blis__gateway *self = q->state;
  int64_t known = blis__prefix_memory_tokens(&self->memory, q->view, i);
  int64_t fresh = q->request->prompt_tokens - known;
  return fresh > 0 ? (double)fresh : 0;
}

static double lmetric(const blis_question *q, size_t i) {
  return new_tokens(q, i) * (blis__in_flight(q, i) + 1);
}

static const blis_param_spec memory_params[] = {
    BLIS__GATEWAY_MEMORY_PARAMS(16, 1 << 20),
};

const blis_policy_entry blis__router_sglang_lmetric = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "sglang.lmetric",
    .summary = "least new tokens x (requests in flight + 1)",
    .source = "SGLang gateway acaa759a; blocks in place of characters",
    BLIS__PARAMS(memory_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
                  .least = {.by = {lmetric, blis__in_flight, new_tokens}}, .has_memory = true),
};

enum { OVERLAP_WEIGHT, BLOCK_SIZE };

static const blis_param_spec infera_params[] = {
    BLIS__NUMBER("overlap_weight", 0, 1e9, 1, "requests per block", "weight of an uncached block"),
    BLIS__BLOCK_SIZE_PARAM(16, "size of the blocks counted"),
};

static double infera_cost(const blis_question *q, size_t i) {
  const double *v = ((const blis__gateway *)q->state)->values;
  double cached = blis__column_at(q, BLIS_SIGNAL_CACHED_TOKENS, i);
  double missed = ((double)q->request->prompt_tokens - cached) / v[BLOCK_SIZE];
  return v[OVERLAP_WEIGHT] * missed + blis__in_flight(q, i);
}

const blis_policy_entry blis__router_infera_kv = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "infera.kv",
    .summary = "least weight x uncached blocks + requests in flight",
    .source = "Infera, KV-aware routing",
    BLIS__PARAMS(infera_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) |
                      BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
                  .least = {.by = {infera_cost}}),
};
