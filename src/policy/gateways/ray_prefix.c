/*
 * ray_prefix.c - routing policy ray.prefix-cache-affinity: among the instances
 * that know most of the prompt (or, when none knows enough, those with the
 * smallest memory) the one with the shortest queue.
 */
#include "policy/gateways/gateway.h"
#include "policy/pickers/pick_rules.h"

enum { IMBALANCED, MATCH_RATE };

static const blis_param_spec params_of[] = {
    BLIS__NUMBER(
        "imbalanced_threshold", 0, 1e15, 1e15, "requests",
        "if queue lengths differ by more, the shorter of two random queues"),
    BLIS__NUMBER("match_rate_threshold", 0, 1, 0.1, "0 to 1",
                 "minimum known share of the prompt to follow it"),
    BLIS__GATEWAY_MEMORY_PARAMS(16, 1 << 20),
};

static double size_at(const blis__gateway *self, const blis_routing_view *view,
                      size_t i) {
  return (double)blis_prefix_index_size(self->memory.index, view->instances[i]);
}

static double known_at(const blis__gateway *self, const blis_routing_view *view,
                       size_t i) {
  return (double)blis__prefix_memory_tokens(&self->memory, view, i);
}

typedef double (*figure_at)(const blis__gateway *self,
                            const blis_routing_view *view, size_t i);

/* The shortest queue, the first of them, among those of the least figure. */
static size_t shortest_of_least(const blis__gateway *self,
                                const blis_routing_view *view, figure_at figure,
                                double sign) {
  const double *queue = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  size_t best = 0;
  for (size_t i = 1; i < view->count; i++) {
    double less = sign * (figure(self, view, best) - figure(self, view, i));
    best = less > 0 || (less == 0 && queue[i] < queue[best]) ? i : best;
  }
  return best;
}

static size_t choose_of_two(blis__gateway *self,
                            const blis_routing_view *view) {
  const double *queue = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  size_t first;
  size_t second;
  blis_pick_two(&self->random, view->count, &first, &second);
  return queue[second] < queue[first] ? second : first;
}

static blis_status choose(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  blis__range queues =
      blis__range_of(view->columns[BLIS_SIGNAL_IN_FLIGHT], view->count);
  if (queues.high - queues.low > self->values[IMBALANCED]) {
    *chosen = choose_of_two(self, view);
    return BLIS_OK;
  }
  *chosen = shortest_of_least(self, view, known_at, -1);
  double length =
      q->request->prompt_tokens > 0 ? (double)q->request->prompt_tokens : 1;
  double rate = known_at(self, view, *chosen) / length;
  if (rate < self->values[MATCH_RATE]) {
    *chosen = shortest_of_least(self, view, size_at, 1);
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
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose,
                  .has_memory = true),
};
