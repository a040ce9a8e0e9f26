/*
 * scorers.c - scorers of the llm-d router that differ from those of the reference simulator:
 * active-request-scorer, token-load-scorer, prefix-cache-scorer.
 */
#include "policy/contract/entry.h"
#include "policy/memory/prefix_memory.h"
#include "policy/scorers/column_scorer.h"

#define LLMD_SOURCE "llm-d router ebab6879"

typedef struct active_scorer {
  double idle_threshold;
  double best_of_busy;
} active_scorer;

static blis_score_form active_form(const void *state) {
  const active_scorer *self = state;
  return (blis_score_form){.rule = BLIS_SCORE_IDLE,
                           .signal = BLIS_SIGNAL_IN_FLIGHT,
                           .threshold = self->idle_threshold,
                           .factor = self->best_of_busy};
}

BLIS__SCORE_BY_FORM(score_active, active_form)

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
    .ops = &(const blis_scorer_ops){.score = score_active, .form = active_form},
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
                 "uncached tokens at which the score reaches 0", BLIS__INTO(token_load, full)),
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
  int64_t max_tokens;  /* maximum number of prompt tokens that count; 0 = all */
} prefix_scorer;

/* Returns the score of a match with this number of tokens, which are this fraction of the
   prompt. */
static double score_of(const prefix_scorer *self, double tokens, double share) {
  double weight = self->length_weight;
  double length = tokens / self->length_scale;
  length = length < 1 ? length : 1;
  return weight * length * length + (1 - weight) * share;
}

/* Returns the score of a candidate's match in the last lookup. */
static double score_of_match(const prefix_scorer *self, const blis_routing_view *view,
                             size_t candidate) {
  const blis__prefix_memory *memory = &self->memory;
  return score_of(self, (double)blis__prefix_memory_tokens(memory, view, candidate),
                  blis__prefix_memory_share(memory, view, candidate));
}

static blis_status score_prefix(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  prefix_scorer *self = q->state;
  BLIS_TRY_MEM(blis__prefix_memory_look_up(&self->memory, q->request, view), q->error);
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = score_of_match(self, view, i);
  }
  return BLIS_OK;
}

static blis_status score_few_prefixes(const blis_question *q, double *scores, uint32_t *few,
                                      size_t *count) {
  prefix_scorer *self = q->state;
  BLIS_TRY_MEM(blis__prefix_memory_look_up(&self->memory, q->request, q->view), q->error);
  *count = self->memory.few.count;
  for (size_t k = 0; k < *count; k++) {
    few[k] = self->memory.few.items[k];
    scores[few[k]] = score_of_match(self, q->view, few[k]);
  }
  return BLIS_OK;
}

static blis_status observe_prefix(const blis_question *q, size_t chosen) {
  prefix_scorer *self = q->state;
  BLIS_TRY_MEM(blis__prefix_memory_observe(&self->memory, q->request, q->view->instances[chosen]),
               q->error);
  return BLIS_OK;
}

static int64_t believed_tokens(const void *state, const blis_routing_view *view, size_t candidate) {
  const prefix_scorer *self = state;
  return blis__prefix_memory_tokens(&self->memory, view, candidate);
}

static void free_prefix(const blis_alloc *alloc, void *state) {
  (void)alloc;
  prefix_scorer *self = state;
  blis__prefix_memory_deinit(&self->memory);
}

static const blis_scorer_ops prefix_ops = {.score = score_prefix,
                                           .score_few = score_few_prefixes,
                                           .observe = observe_prefix,
                                           .believed_tokens = believed_tokens,
                                           .free = free_prefix};

/* Scores with the precise producer, to which the instances report every block. */
static blis_status score_precise(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  const double *tokens = view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  const double *share = view->columns[BLIS_SIGNAL_PREFIX_HIT];
  for (size_t i = 0; i < view->count; i++) {
    scores[i] = score_of(q->state, tokens[i], share[i]);
  }
  return BLIS_OK;
}

static int64_t precise_tokens(const void *state, const blis_routing_view *view, size_t candidate) {
  (void)state;
  return (int64_t)view->columns[BLIS_SIGNAL_CACHED_TOKENS][candidate];
}

static const blis_scorer_ops precise_ops = {.score = score_precise,
                                            .believed_tokens = precise_tokens};

enum { APPROX, PRECISE }; /* producers */

static const blis_param_spec prefix_params[] = {
    BLIS__NUMBER("match_length_weight", 0, 1, 0, "0 to 1",
                 "weight of the match length against its share of the prompt",
                 BLIS__INTO(prefix_scorer, length_weight)),
    BLIS__NUMBER("match_length_scale_tokens", 1, 1e15, 8192, "tokens",
                 "longer matches score no higher", BLIS__INTO(prefix_scorer, length_scale)),
    BLIS__BLOCK_SIZE_PARAM(64,
                           "block size of the producer's index (below 64 the original takes 64)"),
    BLIS__INDEX_CAPACITY_PARAM(31250, "size of the producer's index per instance"),
    BLIS__INTEGER("max_prefix_tokens", 0, 1 << 30, 0, "tokens",
                  "what is behind them counts for nothing; 0 = all counts "
                  "(llm-d's producer: 131072)",
                  BLIS__INTO(prefix_scorer, max_tokens)),
    BLIS__CHOICE("producer", "approx|precise",
                 "approx: an index of what was sent; precise: what the "
                 "instances say they have (block_size, capacity and "
                 "max_prefix_tokens are of the other)"),
};

static blis_status init_prefix(void *state, blis_policy_setup *setup, blis_error *error) {
  prefix_scorer *self = state;
  if (blis_setup_choice(setup, "producer") == PRECISE) {
    setup->ops = &precise_ops;
    setup->needs =
        BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_PREFIX_HIT);
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__prefix_memory_setup(&self->memory, setup), error);
  int64_t size = self->memory.block_size_tokens;
  self->memory.max_blocks = (uint32_t)((self->max_tokens + size - 1) / size);
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_llmd_prefix_cache = {
    .kind = BLIS_POLICY_SCORER,
    .name = "llm-d.prefix-cache-scorer",
    .summary = "share of the prompt in the router's index, and length of the match",
    .source = LLMD_SOURCE "; a partial last block does not count",
    BLIS__PARAMS(prefix_params),
    .ops = &prefix_ops,
    .state_size = sizeof(prefix_scorer),
    .init = init_prefix,
};
