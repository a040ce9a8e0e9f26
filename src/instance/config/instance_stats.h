/*
 * instance_stats.h - the counters of an instance: steps, KV blocks, drafts, energy, and adapters.
 */
#ifndef BLIS_INSTANCE_CONFIG_INSTANCE_STATS_H
#define BLIS_INSTANCE_CONFIG_INSTANCE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "instance/config/instance_config.h"

/* Live metrics; all counters are since the start. */
typedef struct blis_instance_stats {
  int64_t queue_depth;
  int64_t batch_size;
  int64_t kv_blocks;
  int64_t used_kv_blocks; /* referenced by a live request, in any KV group */
  int64_t cache_hits;     /* blocks, of all KV groups */
  int64_t cache_misses;   /* blocks, output included; hits and misses count only the prompt with
                             rules.counts_prompt_blocks */
  int64_t cpu_reloads;    /* blocks, from the CPU tier */
  int64_t cpu_immediate_reloads; /* blis_kv_cache_stats */
  int64_t cpu_misses;
  int64_t cpu_saved;
  int64_t cpu_evictions;
  int64_t cpu_transfers;   /* allocations that brought blocks back, */
  int64_t cpu_transfer_us; /* and the time of these */
  int64_t preemptions;
  int64_t kv_allocation_failures;
  int64_t completed; /* length-capped ones included */
  int64_t length_capped;
  int64_t timed_out;
  int64_t unservable;
  int64_t prompt_tokens;  /* of every request that passed the guards */
  int64_t output_tokens;  /* of completed requests */
  int64_t decoded_tokens; /* by the running requests, after their prompts */
  int64_t steps;
  int64_t uncovered_steps; /* beyond the coverage of the latency model; 0 if the coverage is
                              unknown */
  int64_t busy_us;         /* of these steps, the last one whole */
  int64_t prefill_us;      /* of the steps that computed prompt tokens */
  int64_t queue_depth_sum; /* over steps, for the head-of-line counter */
  int64_t end_us;          /* min(time of the last executed event, horizon) */
} blis_instance_stats;

/* Metrics of speculative decoding; counters since the start. */
typedef struct blis_draft_stats {
  int64_t drafts;                            /* steps of sequences that drafted, */
  int64_t draft_tokens;                      /* how many tokens, */
  int64_t accepted_tokens;                   /* number of these that were emitted, */
  int64_t accepted_at[BLIS_SPECULATION_MAX]; /* by their place in the step */
  /* Number of inter-token latencies in itl_us that are 0: tokens after the first one of their
     step. */
  int64_t itl_zeros;
} blis_draft_stats;

/* Energy of the steps of an instance, in nJ, restarts included. */
typedef struct blis_instance_energy {
  uint64_t busy_nj;
  uint64_t prefill_nj; /* of the steps that computed prompt tokens */
  uint64_t rest_nj;    /* of busy_nj, of no request: less than 1 nJ a token, and
                          of steps without tokens */
  double carbon_g;     /* of busy_nj, where config.power has carbon, */
  double carbon_us;    /* and g / kWh times us while it computed */
} blis_instance_energy;

/* Metrics of the adapters of an engine; counters since the start. */
typedef struct blis_adapter_stats {
  int64_t slots;
  int64_t loaded;    /* adapters, */
  int64_t loading;   /* being loaded into a slot, */
  int64_t running;   /* with requests in the batch, */
  int64_t waiting;   /* with requests in the wait queue */
  int64_t requests;  /* with an adapter, that were admitted */
  int64_t hits;      /* requests whose adapter was loaded at its first use */
  int64_t waits;     /* times that requests waited for an adapter, */
  int64_t wait_us;   /* and for how long */
  int64_t loads;     /* that have begun, */
  int64_t fetches;   /* of adapters that were not on the host, */
  int64_t evictions; /* of others for them */
  int64_t load_us;   /* of all loads, fetches included */
} blis_adapter_stats;

/* State of one adapter. */
typedef struct blis_adapter_state {
  bool is_loaded;
  bool is_loading;
  int64_t running; /* requests in the batch, */
  int64_t waiting; /* in the wait queue */
  int64_t loads;
  int64_t evictions;
} blis_adapter_state;

/* The subset of these that describes the load. */
typedef struct blis_instance_load {
  int64_t queue_depth;
  int64_t batch_size;
  int64_t kv_blocks;
  int64_t used_kv_blocks;
} blis_instance_load;

#endif
