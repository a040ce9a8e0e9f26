/*
 * totals.h - computes the totals of a layered model: parameters, bytes of weights, and bytes of
 * cache.
 *
 * Every function sums over the runs of the model and costs O(runs). Layers for multi-token
 * prediction and encoders for images and audio are not counted.
 */
#ifndef BLIS_LATENCY_LAYERS_TOTALS_H
#define BLIS_LATENCY_LAYERS_TOTALS_H

#include "latency/layers/layered_model.h"

/* The division of one replica's weights among GPUs. */
typedef struct blis_sharding {
  int64_t tp;           /* tensor-parallel degree, at least 1 */
  int64_t experts_gpus; /* GPUs that share the routed experts: tp, or tp times the degree of
                           data-parallel attention */
} blis_sharding;

/* Returns the number of weights, including embeddings. */
double blis_layered_parameters(const blis_layered_model *model);

/* Returns the number of weights that one token uses, including embeddings. */
double blis_layered_active_parameters(const blis_layered_model *model);

/* Returns the bytes of all weights with their scales, as stored in a checkpoint. */
double blis_layered_weight_bytes(const blis_layered_model *model);

/*
 * Returns the bytes of the weights on one GPU, including scales. The vocabulary is padded to a
 * multiple of 64 (vLLM, vocab_parallel_embedding.py) and divided by tp. Matrices that engines
 * replicate count in full, and every GPU has at least one KV head.
 */
double blis_layered_weight_bytes_per_gpu(const blis_layered_model *model,
                                         const blis_sharding *sharding);

/* The cache of one GPU, in bytes. */
typedef struct blis_model_cache {
  double token_bytes;  /* bytes for every token of a sequence */
  double window_bytes; /* bytes per sequence once all windows and chunks are full */
  double span_bytes;   /* bytes for a token that is in all windows and chunks */
  int64_t span_tokens; /* size of the longest window or chunk; 0 = none */
  double state_bytes;  /* fixed bytes per sequence */
} blis_model_cache;

/* Returns the widths of cached elements, with the defaults of the model in place of 0. */
blis_cache_widths blis_layered_widths(const blis_layered_model *model);

blis_model_cache blis_layered_cache(const blis_layered_model *model, int64_t tp);

/*
 * Checks whether engines accept tp. BLIS_ERR_INVALID if tp does not divide the query heads, or if
 * the number of KV heads neither divides tp nor is a multiple of it. The message contains the
 * number of heads.
 */
BLIS_MUSTUSE blis_status blis_layered_check_tp(const blis_layered_model *model, int64_t tp,
                                               blis_error *error);

#endif
