/*
 * toy_engine.h - latency models, an order of the queue and a choice of victims
 * that are quick to compute and depend on everything they are shown, for tests
 * which compare engines.
 */
#ifndef BLIS_TOY_ENGINE_H
#define BLIS_TOY_ENGINE_H

#include "engine_twins.h"
#include "latency/step/coverage.h"

/* T = 1000 + 10 n + Tp + Cx / 7, with a guard band in which the sums refuse. */
static inline int64_t toy_time(const blis_batch_sums *sums) {
  return sums->requests == 0
             ? 1
             : 1000 + 10 * sums->requests + sums->prefill_tokens + sums->decode_context_tokens / 7 +
                   sums->prefill_attention / 100 + sums->prefill_context_tokens / 9;
}

static inline blis_status toy_step(void *state, const blis_batch_item *items, size_t count,
                                   int64_t *step_us, blis_error *error) {
  (void)state;
  (void)error;
  blis_batch_sums sums = blis_batch_sums_of(items, count);
  *step_us = toy_time(&sums);
  return BLIS_OK;
}

static inline bool toy_sums(const void *state, const blis_batch_sums *sums, int64_t *step_us) {
  (void)state;
  *step_us = toy_time(sums);
  return *step_us % 5 != 0;
}

static inline int64_t toy_queueing(const void *state, int64_t prompt_tokens) {
  return state == NULL ? 100 : 100 + prompt_tokens * 37 % 1500;
}

static inline int64_t toy_token(const void *state) {
  (void)state;
  return 7;
}

static inline int64_t toy_overhead(const void *state) {
  (void)state;
  return 50;
}

static inline blis_first_token toy_first(const void *state) {
  return (blis_first_token){.delay_us = state == NULL ? 0 : 300, .depth = 1.4};
}

static const blis_coverage *toy_coverage(const void *state) {
  static const blis_coverage limits = {.tokens_max = 20, .requests_max = 5, .context_max = 40};
  (void)state;
  return &limits;
}

static const blis_latency_ops toy_ops = {.name = "toy",
                                         .step_time = toy_step,
                                         .step_time_from_sums = toy_sums,
                                         .queueing_time = toy_queueing,
                                         .output_token_time = toy_token,
                                         .fixed_overhead = toy_overhead,
                                         .first_token = toy_first,
                                         .coverage = toy_coverage};

static const blis_latency_ops toy_ahead_ops = {.name = "toy, asked ahead",
                                               .step_time = toy_step,
                                               .step_time_from_sums = toy_sums,
                                               .may_look_ahead = true,
                                               .queueing_time = toy_queueing,
                                               .output_token_time = toy_token,
                                               .fixed_overhead = toy_overhead,
                                               .first_token = toy_first,
                                               .coverage = toy_coverage};

static const blis_latency_ops toy_plain_ops = {.name = "toy without sums",
                                               .step_time = toy_step,
                                               .queueing_time = toy_queueing,
                                               .output_token_time = toy_token,
                                               .coverage = toy_coverage};

static int toy_something;
enum { TOY_MODELS = 5 };
static const blis_latency_model toy_models[TOY_MODELS] = {
    {.ops = &toy_ops},
    {.ops = &toy_ops, .state = &toy_something},
    {.ops = &toy_ahead_ops},
    {.ops = &toy_ahead_ops, .state = &toy_something},
    {.ops = &toy_plain_ops}};

/* Longer prompts first. */
static inline blis_status toy_goes_before(void *ud, const blis_live_request *a,
                                          const blis_live_request *b, bool *before,
                                          blis_error *error) {
  (void)ud;
  (void)error;
  *before = a->prompt_tokens > b->prompt_tokens;
  return BLIS_OK;
}

/* By number, and then the one that has got least far. */
static inline blis_status toy_choose_victim(void *ud, const blis_running_request *running,
                                            size_t count, size_t *victim, blis_error *error) {
  (void)ud;
  (void)error;
  *victim = 0;
  for (size_t i = 1; i < count; i++) {
    const blis_running_request *a = &running[i];
    const blis_running_request *b = &running[*victim];
    int64_t rank_a = a->request->number * 7 % 5;
    int64_t rank_b = b->request->number * 7 % 5;
    if (rank_a > rank_b || (rank_a == rank_b && a->progress_tokens <= b->progress_tokens)) {
      *victim = i;
    }
  }
  return BLIS_OK;
}

#endif
