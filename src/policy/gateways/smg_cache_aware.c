/*
 * smg_cache_aware.c - routing policy smg.cache_aware: selects the instance that has cached most of
 * the prompt if the match is long enough, otherwise the least loaded instance. While loads differ
 * too much, it always selects the least loaded instance.
 */
#include "policy/gateways/gateway.h"

enum { CACHE_THRESHOLD, ABSOLUTE, RELATIVE, OVERLOAD_USAGE, BALANCE_USAGE, INDEX, MISS, GATE };

enum { INDEX_APPROXIMATE, INDEX_EVENTS };
enum { MISS_MIN_LOAD, MISS_SMALLEST_TREE };
enum { GATE_RANGE, GATE_MEAN };

static const blis_param_spec params_of[] = {
    BLIS__NUMBER("cache_threshold", 0, 1, 0.3, "0 to 1",
                 "minimum known share of the prompt to follow it (library: 0.5)"),
    BLIS__NUMBER("balance_abs_threshold", 0, 1e12, 64, "requests",
                 "balance if the loads differ by more (library: 32)"),
    BLIS__NUMBER("balance_rel_threshold", 0, 1e12, 1.5, "",
                 "and the highest is more than this multiple of the lowest "
                 "(library: 1.1)"),
    BLIS__NUMBER("overload_token_usage_threshold", 0, 1, 1, "0 to 1",
                 "balance at a higher KV utilisation; 1 = never"),
    BLIS__NUMBER("balance_token_usage_threshold", 0, 1, 1, "0 to 1",
                 "balance if KV utilisations differ by more; 1 = never"),
    BLIS__CHOICE("index", "approximate|events",
                 "the gateway's own tree, or what the caches report"),
    BLIS__CHOICE("miss", "min-load|smallest-tree",
                 "choice for a prompt the tree knows too little of; its "
                 "documentation says smallest-tree"),
    BLIS__CHOICE("gate", "range|mean",
                 "what loads are compared with: the lowest one, for all "
                 "instances at once; or the mean, for the one that knows most "
                 "(SMG f8daa883)"),
    BLIS__GATEWAY_MEMORY_PARAMS(16, 1 << 20),
};

/*
 * Returns the candidate with the fewest requests in flight, then with the fewest sent so far, then
 * the first. This is a separate loop because it is the common case and visits all instances.
 */
static size_t least_loaded(const blis_question *q) {
  const double *load = q->view->columns[BLIS_SIGNAL_IN_FLIGHT];
  size_t best = 0;
  for (size_t i = 1; i < q->view->count; i++) {
    bool is_better = load[i] < load[best] ||
                     (load[i] == load[best] && blis__gateway_sent(q->state, q->view, i) <
                                                   blis__gateway_sent(q->state, q->view, best));
    best = is_better ? i : best;
  }
  return best;
}

static const blis__least smallest_tree = {.by = {blis__memory_size}};
static const blis__least most_known = {.by = {blis__known_negated, blis__in_flight}};
static const blis__least most_cached = {.by = {blis__cached_negated, blis__in_flight},
                                        .takes_last = true};

static bool is_imbalanced(const blis__gateway *self, const blis_routing_view *view) {
  const double *v = self->values;
  blis__range usage = blis__range_of(view->columns[BLIS_SIGNAL_KV_UTILIZATION], view->count);
  blis__range load = blis__range_of(view->columns[BLIS_SIGNAL_IN_FLIGHT], view->count);
  return usage.high > v[OVERLOAD_USAGE] || usage.high - usage.low > v[BALANCE_USAGE] ||
         (v[GATE] == GATE_RANGE && load.high - load.low > v[ABSOLUTE] &&
          load.high > v[RELATIVE] * load.low);
}

/* Returns the instance with the longest match, unless its load is far above the mean. */
static size_t spill(const blis_question *q, size_t chosen) {
  const blis__gateway *self = q->state;
  const double *v = self->values;
  const double *load = q->view->columns[BLIS_SIGNAL_IN_FLIGHT];
  if (v[GATE] != GATE_MEAN) {
    return chosen;
  }
  double sum = 0;
  for (size_t i = 0; i < q->view->count; i++) {
    sum += load[i];
  }
  double mean = sum / (double)q->view->count;
  bool is_above = load[chosen] > v[RELATIVE] * mean && load[chosen] > mean + v[ABSOLUTE];
  return is_above ? least_loaded(q) : chosen;
}

/* Returns the instance with the longest match in the tree, if the match is long enough. */
static size_t follow_tree(const blis_question *q) {
  const blis__gateway *self = q->state;
  size_t best = blis__least_of(q, &most_known);
  double matched = 0 - blis__known_negated(q, best);
  double length = (double)q->request->prompt_tokens;
  if (length > 0 && matched / length > self->values[CACHE_THRESHOLD]) {
    return spill(q, best);
  }
  return self->values[MISS] == MISS_SMALLEST_TREE ? blis__least_of(q, &smallest_tree)
                                                  : least_loaded(q);
}

/* Returns the instance that has cached the most, if any has cached tokens. */
static size_t follow_events(const blis_question *q) {
  size_t best = blis__least_of(q, &most_cached);
  return blis__cached_negated(q, best) < 0 ? spill(q, best) : least_loaded(q);
}

static blis_status choose(const blis_question *q, size_t *chosen) {
  const blis__gateway *self = q->state;
  if (is_imbalanced(self, q->view)) {
    *chosen = least_loaded(q);
  } else if (self->values[INDEX] == INDEX_EVENTS) {
    *chosen = follow_events(q);
  } else {
    *chosen = follow_tree(q);
  }
  return BLIS_OK;
}

const blis_policy_entry blis__router_smg_cache_aware = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "smg.cache_aware",
    .summary = "the instance with the longest match of the prompt, if the "
               "match is long enough and loads are balanced; else fewest "
               "requests in flight",
    .source = "SMG 73da68ca, defaults of its command line; blocks in place of "
              "characters",
    BLIS__PARAMS(params_of),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT) |
                      BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_UTILIZATION) |
                      BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
                  .choose = choose, .has_memory = true),
};
