/* The built-in deciders of BLIS (Go), llm-d, Dynamo, and Cognitora. */
#include <math.h>

#include "policy/contract/entry.h"
#include "policy/contract/stages.h"
#include "policy/decider/decider.h"

typedef enum when { SHORT, BUSY, SHORT_OR_BUSY } when;

typedef struct state {
  double threshold;     /* tokens */
  double prompt_tokens; /* shorter prompts are not split */
  double ratio;
  uint32_t when;      /* used by Dynamo's decider */
  double busy;        /* load above which the prefill instance is busy, in steps of prompt tokens */
  double decode_full; /* fraction of the KV blocks; negative: no limit */
  double block_size;  /* tokens */
  bool at_least;      /* for Cognitora: split also at exactly the threshold */
} state;

BLIS__POLICY_FREE(decider)

/* Returns the number of prompt tokens that are not cached on the chosen instance, at least 0. */
static double missing_tokens(const blis_question *q, size_t chosen) {
  const double *cached = q->view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  double missing = (double)q->request->prompt_tokens - cached[chosen];
  return missing > 0 ? missing : 0;
}

static blis_status never(const blis_question *q, size_t chosen, blis_split *split) {
  (void)q, (void)chosen;
  split->splits = false;
  return BLIS_OK;
}

static blis_status always(const blis_question *q, size_t chosen, blis_split *split) {
  (void)q, (void)chosen;
  split->splits = true;
  return BLIS_OK;
}

static blis_status prefix_threshold(const blis_question *q, size_t chosen, blis_split *split) {
  const state *self = q->state;
  split->splits = q->request->prompt_tokens > 0 && missing_tokens(q, chosen) > self->threshold;
  return BLIS_OK;
}

static blis_status llmd_prefix_based(const blis_question *q, size_t chosen, blis_split *split) {
  const state *self = q->state;
  double prompt = (double)q->request->prompt_tokens;
  split->splits = self->threshold > 0 && prompt >= self->prompt_tokens &&
                  prompt >= self->threshold && missing_tokens(q, chosen) >= self->threshold;
  return BLIS_OK;
}

/* Reads a signal of a candidate. Returns false if the candidate does not exist. */
static bool read(const blis_routing_view *view, size_t candidate, blis_signal signal,
                 double *value) {
  const double *column = view->columns[signal];
  if (column == NULL && view->column != NULL) {
    column = view->column(view->column_ud, signal);
  }
  *value = column != NULL ? column[candidate] : 0;
  return column != NULL;
}

/* Determines whether the request would have to wait at the prefill instance. Unknown load does
   not count as busy. */
