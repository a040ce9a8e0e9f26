/*
 * llmd_scorers.c - scorers of the llm-d router that differ from those of the
 * reference simulator: queue-scorer,
 * active-request-scorer, token-load-scorer, prefix-cache-scorer.
 */
#include "policy/contract/policy.h"
#include "policy/memory/prefix_memory.h"
#include "policy/scorers/column_scorer.h"

#define LLMD_SOURCE "llm-d router ebab6879"

static blis_status score_queue(void *state, const blis_routing_request *request,
                               const blis_routing_view *view, double *scores,
                               blis_error *error) {
  (void)state, (void)request, (void)error;
  blis__score_least(view->columns[BLIS_SIGNAL_QUEUE_DEPTH], view->count,
                    scores);
  return BLIS_OK;
}

static const blis_scorer_ops queue_ops = {.score = score_queue};

static blis_status create_queue(const blis_alloc *alloc,
                                const blis_params *params,
                                const blis_policy_context *context,
                                blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context, (void)error;
  *scorer = blis__column_scorer(alloc, "llm-d.queue-scorer", &queue_ops,
                                BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH));
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_llmd_queue = {
    .name = "llm-d.queue-scorer",
    .aliases = "",
    .summary = "(max - waiting) / (max - min); 1 when equal",
    .source = LLMD_SOURCE,
    .create = create_queue,
};

/* Scorers with two numbers. */
typedef struct two_numbers {
  double first;
  double second;
} two_numbers;

static void free_numbers(const blis_alloc *alloc, void *state) {
  blis_alloc_free(alloc, state, sizeof(two_numbers));
}

static blis_status make_with_numbers(const blis_alloc *alloc,
                                     const blis_scorer_entry *entry,
                                     const blis_params *params,
                                     const blis_scorer_ops *ops,
                                     blis_signal_set needs, blis_scorer *scorer,
                                     blis_error *error) {
  two_numbers *numbers = blis_alloc_zeroed(alloc, 1, sizeof *numbers);
  BLIS_TRY_NEW(numbers, error);
  numbers->first = blis_params_number(params, entry->params, entry->param_count,
                                      entry->params[0].name);
  if (entry->param_count > 1) {
    numbers->second = blis_params_number(
        params, entry->params, entry->param_count, entry->params[1].name);
  }
  *scorer = blis__column_scorer(alloc, entry->name, ops, needs);
  scorer->state = numbers;
  return BLIS_OK;
}

static blis_status score_active(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view, double *scores,
                                blis_error *error) {
  (void)request, (void)error;
  const two_numbers *self = state; /* idle threshold, best of the busy */
  const double *active = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  double highest = 0;
  for (size_t i = 0; i < view->count; i++) {
    highest = active[i] > highest ? active[i] : highest;
  }
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = active[i] <= self->first
                    ? 1
                    : (highest - active[i]) / highest * self->second;
  }
  return BLIS_OK;
}

static const blis_scorer_ops active_ops = {.score = score_active,
                                           .free = free_numbers};

static const blis_param_spec active_params[] = {
    {.name = "idle_threshold",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e12,
     .fallback = 0,
     .unit = "requests",
     .summary = "up to so many in flight an instance is idle"},
    {.name = "max_busy_score",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1,
     .fallback = 1,
     .unit = "0 to 1",
     .summary = "highest score of one that is not"},
};

static blis_status create_active(const blis_alloc *alloc,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_scorer *scorer, blis_error *error) {
  (void)context;
  return make_with_numbers(alloc, &blis__scorer_llmd_active_request, params,
                           &active_ops, BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
                           scorer, error);
}

const blis_scorer_entry blis__scorer_llmd_active_request = {
    .name = "llm-d.active-request-scorer",
    .aliases = "",
    .summary = "(max - in flight) / max; 1 when idle, 0 for all when equally "
               "busy",
    .source = LLMD_SOURCE,
    .params = active_params,
    .param_count = 2,
    .create = create_active,
};

static blis_status score_token_load(void *state,
                                    const blis_routing_request *request,
                                    const blis_routing_view *view,
                                    double *scores, blis_error *error) {
  (void)error;
  const two_numbers *self = state; /* tokens of a full queue */
  const double *pending = view->columns[BLIS_SIGNAL_PENDING_PREFILL_TOKENS];
  const double *cached = view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  double prompt = (double)request->prompt_tokens;
  for (size_t i = 0; i < view->count; i++) {
    double share = (pending[i] + prompt - cached[i]) / self->first;
    scores[i] = share > 1 ? 0 : 1 - share;
  }
  return BLIS_OK;
}

