/*
 * totals.h - the totals of a layered model: parameters, bytes of weights, and bytes
 * of cache.
 *
 * Every function sums over the runs of the model and costs O(runs). Layers of
 * multi-token prediction and towers for images and sound are not counted.
 */
#ifndef BLIS_LATENCY_LAYERS_TOTALS_H
#define BLIS_LATENCY_LAYERS_TOTALS_H

#include "latency/layers/layered_model.h"

/* How one replica's weights are divided among GPUs. */
typedef struct blis_sharding {
  int64_t tp;           /* tensor-parallel degree, at least 1 */
  int64_t experts_gpus; /* GPUs that share the routed experts: tp, or tp times the degree of
                           data-parallel attention */
} blis_sharding;

/* Number of weights, embeddings included. */
double blis_layered_parameters(const blis_layered_model *model);

/* Number of weights that one token uses, embeddings included. */
double blis_layered_active_parameters(const blis_layered_model *model);

/* Bytes of all weights with their scales, as a checkpoint stores them. */
double blis_layered_weight_bytes(const blis_layered_model *model);

/*
 * Bytes of the weights on one GPU, scales included. The vocabulary is padded to a multiple of 64
 * (vLLM, vocab_parallel_embedding.py) and divided by tp. Matrices that engines replicate count in
 * full, and every GPU has at least one KV head.
 */
double blis_layered_weight_bytes_per_gpu(const blis_layered_model *model,
                                         const blis_sharding *sharding);

/* The cache of one GPU, in bytes. */
typedef struct blis_model_cache {
  double token_bytes;  /* for every token of a sequence */
  double window_bytes; /* per sequence, once all windows and chunks are full */
  double span_bytes;   /* for a token in all windows and chunks */
  int64_t span_tokens; /* of the longest window or chunk; 0 = none */
  double state_bytes;  /* per sequence, fixed */
} blis_model_cache;

/* The widths of cached elements, with the defaults of the model in place of 0. */
blis_cache_widths blis_layered_widths(const blis_layered_model *model);

blis_model_cache blis_layered_cache(const blis_layered_model *model, int64_t tp);

/*
 * BLIS_ERR_INVALID if engines refuse tp: query heads that tp does not divide, or a number of KV
 * heads that neither divides tp nor is divided by it. The message names the heads.
 */
BLIS_MUSTUSE blis_status blis_layered_check_tp(const blis_layered_model *model, int64_t tp,
                                               blis_error *error);

#endif
