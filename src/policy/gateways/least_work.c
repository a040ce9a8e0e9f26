/*
 * least_work.c - routing policies that minimise the work ahead: sglang.lmetric,
 * infera.kv.
 */
#include "policy/gateways/gateway.h"

static double new_tokens(const blis__gateway *self,
                         const blis_routing_request *request,
                         const blis_routing_view *view, size_t i) {
  int64_t known = blis__prefix_memory_tokens(&self->memory, view, i);
  int64_t fresh = request->prompt_tokens - known;
  return fresh > 0 ? (double)fresh : 0;
}

/* Less of new x (load + 1), of load, of new; then the first. */
static blis_status choose_sglang(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  const double *load = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  *chosen = 0;
  double best = new_tokens(self, request, view, 0) * (load[0] + 1);
  for (size_t i = 1; i < view->count; i++) {
    double fresh = new_tokens(self, request, view, i);
    double score = fresh * (load[i] + 1);
    bool is_better =
        score < best ||
        (score == best && (load[i] < load[*chosen] ||
                           (load[i] == load[*chosen] &&
                            fresh < new_tokens(self, request, view, *chosen))));
    if (is_better) {
      *chosen = i;
      best = score;
    }
  }
  return BLIS_OK;
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
                  .choose = choose_sglang, .has_memory = true),
};

static double cached_at(const blis_routing_view *view, size_t i) {
  return view->columns[BLIS_SIGNAL_CACHED_TOKENS][i];
}

enum { OVERLAP_WEIGHT };

static const blis_param_spec infera_params[] = {
    BLIS__NUMBER("overlap_weight", 0, 1e9, 1, "requests per block",
                 "weight of an uncached block"),
    BLIS__BLOCK_SIZE_PARAM(16, "size of the blocks counted"),
};

static double infera_cost(const blis__gateway *self,
                          const blis_routing_request *request,
                          const blis_routing_view *view, size_t i) {
  double missed = ((double)request->prompt_tokens - cached_at(view, i)) /
                  self->values[OVERLAP_WEIGHT + 1];
  return self->values[OVERLAP_WEIGHT] * missed +
         view->columns[BLIS_SIGNAL_IN_FLIGHT][i];
}

BLIS__LEAST_RULE(infera_kv, infera_cost(q->state, q->request, q->view, i))

const blis_policy_entry blis__router_infera_kv = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "infera.kv",
    .summary = "least weight x uncached blocks + requests in flight",
    .source = "Infera, KV-aware routing",
    BLIS__PARAMS(infera_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) |
                      BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
                  .choose = choose_infera_kv),
};
