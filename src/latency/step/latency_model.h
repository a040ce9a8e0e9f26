/*
 * latency_model.h - the interface of latency models, which compute the duration of an engine step.
 * Models are built in or scripted.
 *
 * A model computes four times: the time of a step (from the batch, or from a few exact integer sums
 * over it), the time before a request is queued, the time added to every output token, and the time
 * added once to a finished request. All results are in whole microseconds.
 *
 * Main invariant: if step_time_from_sums returns true, its result equals that of step_time for the
 * same batch, to the microsecond. step_time_from_sums costs O(1), and step_time costs O(batch).
 *
 * A built-in model never changes after its construction, so any number of instances may share it.
 * The caller that created it owns it.
 */
#ifndef BLIS_LATENCY_STEP_LATENCY_MODEL_H
#define BLIS_LATENCY_STEP_LATENCY_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

/*
 * One scheduled request of a step, in its state before the step. It is a prefill while progress <
 * prompt. Otherwise, it is a decode if it has output. Other requests count only in the batch size.
 */
typedef struct blis_batch_item {
  int64_t progress_tokens; /* computed before this step */
  int64_t new_tokens;      /* computed in this step; > 0 */
  int64_t prompt_tokens;
  int64_t output_tokens; /* only used to check whether there is output */
} blis_batch_item;

/*
 * Exact sums over the scheduled requests of a step; below, t is the number of new tokens, s the
 * progress, and I the number of prompt tokens of a prefill. Zero it before use. A sum that would
 * exceed INT64_MAX stays at INT64_MAX, and models do not compute times from it.
 */
typedef struct blis_batch_sums {
  int64_t requests;        /* all requests: prefill, decode, or neither */
  int64_t prefill_tokens;  /* sum of t */
  int64_t decode_requests; /* each computes one token */
  /* Sum of progress over the decodes; increases by decode_requests with every decode step. */
  int64_t decode_context_tokens;
  int64_t prefill_attention;      /* sum of t * (2 * I + t) */
  int64_t prefill_pairs;          /* sum of 2 * t * s + t * (t - 1): twice the
                                     (new token, earlier token) pairs */
  int64_t prefill_context_tokens; /* sum of s */
} blis_batch_sums;

/* Adds one request. A request without new tokens is not scheduled and is ignored. */
void blis_batch_sums_add(blis_batch_sums *sums, const blis_batch_item *item);

/* See coverage.h. */
typedef struct blis_coverage blis_coverage;

/*
 * The delay between the end of a step and the first token, if the engine builds the next batch
 * while a step runs (vLLM since 0.14). The delay is delay_us plus depth times the duration of the
 * step that was running when the request was admitted.
 */
typedef struct blis_first_token {
  int64_t delay_us; /* >= 0 */
  double depth;     /* >= 0, finite */
} blis_first_token;

/* Returns the sums over a whole batch. */
blis_batch_sums blis_batch_sums_of(const blis_batch_item *items, size_t count);

/*
 * Functions of an implementation. Only name and step_time are required. A missing time function
 * means 0, and a missing free function means that nothing is freed.
 */
