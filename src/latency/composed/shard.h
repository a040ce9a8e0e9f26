/*
 * shard.h - the work of one GPU in a step, from the layers of a model and the way they are divided
 * among the GPUs of an instance.
 *
 * Attention heads and feed-forward widths are divided by the tensor-parallel degree. Every GPU has
 * at least one KV head, and the whole latent cache of MLA. Experts are divided by width, or whole
 * experts are placed on the GPUs (expert parallelism).
 *
 * Engines compute matrices with the same input as one product (query, key, and value; gate and up).
 * Latent attention multiplies queries and outputs by the latent projection in 16 bits instead of
 * expanding the cache.
 *
 * Sparse attention reads at most `attended_tokens` of the context, like a window, and its indexer
 * the keys of the whole context.
 *
 * Replicas of data-parallel attention share the experts of all their GPUs. A step then contains the
 * requests of all replicas, and each replica has an equal share.
 *
 * A layer with a chunk reads at most one chunk of context. The mean over a chunk is half of it, so
 * beyond the first chunk this is an upper bound.
 */
#ifndef BLIS_LATENCY_COMPOSED_SHARD_H
#define BLIS_LATENCY_COMPOSED_SHARD_H

#include "base/alloc.h"
#include "base/error.h"
#include "latency/composed/work.h"
#include "latency/layers/layer.h"

typedef struct blis__sharding {
  const blis_layer_run *runs; /* borrowed; wherever they are in the model */
  size_t run_count;
  int64_t hidden_size;
  int64_t vocab_size;
  blis_cache_widths widths; /* of elements of the cache, in bytes */
  int64_t tp;               /* tensor-parallel degree, >= 1 */
  int64_t replicas;         /* groups of tp GPUs that share the experts, >= 1 */
  bool has_expert_parallel; /* whole experts on the GPUs of all replicas */
} blis__sharding;

/*
 * Fills *work for one GPU. The caller frees work->runs with blis__work_free. BLIS_ERR_INVALID for a
 * model without layers, without a hidden size or vocabulary, or with experts and an unknown number
 * of experts per token.
 */
BLIS_MUSTUSE blis_status blis__work_new(const blis_alloc *alloc, const blis__sharding *sharding,
                                        blis__step_work *work, blis_error *error);

/* Allowed for zeroed work. */
void blis__work_free(const blis_alloc *alloc, blis__step_work *work);

/* The format of the attention matrices in most layers. */
blis_weight_kind blis__work_attention_kind(const blis__step_work *work);

/* The format of the experts in most layers with experts; without experts, of the feed-forward
   matrices in most layers. */
blis_weight_kind blis__work_mlp_kind(const blis__step_work *work);

#endif
