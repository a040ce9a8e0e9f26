/*
 * step_parts.h - computes the parts of a step's time from the work of one GPU and the constants of
 * its GPU family.
 *
 * Formulas:
 *
 *   gpu  = layers(tokens) + head(requests) + decode attention + prefill attention + sampling + step
 *   host = h0 + h1 * requests (synchronous scheduling), or a pipeline that hides it (asynchronous)
 *
 * All times are microseconds. All functions are called only when a model is constructed.
 */
#ifndef BLIS_LATENCY_COMPOSED_STEP_PARTS_H
#define BLIS_LATENCY_COMPOSED_STEP_PARTS_H

#include "latency/composed/kernels.h"
#include "latency/composed/overlay.h"
#include "latency/composed/work.h"

/* Scales of the layers' time at few (<= 64) and many (>= 2048) tokens. */
typedef struct blis__scales {
  double decode;
  double prefill;
} blis__scales;

/* Constants of a GPU for one class of models. Section numbers of sources are in
   data/latency/composed.yaml. */
typedef struct blis__composed_constants {
  double bandwidth; /* bytes per us */
  double peak;      /* 16-bit FLOPs per us */
  blis__kernel products[BLIS_KIND_COUNT];
  blis__kernel experts[BLIS_KIND_COUNT];
  double product_speedup[BLIS_KIND_COUNT]; /* factor on the peak, relative to 16 bits */
  double expert_slowdown[BLIS_KIND_COUNT]; /* divides bandwidth and peak; 1 = no slowdown */
  /* Format that supplies the widths and the peak of experts. */
  blis_weight_kind expert_kind[BLIS_KIND_COUNT];
  blis__scales scales;
  double engine_scale;    /* v */
  double layer_us;        /* e0 */
  double expert_layer_us; /* em */
  double reduce_us;       /* ex, added to each all-reduce */
  double step_us;
  double sampling_reads; /* S */
  double router_share;
  double expert_balance; /* rho */
  double elementwise_efficiency;
  double attention_us;      /* a0, per layer */
  double attention_head_us; /* c, per decode and KV head */
  double kv_efficiency;     /* y, for the KV type in use */
  double latent_efficiency; /* fraction of the peak in latent attention */
  double prefill_layer_us;
  double prefill_bytes;      /* bytes read per token, layer, and unit of width */
  double prefill_efficiency; /* z */
  double launch_bound_us;    /* f, per layer; 0 = never launch-bound */
  blis__allreduce allreduce;
  blis__allreduce exchange;     /* among the GPUs of all replicas, before and after the experts */
  const blis__overlay *overlay; /* corrections for products and experts, borrowed; NULL = none */
} blis__composed_constants;

/*
 * Adds every product and the experts of the work to the overlay. The caller then sets the overlay
 * in the constants. BLIS_ERR_NOMEM or BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis__step_parts_look_up(const blis__step_work *work,
                                                  const blis__composed_constants *constants,
                                                  blis__overlay *overlay);

/* The parts of G (blis__layers_us), with the same scale as G. */
typedef struct blis__layer_parts {
  double products_us; /* matrix products except routed experts */
  double experts_us;  /* routed experts and their router */
  double links_us;    /* all-reduces */
  double other_us;    /* launches, element-wise work, and the launch-bound limit */
} blis__layer_parts;

blis__layer_parts blis__layer_parts_of(const blis__step_work *work,
                                       const blis__composed_constants *constants, double tokens);

/*
 * Returns G: the time of products, experts, element-wise work, and all-reduces of all layers for
 * `tokens` tokens. With replicas, each replica computes its share of the tokens, and the experts
 * compute all tokens. Gathering tokens before the experts and scattering results after them
 * together move the bytes of an all-reduce.
 */
double blis__layers_us(const blis__step_work *work, const blis__composed_constants *constants,
                       double tokens);

/* Returns the time of the output matrix for `requests` requests. */
double blis__head_us(const blis__step_work *work, const blis__composed_constants *constants,
                     double requests);

/* Returns the time of sampling per request. */
double blis__sampling_us(const blis__step_work *work, const blis__composed_constants *constants);

/* Decode attention without windows: fixed + each * decodes + context * sum of contexts. */
typedef struct blis__decode_attention {
  double fixed_us;   /* if there is at least one decode */
  double each_us;    /* per decode, for launches and states */
  double context_us; /* per token of context, for layers without a window */
} blis__decode_attention;

blis__decode_attention blis__decode_attention_of(const blis__step_work *work,
                                                 const blis__composed_constants *constants);

/* Returns the time per token of context for the layers with a window of exactly `window` tokens. */
double blis__window_context_us(const blis__step_work *work,
                               const blis__composed_constants *constants, double window);

/* Prefill attention: fixed (if there is any prefill) + token * tokens + pair * sum(new * context +
   new^2 / 2). */
typedef struct blis__prefill_attention {
  double fixed_us;
  double token_us;
  double pair_us;
} blis__prefill_attention;

blis__prefill_attention blis__prefill_attention_of(const blis__step_work *work,
                                                   const blis__composed_constants *constants);

#endif
