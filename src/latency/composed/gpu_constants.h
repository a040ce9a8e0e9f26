/*
 * gpu_constants.h - the constants of the composed model for one GPU (data/latency/composed.yaml),
 * and the selection of the constants for one model on that GPU.
 *
 * Keys of an entry:
 *   gpu               name of the GPU in the catalog
 *   also              names of further GPUs with the same constants. Default: none.
 *   bandwidth_tb_s    memory bandwidth. Default: the bandwidth in the catalog.
 *   products, experts a kernel per weight format
 *   speedup           peak rate in a format, relative to 16 bits. Default: 1.
 *   expert_slowdown   divisor of bandwidth and peak for experts in a format. Default: 1.
 *   expert_kernel     format that supplies the widths and the peak rate of experts in a format.
 *   dense_scales, expert_scales   a pair of scales per format
 *   allreduce_of      GPU whose rows of allreduce.csv apply. Default: none; the time follows from
 *                     the link of the GPU (links.h).
 *   allreduce_factor  factor on the times of these rows. Default: 1.
 *   kernels_of        GPUs whose rows of gemm.csv and moe.csv apply, in order: each a name with
 *                     [bandwidth in TB/s, 16-bit peak in TFLOPS]. Default: none.
 *   with_tables       keys of this list whose values differ when kernel tables are in use
 * The table NUMBERS in gpu_constants.c lists the other keys.
 */
#ifndef BLIS_LATENCY_COMPOSED_GPU_CONSTANTS_H
#define BLIS_LATENCY_COMPOSED_GPU_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/format/yaml.h"
#include "latency/composed/step_parts.h"

enum { BLIS__ALSO_MAX = 8 };

typedef struct blis__gpu_constants {
  const char *gpu;
  const char *also[BLIS__ALSO_MAX];
  size_t also_count;
  double bandwidth_tb_s; /* 0 = value from the catalog */
  blis__kernel products[BLIS_KIND_COUNT];
  bool has_product[BLIS_KIND_COUNT];
  blis__kernel experts[BLIS_KIND_COUNT];
  bool has_experts[BLIS_KIND_COUNT];
  double speedup[BLIS_KIND_COUNT];
  double expert_slowdown[BLIS_KIND_COUNT];
  blis_weight_kind expert_kind[BLIS_KIND_COUNT];
  blis__scales dense_scales[BLIS_KIND_COUNT]; /* decode 0 = not fitted */
  blis__scales expert_scales[BLIS_KIND_COUNT];
  double layer_us;
  double quantised_layer_us;
  double expert_layer_us;
  double reduce_us;
  double step_us;
  double sampling_reads;
  double router_share;
  double expert_balance;
  double elementwise_share;
  double attention_us;
  double attention_head_us;
  double kv_share;
  double kv_fp8_share;
  double latent_share;
  double prefill_layer_us;
  double prefill_bytes;
  double prefill_share;
  double old_expert_scale;     /* engine_scale of block-FP8 experts before vLLM 0.18; 0 = 1 */
  double old_mxfp4_scale;      /* engine_scale of MXFP4 experts before vLLM 0.12; 0 = 1 */
  double old_dense_launch_us;  /* f before vLLM 0.12, dense models; 0 = never launch-bound */
  double old_expert_launch_us; /* f before vLLM 0.12, models with experts */
  double allreduce_factor;
  double fuses_dense_reduces; /* 1 = all-reduces of dense models are fused with the next norm */
  const char *allreduce_of;   /* NULL = none */
  blis__measured_gpu kernels_of[BLIS__MEASURED_GPUS_MAX];
  size_t kernels_of_count;
  const struct blis__gpu_constants *with_tables; /* NULL = the same values */
} blis__gpu_constants;

/* Returns whether the constants belong to the GPU, ignoring case. */
bool blis__gpu_constants_are_of(const blis__gpu_constants *constants, const char *gpu);

/*
 * Reads a mapping; strings are allocated in the arena. An error names the file, the line, the key,
 * and the expected value. Every number is required, and so are the bf16 kernels of products and
 * experts.
 */
BLIS_MUSTUSE blis_status blis__gpu_constants_read(blis_arena *arena, const blis_yaml_node *node,
                                                  blis__gpu_constants *constants,
                                                  blis_error *error);

/* Calls show with the key and the value of every number, in the order of NUMBERS. */
void blis__gpu_constants_each_number(const blis__gpu_constants *constants,
                                     void (*show)(void *ud, const char *key, double value),
                                     void *ud);

/* Properties of the model and the run that select constants. */
typedef struct blis__composed_class {
  blis_weight_kind attention; /* format of the attention matrices */
  blis_weight_kind mlp;       /* format of experts, or of dense layers in a model without experts */
  bool has_experts;
  bool has_fp8_kv;
  double engine_scale;    /* 0 = value of the vLLM version */
  int64_t backend_number; /* version of vLLM: 1000 * major + minor; 0 = the latest */
} blis__composed_class;

/*
 * Fills *out from the constants and the catalog's `peak_tflops` and `bandwidth_tb_s`, except the
 * all-reduces (links.h) and the overlay. A format without a kernel uses the 16-bit kernel with the
 * bytes of the format. Returns whether the constants of every format in use were fitted.
 */
bool blis__composed_constants_of(const blis__gpu_constants *constants,
                                 const blis__composed_class *class, double peak_tflops,
                                 double bandwidth_tb_s, blis__composed_constants *out);

#endif
