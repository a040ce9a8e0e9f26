/*
 * create.h - creates a latency model from its name and the settings of an experiment, with defaults
 * for missing settings.
 *
 * Every part of a cluster resolves its own coefficients here, so pools with
 * different models or GPUs never use coefficients that were fitted for others.
 */
#ifndef BLIS_LATENCY_CREATE_H
#define BLIS_LATENCY_CREATE_H

#include "latency/catalogue/catalogue.h"
#include "latency/composed/kernel_tables.h"
#include "latency/composed/step_cache.h"
#include "latency/hardware/hardware_spec.h"
#include "latency/hardware/parallelism.h"
#include "latency/layers/layered_model.h"
#include "latency/model/model_spec.h"
#include "latency/step/coefficients.h"
#include "latency/step/latency_model.h"

#define BLIS_LATENCY_DEFAULT_KIND "calibrated"

/* Inputs of the composed model in addition to the model and the GPU. Zero it before use. */
typedef struct blis_composed_config {
  const blis__gpu_constants *constants; /* constants of the GPU; NULL = unknown */
  bool is_async;                        /* asynchronous scheduling */
  int64_t tokens_max;                   /* maximum number of tokens of a step; 0 means 8192 */
  int64_t requests_max;                 /* maximum number of requests of a step; 0 means 1024 */
  double engine_scale;                  /* factor on all layers; 0 = value of the version */
  int64_t backend_number;               /* version of vLLM: 1000 * major + minor; 0 = the latest */
  bool uses_tables;                     /* correct kernels with the tables below */
  blis__kernel_tables shipped_tables;   /* all-reduces always use their rows */
  blis__kernel_tables own_tables;       /* the user's tables, which take precedence */
  blis_step_cache *cache;               /* cache of earlier models; NULL = none */
} blis_composed_config;

/* Zero it before use. Pointers are borrowed for the duration of the call. */
typedef struct blis_latency_config {
  /*
   * A name from the table in create.c, or "routesim" for piecewise; NULL =
   * BLIS_LATENCY_DEFAULT_KIND.
   */
  const char *kind;
  const char *model_id;              /* for the lookup of coefficients */
  const blis_model_spec *model;      /* for trained-physics, calibrated,
                                        roofline, and composed */
  const blis_layered_model *layered; /* for composed; NULL = layers from `model` */
  /* Its name is for lookups, and its rates are for the same latency models. */
  const blis_hardware_spec *hardware;
  blis_parallelism parallelism;
  const char *version; /* version of the serving engine, for blackbox; NULL = latest */

  /*
   * Either both alpha and beta, or neither to use the defaults. trained-physics, calibrated, and
   * blackbox take their defaults from the catalog. The default of roofline is alpha = 0; it has no
   * beta. piecewise uses RouteSim's defaults. Its beta values are prefill tokens/s, decode tokens/s
   * of one request, saturation batch, and saturated decode tokens/s.
   */
  blis_coefficients coefficients;
  const blis_catalogue *catalogue; /* required if anything is looked up */
  bool whole_milliseconds;         /* for piecewise: round like RouteSim */
  blis_composed_config composed;
} blis_latency_config;

/*
 * Fills *out, which the caller owns. A failure leaves *out unchanged, and the error names the
 * option and the allowed values. DP above 1, expert parallelism, and a communication backend are
 * supported by trained-physics, calibrated, and composed. The first two require an MoE model.
 */
BLIS_MUSTUSE blis_status blis_latency_create(const blis_alloc *alloc,
                                             const blis_latency_config *config,
                                             blis_latency_model *out, blis_error *error);

/* The conditions that determine the error of the composed model. */
typedef struct blis_step_regime {
  const char *weights; /* format of the experts, or of the feed-forward layers; static */
  bool has_experts;
  bool has_usual_attention; /* all layers have full or window attention */
  bool is_async;
  int64_t layers;      /* of the model */
  int64_t hidden_size; /* of the model */
  double kv_bits;      /* of an element of the KV cache */
} blis_step_regime;

/* Determines the regime of a configuration. blis_latency_create must succeed for it, and its kind
 * must be composed. */
BLIS_MUSTUSE blis_status blis_latency_regime(const blis_alloc *alloc,
                                             const blis_latency_config *config,
                                             blis_step_regime *regime, blis_error *error);

/* The parts of a step in the composed model, in microseconds. */
typedef struct blis_step_parts {
  double products_us;  /* matrix products of all layers, and the output matrix */
  double experts_us;   /* routed experts */
  double attention_us; /* KV reads and prefill attention */
  double links_us;     /* all-reduces between GPUs */
  double other_us;     /* launches, element-wise work, sampling, and the fixed part of a step */
  double host_us;      /* hidden if scheduling is asynchronous and the GPU takes longer */
  double total_us;
} blis_step_parts;

/*
 * Computes the parts of a step with these sums. The kind of config must be composed. All parts
 * except the host add up to the GPU time. Fails with BLIS_ERR_INVALID like blis_latency_create.
 */
BLIS_MUSTUSE blis_status blis_latency_step_parts(const blis_alloc *alloc,
                                                 const blis_latency_config *config,
                                                 const blis_batch_sums *sums,
                                                 blis_step_parts *parts, blis_error *error);

/* A kernel of the composed model, and the source of its time. */
typedef struct blis_kernel_use {
  bool is_experts;
  const char *format;    /* "bf16", "fp8", ...; static */
  const double *shape;   /* n, k; or experts, chosen, hidden, width, local */
  size_t shape_count;    /* 2 or 5 */
  const char *source;    /* "measured", "near", or "closed form"; static */
  const char *gpu;       /* GPU of the rows; "" without rows */
  const double *nearest; /* shape of the nearest row, if there are rows */
  double weight;         /* weight of the rows, 0 to 1; the rest is the weight of the closed form */
} blis_kernel_use;

/*
 * Calls show for every distinct kernel that was looked up in the tables. Without tables, show is
 * never called. The kind of config must be composed. The argument of show is valid only during the
 * call. Fails with BLIS_ERR_INVALID like blis_latency_create.
 */
BLIS_MUSTUSE blis_status blis_latency_kernels(const blis_alloc *alloc,
                                              const blis_latency_config *config,
                                              void (*show)(void *ud, const blis_kernel_use *use),
                                              void *ud, blis_error *error);

/*
 * Stores the coefficients that blis_latency_create would use, from the experiment or the catalog;
 * borrowed. *coverage is NULL if the calibrated range is unknown. Fails for a kind without
 * coefficients.
 */
BLIS_MUSTUSE blis_status blis_latency_coefficients(const blis_latency_config *config,
                                                   blis_coefficients *coefficients,
                                                   const blis_coverage **coverage,
                                                   blis_error *error);

/*
 * Calls warn with one sentence for every setting that is allowed but probably unintended or
 * inaccurate: MLA models, an unknown quantization, a TP degree that does not divide the KV heads,
 * or a communication backend without effect.
 */
void blis_latency_warnings(const blis_latency_config *config,
                           void (*warn)(void *ud, const char *text), void *ud);

#endif
