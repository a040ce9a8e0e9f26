/*
 * aibrix.c - routing policies of the AIBrix gateway: prefix-cache, and policies
 * that minimize one metric.
 */
#include "policy/gateways/gateway.h"

enum { IMBALANCE, DEVIATIONS };

static const blis_param_spec prefix_params[] = {
    BLIS__NUMBER("imbalance", 0, 1e12, 8, "requests",
                 "if the loads differ by more, only the least busy count (README: 16)"),
    BLIS__NUMBER("deviations", 0, 1e9, 1, "",
                 "limit of a match above the mean number of requests, in "
                 "standard deviations (README: 2)"),
    BLIS__GATEWAY_MEMORY_PARAMS(16, 200000),
};

/* Returns the percentage of blocks that match, rounded down. */
static int64_t percent_at(const blis__gateway *self, const blis_routing_view *view, size_t i) {
  int64_t total = self->memory.prompt_blocks;
  int64_t matched = self->memory.blocks.items[view->instances[i]];
  return total > 0 ? matched * 100 / total : 0;
}

/* Collects the instances with a match of the prompt in self->order. */
static size_t collect_matched(blis__gateway *self, const blis_routing_view *view) {
  const double *running = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  blis__range range = blis__range_of(running, view->count);
  bool is_imbalanced = range.high - range.low > self->values[IMBALANCE];
  size_t count = 0;
  for (size_t i = 0; i < view->count; i++) {
    bool counts = !is_imbalanced || running[i] == range.low;
    if (counts && self->memory.blocks.items[view->instances[i]] > 0) {
      self->order.items[count++] = i;
    }
  }
  return count;
}

static void shuffle(blis_random *random, size_t *items, size_t count) {
  for (size_t i = count; i-- > 1;) {
    size_t k = (size_t)blis_random_intn(random, (int32_t)i + 1);
    size_t item = items[i];
    items[i] = items[k];
    items[k] = item;
  }
}

/* Returns the best of the matching instances within the load bound, in shuffled order, or count. */
static size_t best_match(const blis__gateway *self, const blis_routing_view *view, size_t matched,
                         double bound) {
  const double *running = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  size_t best = view->count;
  for (size_t k = 0; k < matched; k++) {
    size_t i = self->order.items[k];
    if (running[i] > bound) {
      continue;
    }
    int64_t percent = percent_at(self, view, i);
    int64_t best_percent = best == view->count ? -1 : percent_at(self, view, best);
    if (percent > best_percent || (percent == best_percent && running[i] < running[best])) {
      best = i;
    }
  }
  return best;
}

static blis_status choose_by_prefix(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const double *running = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  size_t matched = collect_matched(self, view);
  shuffle(&self->random, self->order.items, matched);
  double bound = blis__mean_bound(running, view->count, self->values[DEVIATIONS]);
  *chosen = best_match(self, view, matched, bound);
  if (*chosen == view->count) {
    *chosen = blis__any_least(&self->random, running, view->count);
  }
  return BLIS_OK;
}

const blis_policy_entry blis__router_aibrix_prefix_cache = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "aibrix.prefix-cache",
    .summary = "longest match among instances not far above the mean load, "
               "else fewest requests",
    .source = "AIBrix e3e10f9e; blocks of tokens, as with its tokenizer",
    BLIS__PARAMS(prefix_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose_by_prefix,
                  .has_memory = true),
};

#define AIBRIX_SOURCE "AIBrix e3e10f9e"

static blis_status choose_least_request(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  *chosen = blis__any_least(&self->random, view->columns[BLIS_SIGNAL_IN_FLIGHT], view->count);
  return BLIS_OK;
}

const blis_policy_entry blis__router_aibrix_least_request = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "aibrix.least-request",
    .summary = "fewest requests in flight, ties at random",
    .source = AIBRIX_SOURCE,
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose_least_request),
};

const blis_policy_entry blis__router_aibrix_least_kv_cache = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "aibrix.least-kv-cache",
    .summary = "lowest KV utilisation, the last in a tie",
    .source = AIBRIX_SOURCE,
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
                  .least = {.by = {blis__kv_utilization}, .takes_last = true}),
};

const blis_policy_entry blis__router_aibrix_least_gpu_cache = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "aibrix.least-gpu-cache",
    .summary = "lowest KV utilisation, the first in a tie",
    .source = AIBRIX_SOURCE,
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION),
                  .least = {.by = {blis__kv_utilization}}),
};

static blis_status choose_of_two(const blis_question *q, size_t *chosen) {
  *chosen = blis__less_of_two(q, blis__in_flight);
  return BLIS_OK;
}

const blis_policy_entry blis__router_aibrix_power_of_two = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "aibrix.power-of-two",
    .summary = "the one of two random instances with fewer requests in flight",
    .source = AIBRIX_SOURCE,
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose_of_two),
};
