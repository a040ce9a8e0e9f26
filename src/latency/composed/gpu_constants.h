/*
 * gpu_constants.h - the constants of the composed model for one GPU, as data/latency/composed.yaml
 * states them, and what a model in given formats takes from them.
 *
 * Keys of an entry: `gpu` (the GPU's name in the catalog); `bandwidth_tb_s` (default: the
 * catalog's); `products` and `experts` (a kernel per weight format); `speedup` (peak in that format
 * against 16 bits; default 1) and `expert_slowdown` (divides bandwidth and peak of experts; default
 * 1); `dense_scales` and `expert_scales` (a pair per format); the numbers of NUMBERS in
 * gpu_constants.c; `allreduce` (times from 256 bytes on, doubling, per number of GPUs),
 * `allreduce_line` (launch and bytes per us), and `allreduce_factor`.
 */
#ifndef BLIS_LATENCY_COMPOSED_GPU_CONSTANTS_H
#define BLIS_LATENCY_COMPOSED_GPU_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/format/yaml.h"
#include "latency/composed/step_parts.h"

enum { BLIS__REDUCE_SIZES = 3, BLIS__REDUCE_POINTS_MAX = 24 };

typedef struct blis__gpu_constants {
  const char *gpu;
  double bandwidth_tb_s; /* 0 = that of the catalog */
  blis__kernel products[BLIS__WEIGHT_FORMAT_COUNT];
  bool has_product[BLIS__WEIGHT_FORMAT_COUNT];
  blis__kernel experts[BLIS__WEIGHT_FORMAT_COUNT];
  bool has_experts[BLIS__WEIGHT_FORMAT_COUNT];
  double speedup[BLIS__WEIGHT_FORMAT_COUNT];
  double expert_slowdown[BLIS__WEIGHT_FORMAT_COUNT];
  blis__scales dense_scales[BLIS__WEIGHT_FORMAT_COUNT]; /* decode 0 = not fitted */
  blis__scales expert_scales[BLIS__WEIGHT_FORMAT_COUNT];
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
  double launch_bound_us;
  double allreduce_factor;
  double reduce_us_at[BLIS__REDUCE_SIZES][BLIS__REDUCE_POINTS_MAX]; /* 2, 4 and 8 GPUs */
  size_t reduce_points[BLIS__REDUCE_SIZES];
  double reduce_line[BLIS__REDUCE_SIZES][2];
} blis__gpu_constants;

/*
 * Reads a mapping; the name comes from the arena. An error names the file, the line, the key, and
 * what it must be. Every number and the bf16 kernel of products and experts are required.
 */
BLIS_MUSTUSE blis_status blis__gpu_constants_read(blis_arena *arena, const blis_yaml_node *node,
                                                  blis__gpu_constants *constants,
                                                  blis_error *error);

/* What the constants depend on, besides the GPU. */
typedef struct blis__composed_class {
  blis__weight_format attention; /* of attention's matrices */
  blis__weight_format mlp;       /* of the experts if there are any, else of dense layers */
  bool has_experts;
  bool has_fp8_kv;
  int64_t gpus; /* of an all-reduce */
  double engine_scale;
} blis__composed_class;

/*
 * Fills *out; `peak_tflops` and `bandwidth_tb_s` are those of the catalog. The arrays of all-reduce
 * times are borrowed from *constants. Formats without a kernel use the 16-bit kernel with their own
 * bytes; true is returned when every format in use was fitted.
 */
bool blis__composed_constants_of(const blis__gpu_constants *constants,
                                 const blis__composed_class *class, double peak_tflops,
                                 double bandwidth_tb_s, blis__composed_constants *out);

#endif