typedef struct blis_latency_ops {
  const char *name;

  /*
   * Computes the time of a step over `count` items in batch order; >= 1, and 1 for an empty batch.
   * Built-in models cannot fail. If a scripted model fails, *step_us is unchanged.
   */
  blis_status (*step_time)(void *state, const blis_batch_item *items, size_t count,
                           int64_t *step_us, blis_error *error);

  /*
   * Like step_time, using only the sums; NULL if the model needs the requests. Returns false if the
   * sums do not determine the result exactly; call step_time for this step.
   */
  bool (*step_time_from_sums)(const void *state, const blis_batch_sums *sums, int64_t *step_us);

  /* The model is cheap, and may be called for steps that never run. */
  bool may_look_ahead;

  /*
   * Computes the times of `count` consecutive steps, with the same results as step_time_from_sums.
   * Each step computes one token for each of `decodes` requests, and no prompt tokens. context is
   * the sum of their context lengths before the first step. Returns how many leading times it
   * computed. If the pointer is NULL or the result is 0, the times are computed one by one.
   */
  size_t (*decode_times)(const void *state, int64_t decodes, int64_t context, size_t count,
                         int64_t *step_us);

  /* Time from a request's arrival at the instance until it enters the queue. */
  int64_t (*queueing_time)(const void *state, int64_t prompt_tokens);

  /* Added to TTFT and to every inter-token latency, not to the clock. */
  int64_t (*output_token_time)(const void *state);

  /* Added once to the E2E latency of a request with output. */
  int64_t (*fixed_overhead)(const void *state);

  /* Delay in addition to the step times. */
  blis_first_token (*first_token)(const void *state);

  /* The range in which the step times were fitted; NULL = unknown. */
  const blis_coverage *(*coverage)(const void *state);

  void (*free)(const blis_alloc *alloc, void *state);
} blis_latency_ops;

/*
 * A model: an implementation and its state. Copies share the state, so only one copy may be freed.
 * alloc is the allocator of the state.
 */
typedef struct blis_latency_model {
  const blis_latency_ops *ops;
  void *state;
  blis_alloc alloc;
} blis_latency_model;

/* Frees the state; a zeroed or already freed model is allowed. */
void blis_latency_free(blis_latency_model *model);

/* Returns whether the model supports sums. */
static inline bool blis_latency_uses_sums(const blis_latency_model *model) {
  return model->ops->step_time_from_sums != NULL;
}

static inline BLIS_MUSTUSE blis_status blis_latency_step_time(const blis_latency_model *model,
                                                              const blis_batch_item *items,
                                                              size_t count, int64_t *step_us,
                                                              blis_error *error) {
  return model->ops->step_time(model->state, items, count, step_us, error);
}

static inline bool blis_latency_step_time_from_sums(const blis_latency_model *model,
                                                    const blis_batch_sums *sums, int64_t *step_us) {
  return model->ops->step_time_from_sums != NULL &&
         model->ops->step_time_from_sums(model->state, sums, step_us);
}

size_t blis__latency_decode_times(const blis_latency_model *model, int64_t decodes, int64_t context,
                                  size_t count, int64_t *step_us);

/*
 * Calls decode_times, or computes the same times from sums. Returns 0 for a model that supports
 * neither.
 */
static inline size_t blis_latency_decode_times(const blis_latency_model *model, int64_t decodes,
                                               int64_t context, size_t count, int64_t *step_us) {
  size_t told = 0;
  if (model->ops->decode_times != NULL) {
    told = model->ops->decode_times(model->state, decodes, context, count, step_us);
  }
  return told > 0 ? told : blis__latency_decode_times(model, decodes, context, count, step_us);
}

static inline int64_t blis_latency_queueing_time(const blis_latency_model *model,
                                                 int64_t prompt_tokens) {
  return model->ops->queueing_time == NULL ? 0
                                           : model->ops->queueing_time(model->state, prompt_tokens);
}

static inline int64_t blis_latency_output_token_time(const blis_latency_model *model) {
  return model->ops->output_token_time == NULL ? 0 : model->ops->output_token_time(model->state);
}

static inline int64_t blis_latency_fixed_overhead(const blis_latency_model *model) {
  return model->ops->fixed_overhead == NULL ? 0 : model->ops->fixed_overhead(model->state);
}

static inline blis_first_token blis_latency_first_token(const blis_latency_model *model) {
  return model->ops->first_token == NULL ? (blis_first_token){0}
                                         : model->ops->first_token(model->state);
}

/* The result is borrowed from the model. */
static inline const blis_coverage *blis_latency_coverage(const blis_latency_model *model) {
  return model->ops->coverage == NULL ? NULL : model->ops->coverage(model->state);
}

#endif