static const blis_scorer_ops token_load_ops = {.score = score_token_load,
                                               .free = free_numbers};

static const blis_param_spec token_load_params[] = {
    {.name = "queue_threshold_tokens",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1,
     .maximum = 1e15,
     .fallback = 4194304,
     .unit = "tokens",
     .summary = "uncached tokens from which on the score is 0"},
};

static blis_status create_token_load(const blis_alloc *alloc,
                                     const blis_params *params,
                                     const blis_policy_context *context,
                                     blis_scorer *scorer, blis_error *error) {
  (void)context;
  return make_with_numbers(alloc, &blis__scorer_llmd_token_load, params,
                           &token_load_ops,
                           BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS) |
                               BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
                           scorer, error);
}

const blis_scorer_entry blis__scorer_llmd_token_load = {
    .name = "llm-d.token-load-scorer",
    .aliases = "",
    .summary = "1 - uncached tokens in flight and of the request / threshold",
    .source = LLMD_SOURCE,
    .params = token_load_params,
    .param_count = 1,
    .create = create_token_load,
};

typedef struct prefix_scorer {
  blis__prefix_memory memory;
  double length_weight;
  double length_scale; /* tokens */
} prefix_scorer;

static blis_status score_prefix(void *state,
                                const blis_routing_request *request,
                                const blis_routing_view *view, double *scores,
                                blis_error *error) {
  prefix_scorer *self = state;
  BLIS_TRY_MEM(blis__prefix_memory_look_up(&self->memory, request, view),
               error);
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

static blis_status observe_prefix(void *state,
                                  const blis_routing_request *request,
                                  const blis_routing_view *view, size_t chosen,
                                  blis_error *error) {
  prefix_scorer *self = state;
  return blis__prefix_memory_observe(&self->memory, request,
                                     view->instances[chosen]) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static int64_t believed_tokens(const void *state, const blis_routing_view *view,
                               size_t candidate) {
  const prefix_scorer *self = state;
  return blis__prefix_memory_tokens(&self->memory, view, candidate);
}

static void free_prefix(const blis_alloc *alloc, void *state) {
  prefix_scorer *self = state;
  blis__prefix_memory_deinit(&self->memory);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_scorer_ops prefix_ops = {.score = score_prefix,
                                           .observe = observe_prefix,
                                           .believed_tokens = believed_tokens,
                                           .free = free_prefix};

enum { PREFIX_PARAM_COUNT = 4 };

static const blis_param_spec prefix_params[PREFIX_PARAM_COUNT] = {
    {.name = "match_length_weight",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1,
     .fallback = 0,
     .unit = "0 to 1",
     .summary = "of the length of the match against its share of the prompt"},
    {.name = "match_length_scale_tokens",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 1,
     .maximum = 1e15,
     .fallback = 8192,
     .unit = "tokens",
     .summary = "a match of this length is as good as a longer one"},
    BLIS__BLOCK_SIZE_PARAM(
        64, "of the producer's index (below 64 the original takes 64)"),
    BLIS__INDEX_CAPACITY_PARAM(31250, "of the producer's index per instance"),
};

static double prefix_number(const blis_params *params, const char *name) {
  return blis_params_number(params, prefix_params, PREFIX_PARAM_COUNT, name);
}

static blis_status create_prefix(const blis_alloc *alloc,
                                 const blis_params *params,
                                 const blis_policy_context *context,
                                 blis_scorer *scorer, blis_error *error) {
  (void)context;
  uint32_t block_size = (uint32_t)prefix_number(params, "block_size");
  uint64_t capacity = (uint64_t)prefix_number(params, "capacity");
  prefix_scorer *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  if (self == NULL || blis__prefix_memory_init(&self->memory, alloc, block_size,
                                               capacity) != BLIS_OK) {
    blis_alloc_free(alloc, self, sizeof *self);
    return blis_fail_nomem(error);
  }
  self->length_weight = prefix_number(params, "match_length_weight");
  self->length_scale = prefix_number(params, "match_length_scale_tokens");
  *scorer = (blis_scorer){.ops = &prefix_ops,
                          .state = self,
                          .alloc = *alloc,
                          .name = "llm-d.prefix-cache-scorer"};
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_llmd_prefix_cache = {
    .name = "llm-d.prefix-cache-scorer",
    .aliases = "",
    .summary = "share of the prompt that the router's index knows, and length "
               "of the match",
    .source = LLMD_SOURCE "; partial last blocks are not counted",
    .params = prefix_params,
    .param_count = PREFIX_PARAM_COUNT,
    .create = create_prefix,
};
