/*
 * instance_stats.h - the counters of an instance: steps, KV blocks, drafts, energy, and adapters.
 */
#ifndef BLIS_INSTANCE_CONFIG_INSTANCE_STATS_H
#define BLIS_INSTANCE_CONFIG_INSTANCE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "instance/config/instance_config.h"

/* Live metrics. All counters count from the start. */
typedef struct blis_instance_stats {
  int64_t queue_depth;
  int64_t batch_size;
  int64_t kv_blocks;
  int64_t used_kv_blocks; /* blocks that a live request references, in any KV group */
  int64_t cache_hits;     /* in blocks of all KV groups */
  /*
   * In blocks, including output; with rules.counts_prompt_blocks, hits and misses count only prompt
   * blocks.
   */
  int64_t cache_misses;
  int64_t cpu_reloads;           /* blocks loaded from the CPU tier */
  int64_t cpu_immediate_reloads; /* see blis_kv_cache_stats */
  int64_t cpu_misses;
  int64_t cpu_saved;
  int64_t cpu_evictions;
  int64_t cpu_transfers;   /* allocations that loaded blocks from the CPU tier */
  int64_t cpu_transfer_us; /* total time of these transfers */
  int64_t preemptions;
  int64_t kv_allocation_failures;
  int64_t completed; /* including length-capped requests */
  int64_t length_capped;
  int64_t timed_out;
  int64_t unservable;
  int64_t prompt_tokens;  /* of all requests accepted by the checks on arrival */
  int64_t output_tokens;  /* tokens of completed requests */
  int64_t decoded_tokens; /* output tokens of the running requests */
  int64_t steps;
  /* Outside the calibrated range of the latency model; 0 if the range is unknown. */
  int64_t uncovered_steps;
  int64_t busy_us;         /* total duration of all steps, including the whole last step */
  int64_t prefill_us;      /* duration of the steps that computed prompt tokens */
  int64_t queue_depth_sum; /* sum of the queue depth over all steps, for the head-of-line counter */
  int64_t end_us;          /* min(time of the last executed event, horizon) */
} blis_instance_stats;

/* Metrics of speculative decoding, counted from the start. */
typedef struct blis_draft_stats {
  int64_t drafts;                            /* times that a sequence drafted in a step */
  int64_t draft_tokens;                      /* draft tokens */
  int64_t accepted_tokens;                   /* draft tokens that were accepted and emitted */
  int64_t accepted_at[BLIS_SPECULATION_MAX]; /* accepted tokens by position in the step */
  /* Number of inter-token latencies of 0 in itl_us: tokens after the first one of their step. */
  int64_t itl_zeros;
} blis_draft_stats;

/* Energy of the steps of an instance, in nJ, including steps before a restart. */
typedef struct blis_instance_energy {
  uint64_t busy_nj;
  uint64_t prefill_nj; /* energy of the steps that computed prompt tokens */
  /*
   * Part of busy_nj that belongs to no request: rounding of less than 1 nJ per token, and steps
   * without tokens.
   */
  uint64_t rest_nj;
  double carbon_g;  /* emissions of busy_nj, if config.power has carbon data */
  double carbon_us; /* integral of the carbon intensity while it computed, in g / kWh * us */
} blis_instance_energy;

/* Metrics of the adapters of an engine, counted from the start. */
typedef struct blis_adapter_stats {
  int64_t slots;
  int64_t loaded;    /* adapters that are loaded */
  int64_t loading;   /* adapters being loaded into a slot */
  int64_t running;   /* adapters with requests in the batch */
  int64_t waiting;   /* adapters with requests in the wait queue */
  int64_t requests;  /* admitted requests with an adapter */
  int64_t hits;      /* requests whose adapter was loaded at its first use */
  int64_t waits;     /* times that a request waited for an adapter */
  int64_t wait_us;   /* total time of these waits */
  int64_t loads;     /* loads started */
  int64_t fetches;   /* loads of adapters that were not in host memory */
  int64_t evictions; /* adapters evicted to make space */
  int64_t load_us;   /* total duration of loads, including fetches */
} blis_adapter_stats;

/* State of one adapter. */
typedef struct blis_adapter_state {
  bool is_loaded;
  bool is_loading;
  int64_t running; /* requests in the batch */
  int64_t waiting; /* requests in the wait queue */
  int64_t loads;
  int64_t evictions;
} blis_adapter_state;

/* The subset of blis_instance_stats that describes the load. */
typedef struct blis_instance_load {
  int64_t queue_depth;
  int64_t batch_size;
  int64_t kv_blocks;
  int64_t used_kv_blocks;
} blis_instance_load;

#endif
