/*
 * scorers.c - scorers of the llm-d router that differ from those of the
 * reference simulator: active-request-scorer, token-load-scorer,
 * prefix-cache-scorer.
 */
#include "policy/contract/entry.h"
#include "policy/memory/prefix_memory.h"
#include "policy/scorers/column_scorer.h"

#define LLMD_SOURCE "llm-d router ebab6879"

typedef struct active_scorer {
  double idle_threshold;
  double best_of_busy;
} active_scorer;

static blis_status score_active(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  const active_scorer *self = q->state;
  blis__score_idle(view->columns[BLIS_SIGNAL_IN_FLIGHT], view->count,
                   self->idle_threshold, self->best_of_busy, scores);
  return BLIS_OK;
}

static const blis_param_spec active_params[] = {
    BLIS__NUMBER("idle_threshold", 0, 1e12, 0, "requests",
                 "an instance with at most this many in flight is idle",
                 BLIS__INTO(active_scorer, idle_threshold)),
    BLIS__NUMBER("max_busy_score", 0, 1, 1, "0 to 1",
                 "highest score of an instance that is not idle",
                 BLIS__INTO(active_scorer, best_of_busy)),
};

const blis_policy_entry blis__scorer_llmd_active_request = {
    .kind = BLIS_POLICY_SCORER,
    .name = "llm-d.active-request-scorer",
    .summary = "(max - in flight) / max; 1 when idle, 0 for all when equally "
               "busy",
    .source = LLMD_SOURCE,
    BLIS__PARAMS(active_params),
    .ops = &(const blis_scorer_ops){.score = score_active},
    .state_size = sizeof(active_scorer),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
};

typedef struct token_load {
  double full; /* tokens */
} token_load;

static blis_status score_token_load(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  const token_load *self = q->state;
  const double *pending = view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS];
  const double *cached = view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  double prompt = (double)q->request->prompt_tokens;
  for (size_t i = 0; i < view->count; i++) {
    double share = (pending[i] + prompt - cached[i]) / self->full;
    scores[i] = share > 1 ? 0 : 1 - share;
  }
  return BLIS_OK;
}

static const blis_param_spec token_load_params[] = {
    BLIS__NUMBER("queue_threshold_tokens", 1, 1e15, 4194304, "tokens",
                 "uncached tokens at which the score reaches 0",
                 BLIS__INTO(token_load, full)),
};

const blis_policy_entry blis__scorer_llmd_token_load = {
    .kind = BLIS_POLICY_SCORER,
    .name = "llm-d.token-load-scorer",
    .summary = "1 - uncached tokens in flight and of the request / threshold",
    .source = LLMD_SOURCE,
    BLIS__PARAMS(token_load_params),
    .ops = &(const blis_scorer_ops){.score = score_token_load},
    .state_size = sizeof(token_load),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
};

typedef struct prefix_scorer {
  blis__prefix_memory memory;
  double length_weight;
  double length_scale; /* tokens */
} prefix_scorer;

static blis_status score_prefix(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  prefix_scorer *self = q->state;
  BLIS_TRY_MEM(blis__prefix_memory_look_up(&self->memory, q->request, view),
               q->error);
  double weight = self->length_weight;
  for (size_t i = 0; i < view->count; i++) {
    double tokens = (double)blis__prefix_memory_tokens(&self->memory, view, i);
    double length = tokens / self->length_scale;
    length = length < 1 ? length : 1;
    double share = blis__prefix_memory_share(&self->memory, view, i);
    scores[i] = weight * length * length + (1 - weight) * share;
  }
  return BLIS_OK;
}

static blis_status observe_prefix(const blis_question *q, size_t chosen) {
  prefix_scorer *self = q->state;
  BLIS_TRY_MEM(blis__prefix_memory_observe(&self->memory, q->request,
                                           q->view->instances[chosen]),
               q->error);
  return BLIS_OK;
}

static int64_t believed_tokens(const void *state, const blis_routing_view *view,
                               size_t candidate) {
  const prefix_scorer *self = state;
  return blis__prefix_memory_tokens(&self->memory, view, candidate);
}

static void free_prefix(const blis_alloc *alloc, void *state) {
  (void)alloc;
  prefix_scorer *self = state;
  blis__prefix_memory_deinit(&self->memory);
}

static const blis_scorer_ops prefix_ops = {.score = score_prefix,
                                           .observe = observe_prefix,
                                           .believed_tokens = believed_tokens,
                                           .free = free_prefix};

static const blis_param_spec prefix_params[] = {
    BLIS__NUMBER("match_length_weight", 0, 1, 0, "0 to 1",
                 "weight of the match length against its share of the prompt",
                 BLIS__INTO(prefix_scorer, length_weight)),
    BLIS__NUMBER("match_length_scale_tokens", 1, 1e15, 8192, "tokens",
                 "longer matches score no higher",
                 BLIS__INTO(prefix_scorer, length_scale)),
    BLIS__BLOCK_SIZE_PARAM(
        64,
        "block size of the producer's index (below 64 the original takes 64)"),
    BLIS__INDEX_CAPACITY_PARAM(31250,
                               "size of the producer's index per instance"),
};

static blis_status init_prefix(void *state, blis_policy_setup *setup,
                               blis_error *error) {
  prefix_scorer *self = state;
  BLIS_TRY_MEM(blis__prefix_memory_setup(&self->memory, setup), error);
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_llmd_prefix_cache = {
    .kind = BLIS_POLICY_SCORER,
    .name = "llm-d.prefix-cache-scorer",
    .summary =
        "share of the prompt in the router's index, and length of the match",
    .source = LLMD_SOURCE "; a partial last block does not count",
    BLIS__PARAMS(prefix_params),
    .ops = &prefix_ops,
    .state_size = sizeof(prefix_scorer),
    .init = init_prefix,
};
