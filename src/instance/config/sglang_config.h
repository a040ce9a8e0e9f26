/*
 * sglang_config.h - the scheduler of SGLang: its limits and its order of the wait queue.
 *
 * Names and defaults: SGLang's server arguments (server_arguments.md, 004813e). instance/sglang has
 * the rules.
 */
#ifndef BLIS_INSTANCE_CONFIG_SGLANG_CONFIG_H
#define BLIS_INSTANCE_CONFIG_SGLANG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

typedef enum blis_sglang_policy {
  BLIS_SGLANG_FCFS,
  BLIS_SGLANG_LPM,        /* longest cached prefix first */
  BLIS_SGLANG_DFS_WEIGHT, /* along the tree of cached prefixes, by waiting requests */
  BLIS_SGLANG_LOF,        /* longest output first */
  BLIS_SGLANG_RANDOM
} blis_sglang_policy;

typedef struct blis_sglang_config {
  int64_t chunk_tokens;       /* of a prefill batch, at least a page; 0 = prompts are not split */
  int64_t max_prefill_tokens; /* of a prefill batch, >= 1 */
  /* Part of its remaining output that a running request is expected to need: at first, and at
     least; it sinks by the same amount in each of decay_steps steps. */
  double init_ratio;               /* 0 to 1 */
  double min_ratio;                /* 0 to init_ratio */
  int64_t decay_steps;             /* >= 1 */
  int64_t prefill_decode_interval; /* decode steps after each prefill batch; >= 0 */
  blis_sglang_policy policy;
  bool mixes;     /* prefill batches contain the decodes */
  bool has_cache; /* prefixes are found and kept */
  bool overlaps;  /* batches are formed before the result of the previous one is known */
  int64_t seed;   /* of BLIS_SGLANG_RANDOM */
} blis_sglang_config;

#endif
