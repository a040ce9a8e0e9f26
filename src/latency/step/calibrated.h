/*
 * calibrated.h - step time from the peak rates of the hardware and measured
 * efficiencies: matrix products, attention, sampling, the launches of every layer,
 * and the links between GPUs. The coefficients belong to one GPU and apply to all
 * models on it.
 *
 * Formulas:
 *
 *   gemm  = sqrt(memory^2 + compute^2)
 *           memory: the weights; of the experts, the number that the tokens are
 *           expected to choose; compute: 2 FLOPs per active weight and token,
 *           in tiles of 128 tokens of which half a one is wasted
 *   step  = gemm + KV read / bandwidth + attention FLOPs / peak
 *           + overheads of the step, each layer and each request
 *           + sampling over the vocabulary + all-reduces
 *
 * All rates are at most those of the data sheet, so a step is never faster than its
 * FLOPs and its bytes allow, and never shorter with more work in it.
 *
 * Exact from sums, O(1). Attention counts (new token, earlier token) pairs, so a
 * cached prefix and a chunk cost what they are. KV heads are replicated where TP
 * exceeds them. Latent attention (MLA) reads its own, narrow cache.
 */
#ifndef BLIS_LATENCY_STEP_CALIBRATED_H
#define BLIS_LATENCY_STEP_CALIBRATED_H

#include "latency/hardware/hardware_spec.h"
#include "latency/hardware/parallelism.h"
#include "latency/model/model_spec.h"
#include "latency/step/coefficients.h"
#include "latency/step/coverage.h"
#include "latency/step/latency_model.h"

/*
 * 3 to 5 alphas: queueing (us), per finished request (us), per output token
 * (us), and blis_first_token: its delay (us) and its depth (steps).
 */
enum { BLIS_CALIBRATED_ALPHA_MAX = 5 };

/* The betas; all are needed. Shares are above 0 and at most 1. */
typedef enum blis_calibrated_beta {
  BLIS_CALIBRATED_WEIGHTS,   /* share of the bandwidth that reads weights */
  BLIS_CALIBRATED_COMPUTE,   /* share of the 16-bit peak in products */
  BLIS_CALIBRATED_KV,        /* share of the bandwidth that reads KV */
  BLIS_CALIBRATED_ATTENTION, /* share of the 16-bit peak in attention */
  BLIS_CALIBRATED_NARROW,    /* as WEIGHTS, of quantised weights */
  BLIS_CALIBRATED_FP8,       /* as COMPUTE, of the FP8 peak */
  BLIS_CALIBRATED_LAYER,     /* us per layer */
  BLIS_CALIBRATED_MOE_LAYER, /* us per layer with experts, on top */
  BLIS_CALIBRATED_FP8_LAYER, /* us per layer that computes in FP8, on top;
                                     twice with experts */
  BLIS_CALIBRATED_TP_LAYER,  /* us per layer and doubling of TP */
  BLIS_CALIBRATED_REQUEST,   /* us per request */
  BLIS_CALIBRATED_STEP,      /* us per step */
  BLIS_CALIBRATED_SAMPLING,  /* how often sampling reads the logits */
  BLIS_CALIBRATED_LINK,      /* GB/s of an all-reduce, per GPU; above 0 */
  BLIS_CALIBRATED_BETA_COUNT
} blis_calibrated_beta;

/*
 * TP must divide the attention heads; DP above 1 needs a MoE model. coverage is
 * copied, NULL = unknown. Fills *out, which the caller owns; a failure leaves it
 * unchanged and names the coefficient or the field and its value.
 */
BLIS_MUSTUSE blis_status blis_calibrated_new(const blis_alloc *alloc, const blis_model_spec *model,
                                             const blis_hardware_spec *hardware,
                                             const blis_parallelism *parallelism,
                                             const blis_coefficients *coefficients,
                                             const blis_coverage *coverage, blis_latency_model *out,
                                             blis_error *error);

#endif
