/*
 * ray_prefix.c - routing policy ray.prefix-cache-affinity: selects the shortest queue among the
 * instances with the longest match of the prompt. If no match is long enough, it considers the
 * instances with the smallest memory instead.
 */
#include "policy/gateways/gateway.h"

enum { IMBALANCED, MATCH_RATE };

static const blis_param_spec params_of[] = {
    BLIS__NUMBER("imbalanced_threshold", 0, 1e15, 1e15, "requests",
                 "if queue lengths differ by more, the shorter of two random queues"),
    BLIS__NUMBER("match_rate_threshold", 0, 1, 0.1, "0 to 1",
                 "minimum known share of the prompt to follow it"),
    BLIS__GATEWAY_MEMORY_PARAMS(16, 1 << 20),
};

static blis_status choose(const blis_question *q, size_t *chosen) {
  static const blis__least most_known = {.by = {blis__known_negated, blis__in_flight}};
  static const blis__least smallest = {.by = {blis__memory_size, blis__in_flight}};
  const blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  blis__range queues = blis__range_of(view->columns[BLIS_SIGNAL_IN_FLIGHT], view->count);
  if (queues.high - queues.low > self->values[IMBALANCED]) {
    *chosen = blis__less_of_two(q, blis__in_flight);
    return BLIS_OK;
  }
  *chosen = blis__least_of(q, &most_known);
  double length = q->request->prompt_tokens > 0 ? (double)q->request->prompt_tokens : 1;
  double rate = (0 - blis__known_negated(q, *chosen)) / length;
  if (rate < self->values[MATCH_RATE]) {
    *chosen = blis__least_of(q, &smallest);
  }
  return BLIS_OK;
}

const blis_policy_entry blis__router_ray_prefix_cache_affinity = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "ray.prefix-cache-affinity",
    .summary = "shortest queue among those that know most of the prompt, else "
               "among the smallest memories",
    .source = "Ray Serve LLM 06c16f2f; blocks in place of characters",
    BLIS__PARAMS(params_of),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose, .has_memory = true),
};
