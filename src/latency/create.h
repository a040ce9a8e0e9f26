/*
 * create.h - creates a latency model from its name and the settings of an
 * experiment, with defaults for the rest.
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

/* Additional inputs of the composed model, besides the model and the GPU. Zero it first. */
typedef struct blis_composed_config {
  const blis__gpu_constants *constants; /* of the GPU; NULL = unknown */
  bool is_async;                        /* asynchronous scheduling */
  int64_t tokens_max;                   /* of a step; 0 = 8192 */
  int64_t requests_max;                 /* of a step; 0 = 1024 */
  double engine_scale;                  /* factor on all layers; 0 = the version's */
  int64_t backend_number;               /* version of vLLM: 1000 * major + minor; 0 = the latest */
  bool uses_tables;                     /* correct kernels by the tables below */
  blis__kernel_tables shipped_tables;   /* all-reduces use their rows always */
  blis__kernel_tables own_tables;       /* the user's tables, which take precedence */
  blis_step_cache *cache;               /* of models made before; NULL = none */
} blis_composed_config;

/* Zero it first; pointers are borrowed for the call. */
typedef struct blis_latency_config {
  const char *kind;                   /* one of the table in create.c, or "routesim" for
                                         piecewise; NULL = BLIS_LATENCY_DEFAULT_KIND */
  const char *model_id;               /* for looking up coefficients */
  const blis_model_spec *model;       /* for trained-physics, calibrated,
                                         roofline, and composed */
  const blis_layered_model *layered;  /* for composed; NULL = layers as `model` states them */
  const blis_hardware_spec *hardware; /* its name for looking up, its rates
                                         for the same models */
  blis_parallelism parallelism;
  const char *version; /* of the serving engine, for blackbox; NULL = latest */

  /*
   * Both alpha and beta, or neither for the defaults. trained-physics, calibrated,
   * and blackbox take their defaults from the catalog. The default of roofline is
   * alpha = 0 (it takes no beta). piecewise uses RouteSim's defaults; its beta are
   * prefill tokens/s, decode tokens/s of one request, saturation batch, and
   * saturated decode tokens/s.
   */
  blis_coefficients coefficients;
  const blis_catalogue *catalogue; /* needed where it is looked up */
  bool whole_milliseconds;         /* piecewise: round as RouteSim does */
  blis_composed_config composed;
} blis_latency_config;

/*
 * Fills *out, which the caller owns. A failure leaves it unchanged and names the
 * option and the allowed values. DP above 1, expert parallelism, and a
 * communication backend are for trained-physics, calibrated, and composed, the
 * first two for MoE models.
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
} blis_step_regime;

/* The regime of a configuration for which blis_latency_create succeeds. The kind must be composed.
 */
BLIS_MUSTUSE blis_status blis_latency_regime(const blis_alloc *alloc,
                                             const blis_latency_config *config,
                                             blis_step_regime *regime, blis_error *error);

/* The parts of a step by the composed model, in microseconds. */
typedef struct blis_step_parts {
  double products_us;  /* matrix products of all layers, and the output matrix */
  double experts_us;   /* routed experts */
  double attention_us; /* KV reads and prefill attention */
  double links_us;     /* all-reduces between GPUs */
  double other_us;     /* launches, element-wise work, sampling, and the fixed part of a step */
  double host_us;      /* hidden where the GPU takes longer and scheduling is asynchronous */
  double total_us;
} blis_step_parts;

/*
 * The parts of a step with these sums. The kind of config must be composed. All
 * parts except the host add up to the GPU time. BLIS_ERR_INVALID as
 * blis_latency_create.
 */
BLIS_MUSTUSE blis_status blis_latency_step_parts(const blis_alloc *alloc,
                                                 const blis_latency_config *config,
                                                 const blis_batch_sums *sums,
                                                 blis_step_parts *parts, blis_error *error);

/* A kernel of the composed model, and where its time comes from. */
typedef struct blis_kernel_use {
  bool is_experts;
  const char *format;    /* "bf16", "fp8", ...; static */
  const double *shape;   /* n, k; or experts, chosen, hidden, width, local */
  size_t shape_count;    /* 2 or 5 */
  const char *source;    /* "measured", "near", or "closed form"; static */
  const char *gpu;       /* whose rows; "" without rows */
  const double *nearest; /* shape of the nearest row, if there are rows */
  double weight;         /* of the rows, 0 to 1; the closed form has the rest */
} blis_kernel_use;

/*
 * Calls show with every distinct kernel that the tables were searched for; with none if the
 * configuration uses no tables. The kind of config must be composed. What show receives lives
 * during the call. BLIS_ERR_INVALID as blis_latency_create.
 */
BLIS_MUSTUSE blis_status blis_latency_kernels(const blis_alloc *alloc,
                                              const blis_latency_config *config,
                                              void (*show)(void *ud, const blis_kernel_use *use),
                                              void *ud, blis_error *error);

/*
 * The coefficients that blis_latency_create would use, from the experiment or the
 * catalogue; borrowed. *coverage is NULL if their range is unknown. Fails for a
 * kind without coefficients.
 */
BLIS_MUSTUSE blis_status blis_latency_coefficients(const blis_latency_config *config,
                                                   blis_coefficients *coefficients,
                                                   const blis_coverage **coverage,
                                                   blis_error *error);

/*
 * Calls warn with one sentence for every setting that is allowed but probably
 * unintended or inaccurate: MLA models, an unknown quantization, KV heads that TP
 * does not divide, a communication backend without effect.
 */
void blis_latency_warnings(const blis_latency_config *config,
                           void (*warn)(void *ud, const char *text), void *ud);

#endif
