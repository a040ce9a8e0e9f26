/*
 * sglang_config.h - configuration of the SGLang scheduler: its limits and the order of its wait
 * queue.
 *
 * Names and defaults: SGLang's server arguments (server_arguments.md, 004813e). The rules are in
 * instance/sglang.
 */
#ifndef BLIS_INSTANCE_CONFIG_SGLANG_CONFIG_H
#define BLIS_INSTANCE_CONFIG_SGLANG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

typedef enum blis_sglang_policy {
  BLIS_SGLANG_FCFS,
  BLIS_SGLANG_LPM, /* longest cached prefix first */
  /* depth first in the prefix tree, subtrees with the most waiting requests first */
  BLIS_SGLANG_DFS_WEIGHT,
  BLIS_SGLANG_LOF, /* longest output first */
  BLIS_SGLANG_RANDOM
} blis_sglang_policy;

typedef struct blis_sglang_config {
  int64_t chunk_tokens;       /* per prefill batch, at least a page; 0 = prompts are not split */
  int64_t max_prefill_tokens; /* per prefill batch, >= 1 */
  /*
   * Expected fraction of its remaining output that a running request will produce: the initial
   * value and the minimum. The fraction falls linearly from one to the other in decay_steps steps.
   */
  double init_ratio;               /* 0 to 1 */
  double min_ratio;                /* 0 to init_ratio */
  int64_t decay_steps;             /* >= 1 */
  int64_t prefill_decode_interval; /* decode steps after each prefill batch; >= 0 */
  blis_sglang_policy policy;
  bool mixes;     /* prefill batches also contain the decodes */
  bool has_cache; /* prefixes are cached */
  bool overlaps;  /* a batch is formed before the result of the previous batch is known */
  int64_t seed;   /* for BLIS_SGLANG_RANDOM */
} blis_sglang_config;

#endif
