/*
 * shard.h - computes the work of one GPU in a step from the layers of a model and their
 * distribution over the GPUs of an instance.
 *
 * Attention heads and feed-forward widths are divided by the tensor-parallel degree. Every GPU has
 * at least one KV head; with MLA, it has the whole latent cache. Either each expert is divided by
 * width, or whole experts are distributed over the GPUs (expert parallelism).
 *
 * Engines combine matrices with the same input into one product (query, key, and value; gate and
 * up). Latent attention multiplies queries and outputs by the latent projection in 16 bits instead
 * of expanding the cache.
 *
 * Sparse attention reads at most `attended_tokens` tokens of the context, like a window. Its
 * indexer reads the keys of the whole context.
 *
 * Replicas of data-parallel attention share the experts of all their GPUs. In this case, a step
 * contains the requests of all replicas, and each replica computes an equal share.
 *
 * A layer with a chunk reads at most one chunk of context. The mean over a chunk is half a chunk,
 * so beyond the first chunk this is an upper bound.
 */
#ifndef BLIS_LATENCY_COMPOSED_SHARD_H
#define BLIS_LATENCY_COMPOSED_SHARD_H

#include "base/alloc.h"
#include "base/error.h"
#include "latency/composed/work.h"
#include "latency/layers/layer.h"

typedef struct blis__sharding {
  const blis_layer_run *runs; /* borrowed; in any part of the model */
  size_t run_count;
  int64_t hidden_size;
  int64_t vocab_size;
  blis_cache_widths widths; /* widths of cache elements, in bytes */
  int64_t tp;               /* tensor-parallel degree, >= 1 */
  int64_t replicas;         /* number of groups of tp GPUs that share the experts, >= 1 */
  bool has_expert_parallel; /* whole experts are distributed over the GPUs of all replicas */
} blis__sharding;

/*
 * Fills *work for one GPU. The caller frees work->runs with blis__work_free. BLIS_ERR_INVALID if
 * the model has no layers, no hidden size, or no vocabulary, or if it has experts but the number of
 * experts per token is unknown.
 */
BLIS_MUSTUSE blis_status blis__work_new(const blis_alloc *alloc, const blis__sharding *sharding,
                                        blis__step_work *work, blis_error *error);

/* Zeroed work is allowed. */
void blis__work_free(const blis_alloc *alloc, blis__step_work *work);

/* Returns the format of the attention matrices in most layers. */
blis_weight_kind blis__work_attention_kind(const blis__step_work *work);

/* Returns the format of the experts in most layers with experts. For a model without experts,
   returns the format of the feed-forward matrices in most layers. */
blis_weight_kind blis__work_mlp_kind(const blis__step_work *work);

#endif
