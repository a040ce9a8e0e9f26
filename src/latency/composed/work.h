/*
 * work.h - the work of one GPU in a step: runs of equal layers with their shapes after sharding.
 *
 * A plain value: copy it freely. Widths count elements. Every size is the size on one GPU.
 */
#ifndef BLIS_LATENCY_COMPOSED_WORK_H
#define BLIS_LATENCY_COMPOSED_WORK_H

#include <stdbool.h>
#include <stddef.h>

#include "latency/composed/kernels.h"

/* Formats of weights. The order is that of the names in blis__weight_format_names. */
typedef enum blis__weight_format {
  BLIS__WEIGHTS_16_BIT,
  BLIS__WEIGHTS_FP8,
  BLIS__WEIGHTS_FP8_BLOCK,
  BLIS__WEIGHTS_NVFP4,
  BLIS__WEIGHTS_MXFP4,
  BLIS__WEIGHTS_INT4,
  BLIS__WEIGHT_FORMAT_COUNT
} blis__weight_format;

/* "bf16", "fp8", "fp8_block", "nvfp4", "mxfp4", "int4", by format. */
extern const char *const blis__weight_format_names[BLIS__WEIGHT_FORMAT_COUNT];

/* A matrix product with one row per token of the step. */
typedef struct blis__matrix {
  double n;
  double k;
  blis__weight_format format;
} blis__matrix;

enum { BLIS__ATTENTION_MATRICES_MAX = 6, BLIS__MLP_MATRICES_MAX = 4 };

/* A run of equal layers. */
typedef struct blis__layer_work {
  double count; /* layers of the run */

  /* Attention or a linear layer. */
  blis__matrix attention[BLIS__ATTENTION_MATRICES_MAX];
  size_t attention_count;
  double query_width;   /* heads * head width */
  double kv_width;      /* keys alone */
  double kv_heads;      /* KV heads on this GPU; 0 = no KV cache */
  double kv_bytes;      /* read per token of context */
  double latent_flops;  /* per token of context, latent attention; 0 = none */
  double prefill_width; /* u: heads * head width, corrected for narrow heads */
  double window;        /* tokens; 0 = unlimited */
  double state_bytes;   /* read and written per request and step, linear attention */

  /* Feed-forward. */
  blis__matrix mlp[BLIS__MLP_MATRICES_MAX]; /* dense and shared experts */
  size_t mlp_count;
  double mlp_width;           /* of the activations of a dense layer, 0 with experts */
  blis__expert_shape experts; /* experts 0 = none */
  blis__weight_format expert_format;
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
  bool has_experts;
} blis__step_work;

#endif
