/*
 * work.h - the work of one GPU in a step: runs of identical layers with their shapes after
 * sharding.
 *
 * The structs are plain values and may be copied. Widths are numbers of elements. Every size is per
 * GPU. shard.h computes the work of a model.
 */
#ifndef BLIS_LATENCY_COMPOSED_WORK_H
#define BLIS_LATENCY_COMPOSED_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "latency/composed/kernels.h"
#include "latency/precision/precision.h"

/* A matrix product with one row per token of the step. */
typedef struct blis__matrix {
  double n;
  double k;
  blis_weight_kind format;
} blis__matrix;

enum { BLIS__ATTENTION_MATRICES_MAX = 12, BLIS__MLP_MATRICES_MAX = 4 };

/* A run of identical layers. */
typedef struct blis__layer_work {
  double count; /* number of layers */

  /* Attention, or a linear layer. */
  blis__matrix attention[BLIS__ATTENTION_MATRICES_MAX];
  size_t attention_count;
  double query_width; /* heads * head width */
  double kv_width;    /* width of the keys only */
  double kv_heads;    /* KV heads on this GPU; 0 = no KV cache */
  double kv_bytes;    /* bytes read per token of context */
  /* FLOPs per token of context in latent attention; 0 = no latent attention */
  double latent_flops;
  double prefill_width; /* u: heads * head width, corrected for narrow heads */
  double window;        /* in tokens; 0 = unlimited */
  /* Bytes that the indexer reads per token of context, regardless of the window. */
  double index_bytes;
  double state_bytes; /* bytes that linear attention reads and writes per request and step */

  /* Feed-forward. */
  blis__matrix mlp[BLIS__MLP_MATRICES_MAX]; /* matrices of dense layers and shared experts */
  size_t mlp_count;
  double mlp_width;           /* width of the activations of a dense layer; 0 with experts */
  blis__expert_shape experts; /* its member experts is 0 without experts */
  blis_weight_kind expert_format;
  bool is_sharded; /* TP > 1, so all-reduces follow */
} blis__layer_work;

/* A step of a model on one GPU. */
typedef struct blis__step_work {
  const blis__layer_work *runs; /* borrowed */
  size_t run_count;
  double hidden;
  double head_width; /* part of the vocabulary on this GPU */
  double vocabulary; /* size of the whole vocabulary */
  double activation_bytes;
  double replicas; /* number of attention replicas, which share the tokens of a step; >= 1 */
  bool has_experts;
} blis__step_work;

#endif
