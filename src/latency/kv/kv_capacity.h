/*
 * kv_capacity.h - the number of KV-cache blocks that fit into GPU memory together
 * with a model.
 *
 * Formula: memory times utilization, less weights, activations (a constant), memory
 * outside of the framework, and adapters; divided by the bytes of a block. Numbers
 * match BLIS (August 2026), whose formula goes back to the capacity planner of
 * llm-d.
 *
 * Known property: memory is summed over the TP GPUs, but bytes per block are per
 * GPU. Above TP 1 the count is therefore about TP times the real capacity;
 * is_per_gpu corrects it. Every replica of a MoE model has all experts in this
 * formula. With capacity per GPU, and for ranks, each has its share of the experts.
 */
#ifndef BLIS_LATENCY_KV_KV_CAPACITY_H
#define BLIS_LATENCY_KV_KV_CAPACITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "latency/hardware/hardware_spec.h"
#include "latency/model/model_spec.h"

typedef struct blis_kv_capacity_config {
  const blis_model_spec *model;
  const blis_hardware_spec *hardware;
  int64_t tp;    /* >= 1 */
  int64_t dp;    /* >= 1; multiplies the blocks of a MoE model */
  int64_t ranks; /* number of ranks that share the experts of a MoE model; capacity is per rank.
                    0 = 1 */
  int64_t block_size_tokens;
  double memory_utilization; /* in (0, 1] */
  int64_t reserved_bytes;    /* for adapters, over all GPUs */
  bool is_per_gpu;           /* per GPU, with its own activations, and experts spread over
                                replicas */
} blis_kv_capacity_config;

/* The result with its terms; GiB are over all tp GPUs. */
typedef struct blis_kv_capacity {
  int64_t blocks;
  double bytes_per_token; /* on one GPU */
  int64_t bytes_per_block;
  int64_t params;
  int64_t weight_bytes;
  int64_t allocatable_bytes; /* the rest, for blocks */
  double memory_gib;         /* after utilisation */
  double weights_gib;
  double activations_gib;
  double non_torch_gib;
  double reserved_gib;
  double overhead_gib; /* sum of the four above */
} blis_kv_capacity;

/*
 * BLIS_ERR_INVALID names the missing value, or explains why the model does not fit
 * and the number of GPUs it needs; *capacity is undefined in this case.
 */
BLIS_MUSTUSE blis_status blis_kv_capacity_compute(const blis_kv_capacity_config *config,
                                                  blis_kv_capacity *capacity, blis_error *error);

/*
 * KV bytes of one token on one GPU, in all layers. The latent cache of MLA models
 * is on every GPU in full. Otherwise TP divides the KV heads, with at least one per
 * GPU if the model counts as built.
 */
BLIS_MUSTUSE blis_status blis_kv_bytes_per_token(const blis_model_spec *model, int64_t tp,
                                                 double *bytes_per_token, blis_error *error);

/* The number of weights of a model; FFNs have three matrices. */
BLIS_MUSTUSE blis_status blis_model_params(const blis_model_spec *model, int64_t *params,
                                           blis_error *error);

/* Bytes of all weights of a model. */
BLIS_MUSTUSE blis_status blis_model_weight_bytes(const blis_model_spec *model,
                                                 int64_t *weight_bytes, blis_error *error);

/*
 * The longest sequence when a model allows max_model_tokens (0 = unlimited,
 * which stays so) and there are that many blocks.
 */
int64_t blis_kv_limit_model_tokens(int64_t max_model_tokens, int64_t blocks,
                                   int64_t block_size_tokens);

#endif
