/* The built-in deciders: those of BLIS (Go), llm-d, Dynamo and Cognitora. */
#include "policy/contract/entry.h"
#include "policy/decider/decider.h"

typedef struct state {
  double threshold;     /* tokens */
  double prompt_tokens; /* a prompt that is shorter is not split */
  double ratio;
} state;

BLIS__POLICY_FREE(decider)

/* Prompt tokens that the chosen instance does not have; clamped to 0. */
static double missing_tokens(const blis_question *q, size_t chosen) {
  const double *cached = q->view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  double missing = (double)q->request->prompt_tokens - cached[chosen];
  return missing > 0 ? missing : 0;
}

static blis_status never(const blis_question *q, size_t chosen,
                         blis_split *split) {
  (void)q, (void)chosen;
  split->splits = false;
  return BLIS_OK;
}

static blis_status always(const blis_question *q, size_t chosen,
                          blis_split *split) {
  (void)q, (void)chosen;
  split->splits = true;
  return BLIS_OK;
}

static blis_status prefix_threshold(const blis_question *q, size_t chosen,
                                    blis_split *split) {
  const state *self = q->state;
  split->splits = q->request->prompt_tokens > 0 &&
                  missing_tokens(q, chosen) > self->threshold;
  return BLIS_OK;
}

static blis_status llmd_prefix_based(const blis_question *q, size_t chosen,
                                     blis_split *split) {
  const state *self = q->state;
  double prompt = (double)q->request->prompt_tokens;
  split->splits = self->threshold > 0 && prompt >= self->prompt_tokens &&
                  prompt >= self->threshold &&
                  missing_tokens(q, chosen) >= self->threshold;
  return BLIS_OK;
}

static blis_status dynamo_isl(const blis_question *q, size_t chosen,
                              blis_split *split) {
  const state *self = q->state;
  double prompt = (double)q->request->prompt_tokens;
  double missing = missing_tokens(q, chosen);
  bool stays = missing < self->threshold &&
               missing / (prompt > 1 ? prompt : 1) < self->ratio;
  split->splits = !stays;
  return BLIS_OK;
}

static blis_status cognitora(const blis_question *q, size_t chosen,
                             blis_split *split) {
  const state *self = q->state;
  (void)chosen;
  split->splits = (double)q->request->prompt_tokens > self->threshold;
  return BLIS_OK;
}

#define TOKENS_MAX 1e9
#define TOKENS(given_name, usual, text, ...)                                   \
  BLIS__NUMBER(given_name, 0, TOKENS_MAX, usual, "tokens", text, __VA_ARGS__)

static const blis_param_spec threshold_params[] = {
    TOKENS("threshold", 16,
           "prompt tokens not cached where the request decodes: more are split",
           BLIS__INTO(state, threshold)),
};
static const blis_param_spec llmd_params[] = {
    TOKENS("non_cached_tokens", 0,
           "prompt tokens not cached where the request decodes: so many and "
           "more are split; 0 = never",
           BLIS__INTO(state, threshold)),
    TOKENS("prompt_tokens", 0, "shorter prompts are not split",
           BLIS__INTO(state, prompt_tokens)),
};
static const blis_param_spec dynamo_params[] = {
    TOKENS("eff_isl_threshold", 2048,
           "fewer prompt tokens not cached where the request decodes are not "
           "split, if they are also below the ratio",
           BLIS__INTO(state, threshold)),
    BLIS__NUMBER("eff_isl_ratio_threshold", 0, 1, 0.7, "",
                 "share of the prompt that is not cached there",
                 BLIS__INTO(state, ratio)),
};
static const blis_param_spec cognitora_params[] = {
    TOKENS("colocate_below_tokens", 256, "longer prompts are split",
           BLIS__INTO(state, threshold)),
};

#define CACHED BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS)

/* The members of an entry that decides so. */
#define DECIDER(function)                                                      \
  .kind = BLIS_POLICY_DECIDER,                                                 \
  .ops = &(const blis_decider_ops){.decide = (function)},                      \
  .state_size = sizeof(state)

const blis_policy_entry blis__decider_never = {
    DECIDER(never),
    .name = "never",
    .summary = "the instance that decodes computes the prompt, too",
    .source = "BLIS (Go), inference-sim f90a1e3a",
};

const blis_policy_entry blis__decider_always = {
    DECIDER(always),
    .name = "always",
    .aliases = "llmd.always-disagg|routesim.split",
    .summary = "every prompt is computed by an instance of the prefill pool",
    .source = "BLIS (Go), inference-sim f90a1e3a",
};

const blis_policy_entry blis__decider_prefix_threshold = {
    DECIDER(prefix_threshold),
    .name = "prefix-threshold",
    .summary = "split what is long where it is not cached",
    .source = "BLIS (Go), inference-sim f90a1e3a",
    .needs = CACHED,
    BLIS__PARAMS(threshold_params),
};

const blis_policy_entry blis__decider_llmd_prefix_based = {
    DECIDER(llmd_prefix_based),
    .name = "llmd.prefix-based",
    .summary = "split long prompts of which much is not cached",
    .source = "llm-d router, prefix-based-pd-decider (ebab6879)",
    .needs = CACHED,
    BLIS__PARAMS(llmd_params),
};

const blis_policy_entry blis__decider_dynamo_isl = {
    DECIDER(dynamo_isl),
    .name = "dynamo.isl-bounding",
    .summary = "do not split what is short and mostly cached",
    .source = "Dynamo, conditional disaggregation (2e4735e)",
    .needs = CACHED,
    BLIS__PARAMS(dynamo_params),
};

const blis_policy_entry blis__decider_cognitora = {
    DECIDER(cognitora),
    .name = "cognitora.plan",
    .summary = "split prompts longer than a threshold",
    .source = "Cognitora, disaggregation plan",
    BLIS__PARAMS(cognitora_params),
};
