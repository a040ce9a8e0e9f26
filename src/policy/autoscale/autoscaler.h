/*
 * autoscaler.h - the number of instances that a pool should have. The autoscaler is called at
 * intervals and returns a number and a reason.
 *
 * Built-in policies and Lua functions have the same interface. They read the current metrics of the
 * pool, never future data. The caller clamps the result to [min, max], and acts on it with its own
 * delays.
 */
#ifndef BLIS_POLICY_AUTOSCALE_AUTOSCALER_H
#define BLIS_POLICY_AUTOSCALE_AUTOSCALER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/invariant.h"

/* Metrics of a pool, as a monitoring system would report them: XX(id, name, unit, text) */
#define BLIS_SCALE_METRICS(XX)                                                                     \
  XX(GATEWAY_QUEUE_SIZE, "gateway_queue_size", "requests",                                         \
     "requests that wait at the gateway for the pool")                                             \
  XX(REQUESTS_RUNNING, "requests_running", "requests",                                             \
     "requests that were given to instances and have not ended")                                   \
  XX(POOL_SATURATION, "pool_saturation", "", "how full the pool is, 1 = full; may be above")       \
  XX(INFLIGHT_TOKENS, "inflight_tokens", "tokens",                                                 \
     "prompt tokens of requests that have not had their first token")                              \
  XX(KV_UTILIZATION, "kv_utilization", "", "used share of the KV blocks, summed over instances")   \
  XX(QUEUE_DEPTH, "queue_depth", "requests", "requests in wait queues, summed over instances")     \
  XX(BATCH_SIZE, "batch_size", "requests", "requests in batches, summed over instances")           \
  XX(REQUEST_RATE, "request_rate", "requests/s", "arrivals since the last evaluation, per second") \
  XX(TTFT_P90, "ttft_p90_us", "us", "90th percentile of the first tokens of the last minute")      \
  XX(TPOT_P90, "tpot_p90_us", "us",                                                                \
     "90th percentile of the mean times per output token of requests that "                        \
     "ended in the last minute")                                                                   \
  XX(SLO_ATTAINMENT, "slo_attainment", "",                                                         \
     "fraction of the requests of the last minute that met their target")                          \
  XX(PROMPT_TOKENS_MEAN, "prompt_tokens_mean", "tokens",                                           \
     "mean prompt length of the arrivals since the last evaluation")                               \
  XX(OUTPUT_TOKENS_MEAN, "output_tokens_mean", "tokens",                                           \
     "mean output length of requests that ended since the last evaluation")

typedef enum blis_scale_metric {
#define BLIS__METRIC(id, name, unit, text) BLIS_SCALE_##id,
  BLIS_SCALE_METRICS(BLIS__METRIC)
#undef BLIS__METRIC
      BLIS_SCALE_METRIC_COUNT
} blis_scale_metric;

const char *blis_scale_metric_name(blis_scale_metric metric);

/*
 * Inputs of a policy: metrics, and token counts of instances, which require a pass over all
 * requests. Only these inputs are collected.
 */
typedef uint32_t blis_scale_needs;
#define BLIS_SCALE_BIT(metric) ((blis_scale_needs)1 << (metric))
#define BLIS_SCALE_NEEDS_QUEUED_TOKENS ((blis_scale_needs)1 << 31)
/* Needed only by oracles. */
#define BLIS_SCALE_NEEDS_FUTURE ((blis_scale_needs)1 << 30)
#define BLIS_SCALE_NEEDS_POOLS ((blis_scale_needs)1 << 29) /* needs own and other */
#define BLIS_SCALE_NEEDS_ALL (UINT32_MAX & ~BLIS_SCALE_NEEDS_FUTURE)

/* Finds a metric by name; the message of BLIS_ERR_INVALID contains the nearest valid name. */
BLIS_MUSTUSE blis_status blis_scale_metric_find(const char *name, blis_scale_metric *metric,
                                                blis_error *error);

/* Why an autoscaler is called. */
typedef enum blis_scale_cause {
  BLIS_SCALE_BY_INTERVAL,
  BLIS_SCALE_BY_QUEUE,
  BLIS_SCALE_BY_SLO,
  BLIS_SCALE_CAUSE_COUNT
} blis_scale_cause;

/* "interval", "queue-depth", "slo-attainment" */
const char *blis_scale_cause_name(blis_scale_cause cause);

/* The role of a pool. */
typedef enum blis_scale_role {
  BLIS_SCALE_BOTH,
  BLIS_SCALE_PREFILL,
  BLIS_SCALE_DECODE
} blis_scale_role;

/* One instance that is ready. */
typedef struct blis_scale_instance {
  uint32_t id;
  double kv_utilization; /* 0 to 1 */
  double queue_depth;
  double batch_size;
  /* Tokens of requests; set only with BLIS_SCALE_NEEDS_QUEUED_TOKENS. */
  double queued_prefill_tokens; /* prompt tokens not computed yet */
  double running_kv_tokens;     /* KV tokens of requests in the batch */
  double queued_kv_tokens;      /* KV tokens that waiting requests will need */
  double kv_capacity_tokens;
  double context_length_tokens; /* length of the longest request that the instance accepts */
  const char *gpu;              /* borrowed; "" = unknown */
  double tp;
  double cost_per_hour;
} blis_scale_instance;

