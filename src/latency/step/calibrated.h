/*
 * calibrated.h - models step time from the peak rates of the hardware and measured efficiencies.
 * The parts are matrix products, attention, sampling, the launches of every layer, and the links
 * between GPUs. Coefficients are per GPU and apply to all models on this GPU.
 *
 * Formulas:
 *
 *   gemm  = sqrt(memory^2 + compute^2)
 *           memory: all weights, but only the expected number of experts that
 *           the tokens choose; compute: 2 FLOPs per active weight and token,
 *           in tiles of 128 tokens, of which half a tile is wasted
 *   step  = gemm + KV read / bandwidth + attention FLOPs / peak
 *           + overheads of the step, each layer and each request
 *           + sampling over the vocabulary + all-reduces
 *
 * Rates never exceed those of the data sheet, so a step is never faster than its FLOPs and bytes
 * allow. More work never makes a step shorter.
 *
 * The time is computed exactly from sums, O(1). Attention counts (new token, earlier token) pairs,
 * so cached prefixes and chunks are charged correctly. KV heads are replicated if TP exceeds their
 * number. Latent attention (MLA) reads its own, narrower cache.
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
 * The 3 to 5 alphas are: queueing time (us), time per finished request (us), time per output token
 * (us), and the delay (us) and depth (steps) of blis_first_token.
 */
enum { BLIS_CALIBRATED_ALPHA_MAX = 5 };

/* The betas; all are required. Fractions are above 0 and at most 1. */
typedef enum blis_calibrated_beta {
  BLIS_CALIBRATED_WEIGHTS,   /* fraction of the bandwidth for reading weights */
  BLIS_CALIBRATED_COMPUTE,   /* fraction of the 16-bit peak in matrix products */
  BLIS_CALIBRATED_KV,        /* fraction of the bandwidth for reading KV */
  BLIS_CALIBRATED_ATTENTION, /* fraction of the 16-bit peak in attention */
  BLIS_CALIBRATED_NARROW,    /* like WEIGHTS, for quantized weights */
  BLIS_CALIBRATED_FP8,       /* like COMPUTE, for the FP8 peak */
  BLIS_CALIBRATED_LAYER,     /* us per layer */
  BLIS_CALIBRATED_MOE_LAYER, /* additional us per layer with experts */
  /* Additional us per layer that computes in FP8; doubled with experts. */
  BLIS_CALIBRATED_FP8_LAYER,
  BLIS_CALIBRATED_TP_LAYER, /* us per layer and doubling of TP */
  BLIS_CALIBRATED_REQUEST,  /* us per request */
  BLIS_CALIBRATED_STEP,     /* us per step */
  BLIS_CALIBRATED_SAMPLING, /* number of times that sampling reads the logits */
  BLIS_CALIBRATED_LINK,     /* GB/s of an all-reduce per GPU; above 0 */
  BLIS_CALIBRATED_BETA_COUNT
} blis_calibrated_beta;

/*
 * TP must divide the attention heads. DP above 1 requires an MoE model. coverage is copied; NULL =
 * unknown. Fills *out, which the caller owns. A failure leaves *out unchanged, and the error names
 * the coefficient or the field and its value.
 */
BLIS_MUSTUSE blis_status blis_calibrated_new(const blis_alloc *alloc, const blis_model_spec *model,
                                             const blis_hardware_spec *hardware,
                                             const blis_parallelism *parallelism,
                                             const blis_coefficients *coefficients,
                                             const blis_coverage *coverage, blis_latency_model *out,
                                             blis_error *error);

#endif
