/*
 * load_scorers.c - scorers without memory, each one pass over a column:
 * queue-depth, kv-utilization, load-balance, precise-prefix-cache.
 */
#include "routing/policy.h"

#define DESIGN_SOURCE "Composable Scorer Framework for Weighted Routing"

typedef struct bounds {
  double lowest;
  double highest;
} bounds;

static bounds bounds_of(const double *values, size_t count) {
  bounds b = {values[0], values[0]};
  for (size_t i = 1; i < count; i++) {
    b.lowest = values[i] < b.lowest ? values[i] : b.lowest;
    b.highest = values[i] > b.highest ? values[i] : b.highest;
  }
  return b;
}

static void fill(double *scores, size_t count, double value) {
  for (size_t i = 0; i < count; i++) {
    scores[i] = value;
  }
}

/* The lowest value gets 1, the highest 0; all 1 when they are equal. */
static void score_least(const double *values, size_t count, double *scores) {
  bounds b = bounds_of(values, count);
  if (b.lowest == b.highest) {
    fill(scores, count, 1);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    scores[i] = (b.highest - values[i]) / (b.highest - b.lowest);
  }
}

static blis_status score_effective_load(void *state,
                                        const blis_routing_request *request,
                                        const blis_routing_view *view,
                                        double *scores, blis_error *error) {
  (void)state, (void)request, (void)error;
  score_least(view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD], view->count, scores);
  return BLIS_OK;
}

static blis_status score_queue(void *state, const blis_routing_request *request,
                               const blis_routing_view *view, double *scores,
                               blis_error *error) {
  (void)state, (void)request, (void)error;
  score_least(view->columns[BLIS_SIGNAL_QUEUE_DEPTH], view->count, scores);
  return BLIS_OK;
}

static blis_status make(const blis_alloc *alloc, const char *name,
                        const blis_scorer_ops *ops, blis_signal signal,
                        blis_scorer *scorer) {
  *scorer = (blis_scorer){.ops = ops,
                          .alloc = *alloc,
                          .needs = BLIS_SIGNAL_BIT(signal),
                          .name = name};
  return BLIS_OK;
}

static const blis_scorer_ops effective_load_ops = {.score =
                                                       score_effective_load};
static const blis_scorer_ops queue_ops = {.score = score_queue};

static const blis_param_spec queue_depth_params[] = {
    {.name = "load",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "effective|queue",
     .unit = "requests",
     .summary = "effective load, or waiting requests alone (default of "
                "profile go-blis)"},
};

static blis_status create_queue_depth(const blis_alloc *alloc,
                                      const blis_params *params,
                                      const blis_policy_context *context,
                                      blis_scorer *scorer, blis_error *error) {
  (void)error;
  bool is_given = blis_params_find(params, "load") != NULL;
  bool is_queue =
      is_given ? blis_params_choice(params, queue_depth_params, 1, "load") == 1
               : context->go_blis;
  return is_queue ? make(alloc, "queue-depth", &queue_ops,
                         BLIS_SIGNAL_QUEUE_DEPTH, scorer)
                  : make(alloc, "queue-depth", &effective_load_ops,
                         BLIS_SIGNAL_EFFECTIVE_LOAD, scorer);
}

const blis_scorer_entry blis__scorer_queue_depth = {
    .name = "queue-depth",
    .aliases = "",
    .summary = "(max - load) / (max - min) over the candidates; 1 when equal",
    .source = DESIGN_SOURCE "; BLIS (Go) v0.7.3 for load = queue",
    .params = queue_depth_params,
    .param_count = 1,
    .create = create_queue_depth,
};

static blis_status score_kv_utilization(void *state,
                                        const blis_routing_request *request,
                                        const blis_routing_view *view,
                                        double *scores, blis_error *error) {
  (void)state, (void)request, (void)error;
  const double *utilization = view->columns[BLIS_SIGNAL_KV_UTILIZATION];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = 1 - utilization[i];
  }
  return BLIS_OK;
}

static const blis_scorer_ops kv_utilization_ops = {.score =
                                                       score_kv_utilization};

static blis_status create_kv_utilization(const blis_alloc *alloc,
                                         const blis_params *params,
                                         const blis_policy_context *context,
                                         blis_scorer *scorer,
                                         blis_error *error) {
  (void)params, (void)context, (void)error;
  return make(alloc, "kv-utilization", &kv_utilization_ops,
              BLIS_SIGNAL_KV_UTILIZATION, scorer);
}

const blis_scorer_entry blis__scorer_kv_utilization = {
    .name = "kv-utilization",
    .aliases = "",
    .summary = "1 - share of the KV blocks in use",
    .source = DESIGN_SOURCE,
    .create = create_kv_utilization,
};

static blis_status score_load_balance(void *state,
                                      const blis_routing_request *request,
                                      const blis_routing_view *view,
                                      double *scores, blis_error *error) {
  (void)state, (void)request, (void)error;
  const double *load = view->columns[BLIS_SIGNAL_EFFECTIVE_LOAD];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = 1 / (1 + load[i]);
  }
  return BLIS_OK;
}

static const blis_scorer_ops load_balance_ops = {.score = score_load_balance};

static blis_status create_load_balance(const blis_alloc *alloc,
                                       const blis_params *params,
                                       const blis_policy_context *context,
                                       blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context, (void)error;
  return make(alloc, "load-balance", &load_balance_ops,
              BLIS_SIGNAL_EFFECTIVE_LOAD, scorer);
}

const blis_scorer_entry blis__scorer_load_balance = {
    .name = "load-balance",
    .aliases = "",
    .summary = "1 / (1 + effective load): keeps absolute differences",
    .source = DESIGN_SOURCE,
    .create = create_load_balance,
};

/* The most cached tokens get 1, the fewest 0; all 1 when they are equal. */
static blis_status score_precise(void *state,
                                 const blis_routing_request *request,
                                 const blis_routing_view *view, double *scores,
                                 blis_error *error) {
  (void)state, (void)request, (void)error;
  const double *cached = view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  bounds b = bounds_of(cached, view->count);
  if (b.lowest == b.highest) {
    fill(scores, view->count, 1);
    return BLIS_OK;
  }
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = (cached[i] - b.lowest) / (b.highest - b.lowest);
  }
  return BLIS_OK;
}

static const blis_scorer_ops precise_ops = {.score = score_precise};

static blis_status create_precise(const blis_alloc *alloc,
                                  const blis_params *params,
                                  const blis_policy_context *context,
                                  blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context, (void)error;
  return make(alloc, "precise-prefix-cache", &precise_ops,
              BLIS_SIGNAL_CACHED_TOKENS, scorer);
}

const blis_scorer_entry blis__scorer_precise_prefix_cache = {
    .name = "precise-prefix-cache",
    .aliases = "",
    .summary = "(cached - min) / (max - min), cached prefix tokens in the "
               "instances' own caches; 1 when equal",
    .source = "llm-d precise-prefix-cache-scorer; BLIS (Go) v0.7.5",
    .create = create_precise,
};