static blis_status prefill_is_busy(const blis_question *q, double threshold, bool *is_busy) {
  const blis_stages *stages = q->request->stages;
  int64_t source = -1;
  *is_busy = false;
  if (stages == NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(stages->preview(stages->ud, &source, q->error));
  const blis_routing_view *peers = stages->peers(stages->ud, q->request);
  BLIS_TRY_NEW(peers, q->error);
  size_t place = source < 0 ? peers->count : blis_routing_view_find(peers, (uint32_t)source);
  double tokens, step;
  *is_busy =
      place < peers->count && read(peers, place, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, &tokens) &&
      read(peers, place, BLIS_SIGNAL_MAX_NUM_BATCHED_TOKENS, &step) && tokens > threshold * step;
  return BLIS_OK;
}

/* Returns whether the request would overfill the decode instance. */
static bool decode_is_full(const blis_question *q, size_t chosen, const state *self) {
  const double *const *columns = q->view->columns;
  double blocks = columns[BLIS_SIGNAL_KV_BLOCKS][chosen];
  double used = blocks - columns[BLIS_SIGNAL_FREE_KV_BLOCKS][chosen];
  double wanted = ceil((double)q->request->prompt_tokens / self->block_size);
  return self->decode_full >= 0 && used + wanted > self->decode_full * blocks;
}

static blis_status dynamo(const blis_question *q, size_t chosen, blis_split *split) {
  const state *self = q->state;
  double prompt = (double)q->request->prompt_tokens;
  double missing = missing_tokens(q, chosen);
  bool stays = self->when != BUSY && missing < self->threshold &&
               missing / (prompt > 1 ? prompt : 1) < self->ratio;
  if (!stays && self->when != SHORT) {
    BLIS_TRY(prefill_is_busy(q, self->busy, &stays));
  }
  split->splits = !stays || decode_is_full(q, chosen, self);
  return BLIS_OK;
}

static blis_status init_dynamo(void *ud, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  state *self = ud;
  self->block_size = (double)setup->context->kv_block_size_tokens;
  self->decode_full = blis_setup_has(setup, "decode_busy_threshold")
                          ? blis_setup_number(setup, "decode_busy_threshold")
                          : -1;
  return BLIS_OK;
}

/* Uses the current cache as reported by the instance itself. */
static blis_status if_available(const blis_question *q, size_t chosen, blis_split *split) {
  split->splits = q->view->columns[BLIS_SIGNAL_LIVE_PREFIX_HIT][chosen] < 1;
  return BLIS_OK;
}

static blis_status cognitora(const blis_question *q, size_t chosen, blis_split *split) {
  const state *self = q->state;
  (void)chosen;
  double prompt = (double)q->request->prompt_tokens;
  split->splits = self->at_least ? prompt >= self->threshold : prompt > self->threshold;
  return BLIS_OK;
}

#define TOKENS_MAX 1e9
#define TOKENS(given_name, usual, text, ...)                                                       \
  BLIS__NUMBER(given_name, 0, TOKENS_MAX, usual, "tokens", text, __VA_ARGS__)

static const blis_param_spec threshold_params[] = {
    TOKENS("threshold", 16, "prompt tokens not cached where the request decodes: more are split",
           BLIS__INTO(state, threshold)),
};
static const blis_param_spec llmd_params[] = {
    TOKENS("non_cached_tokens", 0,
           "minimum number of prompt tokens that the decode instance has "
           "not cached, to split a request; 0 = never",
           BLIS__INTO(state, threshold)),
    TOKENS("prompt_tokens", 0, "shorter prompts are not split", BLIS__INTO(state, prompt_tokens)),
};
static const blis_param_spec dynamo_params[] = {
    BLIS__CHOICE("policy", "isl_bounding|prefill_load|isl_or_load",
                 "what is not split: short prompts, those for which the "
                 "prefill instance is busy, or both",
                 BLIS__INTO(state, when)),
    TOKENS("eff_isl_threshold", 2048,
           "fewer prompt tokens not cached where the request decodes are "
           "short, if they are also below the ratio",
           BLIS__INTO(state, threshold)),
    BLIS__NUMBER("eff_isl_ratio_threshold", 0, 1, 0.7, "",
                 "share of the prompt that is not cached there", BLIS__INTO(state, ratio)),
    BLIS__NUMBER("prefill_busy_threshold", 0, TOKENS_MAX, 16, "",
                 "busy: prompt tokens without a first token exceed this "
                 "multiple of max_num_batched_tokens",
                 BLIS__INTO(state, busy)),
    BLIS__NUMBER("decode_busy_threshold", 0, TOKENS_MAX, 0, "",
                 "nevertheless split if with the prompt more than such a share "
                 "of the KV blocks were in use where the request decodes; left "
                 "out = never for that"),
};
static const blis_param_spec token_cap_params[] = {
    TOKENS("bypass_below_tokens", 5000,
           "prompt tokens not cached where the request decodes: more are split",
           BLIS__INTO(state, threshold)),
};
static const blis_param_spec cognitora_params[] = {
    TOKENS("colocate_below_tokens", 256, "longer prompts are split", BLIS__INTO(state, threshold)),
    BLIS__BOOLEAN("at_least", false, "also split prompts of exactly this length, as in the code",
                  BLIS__INTO(state, at_least)),
};

#define CACHED BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS)

/* Initializers of an entry that uses this function. */
#define DECIDER(function)                                                                          \
  .kind = BLIS_POLICY_DECIDER, .ops = &(const blis_decider_ops){.decide = (function)},             \
  .state_size = sizeof(state)

const blis_policy_entry blis__decider_never = {
    DECIDER(never),
    .name = "never",
    .summary = "the instance that decodes computes the prompt, too",
    .source = "BLIS (Go), inference-sim f90a1e3a",
    .is_blind = true,
};

const blis_policy_entry blis__decider_always = {
    DECIDER(always),
    .name = "always",
    .aliases = "llmd.always-disagg|llmd.always-disagg-pd-decider|"
               "routesim.split",
    .summary = "every prompt is computed by an instance of the prefill pool",
    .source = "BLIS (Go), inference-sim f90a1e3a",
    .is_blind = true,
};

const blis_policy_entry blis__decider_prefix_threshold = {
    DECIDER(prefix_threshold),
    .name = "prefix-threshold",
    .summary = "split prompts with many tokens that the decode instance has "
               "not cached",
    .source = "BLIS (Go), inference-sim f90a1e3a",
    .needs = CACHED,
    BLIS__PARAMS(threshold_params),
};

const blis_policy_entry blis__decider_llmd_prefix_based = {
    DECIDER(llmd_prefix_based),
    .name = "llmd.prefix-based",
    .aliases = "llmd.prefix-based-pd-decider",
    .summary = "split long prompts that are mostly not cached",
    .source = "llm-d router, prefix-based-pd-decider (ebab6879)",
    .needs = CACHED,
    BLIS__PARAMS(llmd_params),
};

const blis_policy_entry blis__decider_llmd_if_available = {
    DECIDER(if_available),
    .name = "llmd.if-available",
    .summary = "split unless all full blocks of the prompt are cached",
    .source = "llm-d coordinator, conditional decode (PR 1288)",
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_LIVE_PREFIX_HIT),
};

const blis_policy_entry blis__decider_dynamo = {
    DECIDER(dynamo),
    .name = "dynamo.conditional-disagg",
    .aliases = "dynamo.isl-bounding",
    .summary = "do not split what is short and mostly cached, or what a busy "
               "prefill instance would keep waiting",
    .source = "Dynamo, conditional disaggregation (2e4735e)",
    .needs = CACHED | BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS) |
             BLIS_SIGNAL_BIT(BLIS_SIGNAL_KV_BLOCKS) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_FREE_KV_BLOCKS),
    .init = init_dynamo,
    BLIS__PARAMS(dynamo_params),
};

const blis_policy_entry blis__decider_dynamo_token_cap = {
    DECIDER(prefix_threshold),
    .name = "dynamo.token-cap",
    .summary = "split prompts with many tokens that the decode instance has "
               "not cached; superseded",
    .source = "Dynamo, conditional prefill (0243c51b)",
    .needs = CACHED,
    BLIS__PARAMS(token_cap_params),
};

const blis_policy_entry blis__decider_cognitora = {
    DECIDER(cognitora),
    .name = "cognitora.plan",
    .summary = "split prompts longer than a threshold",
    .source = "Cognitora, disaggregation plan",
    BLIS__PARAMS(cognitora_params),
};
