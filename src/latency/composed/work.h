/*
 * work.h - the work of one GPU in a step: runs of equal layers with their shapes after sharding.
 *
 * A plain value: copy it freely. Widths count elements. Every size is the size on one GPU.
 * shard.h computes the work of a model.
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

/* A run of equal layers. */
typedef struct blis__layer_work {
  double count; /* layers of the run */

  /* Attention or a linear layer. */
  blis__matrix attention[BLIS__ATTENTION_MATRICES_MAX];
  size_t attention_count;
  double query_width;   /* heads * head width */
  double kv_width;      /* only keys */
  double kv_heads;      /* KV heads on this GPU; 0 = no KV cache */
  double kv_bytes;      /* read per token of context */
  double latent_flops;  /* per token of context, latent attention; 0 = none */
  double prefill_width; /* u: heads * head width, corrected for narrow heads */
  double window;        /* tokens; 0 = unlimited */
  double index_bytes;   /* of the indexer, read per token of context, whatever the window */
  double state_bytes;   /* read and written per request and step, linear attention */

  /* Feed-forward. */
  blis__matrix mlp[BLIS__MLP_MATRICES_MAX]; /* dense and shared experts */
  size_t mlp_count;
  double mlp_width;           /* of the activations of a dense layer, 0 with experts */
  blis__expert_shape experts; /* experts 0 = none */
  blis_weight_kind expert_format;
  bool is_sharded; /* all-reduces follow: TP > 1 */
} blis__layer_work;

/* A step of a model on one GPU. */
typedef struct blis__step_work {
  const blis__layer_work *runs; /* borrowed */
  size_t run_count;
  double hidden;
  double head_width; /* vocabulary on this GPU */
  double vocabulary; /* whole */
  double activation_bytes;
  double replicas; /* of the attention, which share the tokens of a step; >= 1 */
  bool has_experts;
} blis__step_work;

#endif
