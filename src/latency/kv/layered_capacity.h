/*
 * layered_capacity.h - computes the KV cache that fits on one GPU together with a model, including
 * every term of the calculation.
 *
 *   room   = memory * utilization - weights - activations - logits - fixed - adapters
 *   blocks = room / bytes of a block
 *
 * All terms are per GPU, so users can check the printed calculation. The terms are:
 *
 *   activations = 2 bytes * step tokens * (4 hidden + widest feed-forward part of a layer)
 *       dense:   matrices * width / TP
 *       experts: experts per token * (matrices * expert width / TP + hidden)
 *   logits      = 16 bytes * vocabulary * sequences
 *   fixed       = 0.45 GiB, and 0.25 GiB with TP above 1, and 4 GiB with experts in block FP8
 *
 * Source: the formula was fitted to the block counts that vLLM 0.14 to 0.19 reports on H100, H200,
 * B200, and RTX 4090. Its error is at most 5% for all of them (list:
 * tests/latency/kv/test_layered_capacity.c).
 */
#ifndef BLIS_LATENCY_KV_LAYERED_CAPACITY_H
#define BLIS_LATENCY_KV_LAYERED_CAPACITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "latency/kv/page_groups.h"

typedef struct blis_layered_capacity_config {
  blis_page_groups_config pages; /* layers, TP, block size */
  int64_t vocabulary;
  double weight_bytes;  /* on one GPU */
  double memory_gib;    /* memory of one GPU, as reported by the driver */
  double utilization;   /* in (0, 1] */
  int64_t step_tokens;  /* max_num_batched_tokens */
  int64_t sequences;    /* max_num_seqs */
  double adapter_bytes; /* on one GPU */
} blis_layered_capacity_config;

/* All values are per GPU. */
typedef struct blis_layered_capacity {
  blis_page_groups pages;
  double memory_gib; /* after utilization */
  double weights_gib;
  double activations_gib;
  double logits_gib;
  double fixed_gib;
  double adapters_gib;
  double room_gib;       /* memory for KV; 0 or negative if the model does not fit */
  int64_t blocks;        /* 0 if the model does not fit */
  int64_t logged_tokens; /* the number that vLLM logs */
} blis_layered_capacity;

/*
 * If the model does not fit, this is not an error; blocks is 0. BLIS_ERR_INVALID names a
 * utilization, memory, or block size that is out of range.
 */
BLIS_MUSTUSE blis_status blis_layered_capacity_compute(const blis_layered_capacity_config *config,
                                                       blis_layered_capacity *capacity,
                                                       blis_error *error);

#endif
