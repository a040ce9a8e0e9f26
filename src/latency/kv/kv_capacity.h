/*
 * kv_capacity.h - computes the number of KV-cache blocks that fit in GPU memory together with a
 * model.
 *
 * Formula: (memory * utilization - weights - activations - memory outside the framework - adapters)
 * / bytes per block. Activations are a constant. The results match BLIS (August 2026), whose
 * formula is based on the capacity planner of llm-d.
 *
 * Known property: memory is summed over the TP GPUs, but bytes per block are per GPU. With TP above
 * 1, the count is therefore about TP times the real capacity. is_per_gpu corrects this. In this
 * formula, every replica of an MoE model has all experts. With is_per_gpu, and for ranks, each
 * replica has its share of the experts.
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
  int64_t tp; /* >= 1 */
  int64_t dp; /* >= 1; multiplies the blocks of an MoE model */
  /* Number of ranks that share the experts of an MoE model; capacity is per rank. 0 means 1. */
  int64_t ranks;
  int64_t block_size_tokens;
  double memory_utilization; /* in (0, 1] */
  int64_t reserved_bytes;    /* for adapters, over all GPUs */
  /*
   * Compute the capacity per GPU, with the activations of one GPU and experts spread over replicas.
   */
  bool is_per_gpu;
} blis_kv_capacity_config;

/* The result with its terms. Values in GiB are totals over all tp GPUs. */
typedef struct blis_kv_capacity {
  int64_t blocks;
  double bytes_per_token; /* on one GPU */
  int64_t bytes_per_block;
  int64_t params;
  int64_t weight_bytes;
  int64_t allocatable_bytes; /* remaining memory, for blocks */
  double memory_gib;         /* after multiplication by the utilization */
  double weights_gib;
  double activations_gib;
  double non_torch_gib;
  double reserved_gib;
  double overhead_gib; /* sum of the four above */
} blis_kv_capacity;

/*
 * BLIS_ERR_INVALID names the missing value, or explains why the model does not fit and how many
 * GPUs it needs. *capacity is then undefined.
 */
BLIS_MUSTUSE blis_status blis_kv_capacity_compute(const blis_kv_capacity_config *config,
                                                  blis_kv_capacity *capacity, blis_error *error);

/*
 * Computes the KV bytes of one token on one GPU, over all layers. With MLA, every GPU stores the
 * whole latent cache. Otherwise, TP divides the KV heads, with at least one head per GPU if the
 * model counts memory as built.
 */
BLIS_MUSTUSE blis_status blis_kv_bytes_per_token(const blis_model_spec *model, int64_t tp,
                                                 double *bytes_per_token, blis_error *error);

/* Computes the number of weights of a model. FFNs have three matrices. */
BLIS_MUSTUSE blis_status blis_model_params(const blis_model_spec *model, int64_t *params,
                                           blis_error *error);

/* Computes the bytes of all weights of a model. */
BLIS_MUSTUSE blis_status blis_model_weight_bytes(const blis_model_spec *model,
                                                 int64_t *weight_bytes, blis_error *error);

/*
 * Returns the maximum sequence length if a model allows max_model_tokens and there are `blocks`
 * blocks. 0 = unlimited, which stays unlimited.
 */
int64_t blis_kv_limit_model_tokens(int64_t max_model_tokens, int64_t blocks,
                                   int64_t block_size_tokens);

#endif
