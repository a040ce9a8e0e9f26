/*
 * inference_perf.h - converts the load of kubernetes-sigs/inference-perf (its shared prefix
 * generator of early 2026) to clients of a workload specification.
 *
 * Users send questions after the system prompt of their group, in stages of constant rate. With one
 * stage, every user sends an equal share of all requests, spread over the stage with exponential
 * gaps. With several stages, users are poisson clients that are active during their stage. In
 * multi-turn chats, every user is one session. Expansion follows BLIS (Go, inference-sim f90a1e3a).
 */
#ifndef BLIS_WORKLOAD_SPEC_INFERENCE_PERF_H
#define BLIS_WORKLOAD_SPEC_INFERENCE_PERF_H

#include "base/arena.h"
#include "base/error.h"
#include "workload/spec/workload_spec.h"

enum { BLIS_INFERENCE_PERF_MAX_USERS = 1000000 };

typedef struct blis_inference_perf_stage {
  double rate;      /* total requests per second of all users, > 0 */
  int64_t duration; /* seconds, > 0 */
} blis_inference_perf_stage;

typedef struct blis_inference_perf_prefixes {
  int64_t prompts;          /* number of different system prompts, > 0 */
  int64_t users_per_prompt; /* > 0 */
  int64_t prompt_tokens;    /* length of a system prompt; 0 = none */
  int64_t question_tokens;
  int64_t output_tokens;
  bool is_multi_turn;
} blis_inference_perf_prefixes;

/* Everything is borrowed. */
typedef struct blis_inference_perf_spec {
  const blis_inference_perf_stage *stages; /* at least one */
  size_t stage_count;
  const blis_inference_perf_prefixes *shared_prefix; /* required */
} blis_inference_perf_spec;

/*
 * Sets clients, aggregate_rate, and category of *spec; new data lives in arena. The message of
 * BLIS_ERR_INVALID contains the key, the value, and the allowed values. Errors also set *fault
 * unless it is NULL.
 */
BLIS_MUSTUSE blis_status blis_inference_perf_expand(const blis_inference_perf_spec *from,
                                                    blis_arena *arena, blis_workload_spec *spec,
                                                    blis_spec_fault *fault, blis_error *error);

#endif