/* Step-time model of one instance of the pool, measured for its engine. */
typedef struct blis_scale_model {
  double (*step_us)(void *state, double prefill_tokens, double requests, double kv_tokens);
  void *state;
  double kv_capacity_tokens; /* KV capacity of one instance */
  double max_num_seqs;
} blis_scale_model;

/* A pool. A pool that shares a budget with another one sees both. */
typedef struct blis_scale_pool {
  uint32_t replicas; /* current target */
  int64_t wish;      /* last value from its policy; see blis_scale_decision */
  uint32_t min;      /* bounds of the pool; both are the current number if the pool is not scaled */
  uint32_t max;      /* upper bound */
  double gpus;       /* GPUs of one replica */
  /* Power draw of a GPU since the last evaluation, in steps that computed prompt tokens and in
     other steps. Negative: no such steps, or unknown. */
  double prefill_watts;
  double decode_watts;
  const blis_scale_model *model; /* NULL = unknown */
} blis_scale_pool;

/* Input that only an oracle has: the requests of the trace with their true lengths, in order of
   arrival. */
typedef struct blis_scale_arrival {
  int64_t time_us;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
} blis_scale_arrival;

typedef struct blis_scale_future {
  const blis_scale_arrival *arrivals;
  size_t count;
} blis_scale_future;

/* The state of a pool at one evaluation. */
typedef struct blis_scale_context {
  int64_t now_us;
  int64_t since_last_scale_us; /* BLIS_TIME_NEVER_US = the pool has not been scaled */
  blis_scale_cause cause;
  blis_scale_role role;
  uint32_t replicas; /* current target: instances from requested to ready, without draining ones */
  uint32_t ready;
  uint32_t starting; /* instances that are requested but not ready */
  uint32_t draining; /* instances being removed that still have requests */
  uint32_t min;
  uint32_t max;
  blis_scale_needs collected;
  /* Read with blis_scale_value. GATEWAY_QUEUE_SIZE is always set. */
  double metrics[BLIS_SCALE_METRIC_COUNT];
  /* Computes a metric that needs a search (BLIS_SCALE_TTFT_P90 to SLO_ATTAINMENT) on demand.
     NULL: metrics contains all values. */
  double (*measure)(void *ud, blis_scale_metric metric);
  void *measure_ud;
  const blis_scale_instance *instances; /* ready instances, by id */
  size_t instance_count;
  double starting_kv_tokens;     /* capacity of starting instances */
  const blis_scale_model *model; /* NULL = unknown */
  double startup_us;             /* mean time from a decision until the instance is ready */
  /* Set only with BLIS_SCALE_NEEDS_POOLS; otherwise NULL. other is also NULL if the cluster has
     only one pool. */
  const blis_scale_pool *own;
  const blis_scale_pool *other;
  /* NULL without BLIS_SCALE_NEEDS_FUTURE. */
  const blis_scale_future *future;
} blis_scale_context;

static inline double blis_scale_value(const blis_scale_context *context, blis_scale_metric metric) {
  BLIS_ASSERT((context->collected & BLIS_SCALE_BIT(metric)) != 0);
  bool is_searched = metric >= BLIS_SCALE_TTFT_P90 && metric <= BLIS_SCALE_SLO_ATTAINMENT;
  return context->measure != NULL && is_searched ? context->measure(context->measure_ud, metric)
                                                 : context->metrics[metric];
}

typedef struct blis_scale_decision {
  int64_t target;     /* replicas; the current number means no change */
  const char *reason; /* owned by the policy until its next decision; never NULL */
  /* Id of a ready instance; instances of the same kind are added or removed. -1: any kind. */
  int64_t like;
  /* The target before the constraint that the pool shares with another pool; -1 = same as the
     target. The other pool reads this value. */
  int64_t wish;
  /* Message that explains why the policy never scales; static. NULL: the policy scales. */
  const char *off;
} blis_scale_decision;

typedef struct blis_autoscaler_ops {
  /*
   * *decision contains the current number and an empty reason. BLIS_ERR_POLICY (or
   * NOMEM) stops the run with *error.
   */
  blis_status (*decide)(void *state, const blis_scale_context *context,
                        blis_scale_decision *decision, blis_error *error);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_autoscaler_ops;

typedef struct blis_autoscaler {
  const blis_autoscaler_ops *ops; /* NULL = the pool keeps its size */
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  blis_scale_needs needs;
  int64_t interval_us; /* between decisions */
  const char *name;    /* static or owned by state */
} blis_autoscaler;

/* Idempotent; an all-zero policy is allowed. */
void blis_autoscaler_free(blis_autoscaler *autoscaler);

/*
 * Calls ops->decide, starting from the current number, and stores its result in *proposed. The
 * target of *decision is the nearest number within [min, max]. If the policy's metrics do not
 * include waiting requests, the target is at least one instance while requests wait.
 */
BLIS_MUSTUSE blis_status blis_autoscaler_decide(const blis_autoscaler *autoscaler,
                                                const blis_scale_context *context,
                                                blis_scale_decision *decision, int64_t *proposed,
                                                blis_error *error);

/* Parameter of every built-in autoscaler. Their states have a member interval_s. */
#define BLIS__SCALE_INTERVAL(type, usual)                                                          \
  BLIS__NUMBER("interval_seconds", 1e-3, 1e6, usual, "s", "between decisions",                     \
               BLIS__INTO(type, interval_s))

#endif
