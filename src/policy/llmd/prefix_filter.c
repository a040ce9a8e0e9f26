/*
 * prefix_filter.c - filter llm-d.prefix-cache-affinity-filter: keeps the candidates that have
 * cached most of the prompt, unless their queues are too long.
 */
#include <math.h>

#include "base/random.h"
#include "policy/contract/entry.h"
#include "policy/memory/prefix_memory.h"
#include "policy/pickers/pick_rules.h"

typedef struct prefix_filter {
  blis__prefix_memory memory;
  double threshold;
  double exploration;
  double max_penalty_ms;
  double tokens_per_s;
  blis_random random;
} prefix_filter;

static const blis_param_spec params_of[] = {
    BLIS__NUMBER("affinity_threshold", 0, 1, 0.8, "0 to 1",
                 "minimum known share of the prompt; 0 = keep all",
                 BLIS__INTO(prefix_filter, threshold)),
    BLIS__NUMBER("exploration_probability", 0, 1, 0, "0 to 1",
                 "share of decisions that keep all regardless",
                 BLIS__INTO(prefix_filter, exploration)),
    BLIS__NUMBER("max_ttft_penalty_ms", 0, 1e12, 18000, "ms",
                 "maximum excess TTFT over other candidates; 0 = no limit",
                 BLIS__INTO(prefix_filter, max_penalty_ms)),
    BLIS__NUMBER("peak_prefill_throughput", 1e-3, 1e12, 15928, "tokens/s",
                 "prefill rate that turns uncached tokens in flight into TTFT",
                 BLIS__INTO(prefix_filter, tokens_per_s)),
    BLIS__BLOCK_SIZE_PARAM(64, "block size of the filter's own index"),
    BLIS__INDEX_CAPACITY_PARAM(31250, "size block size of the filter's own index per instance"),
};

static bool is_sticky(const prefix_filter *self, const blis_routing_view *view, size_t i) {
  return blis__prefix_memory_share(&self->memory, view, i) >= self->threshold;
}

/* Returns whether the best sticky candidate is much slower than the best other candidate. */
static bool is_too_slow(const prefix_filter *self, const blis_routing_view *view) {
  const double *pending = view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS];
  double best[2] = {(double)INFINITY, (double)INFINITY};
  for (size_t i = 0; i < view->count; i++) {
    double ttft_ms = pending[i] / (self->tokens_per_s / 1000);
    bool sticky = is_sticky(self, view, i);
    best[sticky] = ttft_ms < best[sticky] ? ttft_ms : best[sticky];
  }
  return self->max_penalty_ms > 0 && isfinite(best[0]) && best[1] - best[0] > self->max_penalty_ms;
}

static blis_status filter(const blis_question *q, bool *keep) {
  const blis_routing_view *view = q->view;
  prefix_filter *self = q->state;
  if (view->count == 1 || self->threshold <= 0) {
    return BLIS_OK;
  }
  bool explores = self->exploration > 0 && blis_random_float64(&self->random) < self->exploration;
  if (explores) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__prefix_memory_look_up(&self->memory, q->request, view), q->error);
  size_t sticky = 0;
  for (size_t i = 0; i < view->count; i++) {
    sticky += is_sticky(self, view, i);
  }
  if (sticky == 0 || is_too_slow(self, view)) {
    return BLIS_OK;
  }
  for (size_t i = 0; i < view->count; i++) {
    keep[i] = is_sticky(self, view, i);
  }
  return BLIS_OK;
}

static blis_status observe(const blis_question *q, size_t chosen) {
  prefix_filter *self = q->state;
  BLIS_TRY_MEM(blis__prefix_memory_observe(&self->memory, q->request, q->view->instances[chosen]),
               q->error);
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  (void)alloc;
  prefix_filter *self = state;
  blis__prefix_memory_deinit(&self->memory);
}

static const blis_filter_ops ops = {.filter = filter, .observe = observe, .free = free_state};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  prefix_filter *self = state;
  blis_setup_random(setup, &self->random);
  BLIS_TRY_MEM(blis__prefix_memory_setup(&self->memory, setup), error);
  return BLIS_OK;
}

const blis_policy_entry blis__filter_prefix_cache_affinity = {
    .kind = BLIS_POLICY_FILTER,
    .name = "llm-d.prefix-cache-affinity-filter",
    .summary = "keeps the candidates that know most of the prompt, unless "
               "their TTFT is much longer",
    .source = "llm-d router ebab6879",
    BLIS__PARAMS(params_of),
    .ops = &ops,
    .state_size = sizeof(prefix_filter),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS),
    .init = init,
};
