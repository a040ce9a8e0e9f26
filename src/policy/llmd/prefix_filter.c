/*
 * llmd_prefix_filter.c - filter llm-d.prefix-cache-affinity-filter: the
 * candidates that know most of the prompt, unless waiting for them costs too
 * much.
 */
#include <math.h>

#include "base/random.h"
#include "policy/contract/policy.h"
#include "policy/memory/prefix_memory.h"
#include "policy/pickers/pick_rules.h"

enum { PARAM_COUNT = 6 };

static const blis_param_spec params_of[PARAM_COUNT] = {
    {.name = "affinity_threshold",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1,
     .fallback = 0.8,
     .unit = "0 to 1",
     .summary = "share of the prompt that must be known; 0 = keep all"},
    {.name = "exploration_probability",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1,
     .fallback = 0,
     .unit = "0 to 1",
     .summary = "how often all are kept all the same"},
    {.name = "max_ttft_penalty_ms",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e12,
     .fallback = 18000,
     .unit = "ms",
     .summary = "the TTFT may be this much longer than elsewhere; 0 = "
                "whatever it is"},
    {.name = "peak_prefill_throughput",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1e-3,
     .maximum = 1e12,
     .fallback = 15928,
     .unit = "tokens/s",
     .summary = "by which TTFT follows from uncached tokens in flight"},
    BLIS__BLOCK_SIZE_PARAM(64, "of the filter's own index"),
    BLIS__INDEX_CAPACITY_PARAM(31250, "of the filter's own index per instance"),
};

typedef struct prefix_filter {
  blis__prefix_memory memory;
  double threshold;
  double exploration;
  double max_penalty_ms;
  double tokens_per_ms;
  blis_random random;
} prefix_filter;

static bool is_sticky(const prefix_filter *self, const blis_routing_view *view,
                      size_t i) {
  return blis__prefix_memory_share(&self->memory, view, i) >= self->threshold;
}

/* Whether the best of the sticky ones is too far behind the best of the rest.
 */
static bool is_too_slow(const prefix_filter *self,
                        const blis_routing_view *view) {
  const double *pending = view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS];
  double best[2] = {(double)INFINITY, (double)INFINITY};
  for (size_t i = 0; i < view->count; i++) {
    double ttft_ms = pending[i] / self->tokens_per_ms;
    bool sticky = is_sticky(self, view, i);
    best[sticky] = ttft_ms < best[sticky] ? ttft_ms : best[sticky];
  }
  return self->max_penalty_ms > 0 && isfinite(best[0]) &&
         best[1] - best[0] > self->max_penalty_ms;
}

static blis_status filter(void *state, const blis_routing_request *request,
                          const blis_routing_view *view, bool *keep,
                          blis_error *error) {
  prefix_filter *self = state;
  if (view->count == 1 || self->threshold <= 0) {
    return BLIS_OK;
  }
  bool explores = self->exploration > 0 &&
                  blis_random_float64(&self->random) < self->exploration;
  if (explores) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__prefix_memory_look_up(&self->memory, request, view),
               error);
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

static blis_status observe(void *state, const blis_routing_request *request,
                           const blis_routing_view *view, size_t chosen,
                           blis_error *error) {
  prefix_filter *self = state;
  return blis__prefix_memory_observe(&self->memory, request,
                                     view->instances[chosen]) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static void free_state(const blis_alloc *alloc, void *state) {
  prefix_filter *self = state;
  blis__prefix_memory_deinit(&self->memory);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_filter_ops ops = {
    .filter = filter, .observe = observe, .free = free_state};

static double number_of(const blis_params *params, const char *name) {
  return blis_params_number(params, params_of, PARAM_COUNT, name);
}

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context, blis_filter *made,
                          blis_error *error) {
  uint32_t block_size = (uint32_t)number_of(params, "block_size");
  uint64_t capacity = (uint64_t)number_of(params, "capacity");
  prefix_filter *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  if (self == NULL || blis__prefix_memory_init(&self->memory, alloc, block_size,
                                               capacity) != BLIS_OK) {
    blis_alloc_free(alloc, self, sizeof *self);
    return blis_fail_nomem(error);
  }
  self->threshold = number_of(params, "affinity_threshold");
  self->exploration = number_of(params, "exploration_probability");
  self->max_penalty_ms = number_of(params, "max_ttft_penalty_ms");
  self->tokens_per_ms = number_of(params, "peak_prefill_throughput") / 1000;
  blis_policy_random_init(&self->random, context->seed,
                          "llm-d.prefix-cache-affinity-filter");
  *made = (blis_filter){.ops = &ops,
                        .state = self,
                        .alloc = *alloc,
                        .needs =
                            BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS),
                        .name = "llm-d.prefix-cache-affinity-filter"};
  return BLIS_OK;
}

const blis_filter_entry blis__filter_prefix_cache_affinity = {
    .name = "llm-d.prefix-cache-affinity-filter",
    .aliases = "",
    .summary = "keeps those that know most of the prompt, unless their TTFT is "
               "much longer than elsewhere",
    .source = "llm-d router ebab6879",
    .params = params_of,
    .param_count = PARAM_COUNT,
    .create = create,
};
