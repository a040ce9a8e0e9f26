/*
 * composed.h - models step time as the sum of its kernels: matrix products and experts (each with a
 * launch time), attention, all-reduces, sampling, and the host.
 *
 * Formulas:
 *
 *   gpu  = layers(tokens) + head(requests) + decode attention + prefill attention + sampling + step
 *   time = gpu + host                  synchronous scheduling
 *        = max(gpu, host)              asynchronous scheduling
 *
 * Main invariant: the time of a step is computed from sums in O(1), with two table reads and a few
 * operations. Only +, -, *, and / are used, so results are bit-identical on every machine. The step
 * time never decreases with more tokens, requests, or context. Construction evaluates the kernels
 * at about 100 knots.
 *
 * A request ends one microsecond after its last step, when its client receives the answer.
 *
 * Layers with a window of W tokens read min(context, W) tokens. The sums contain only the total
 * context of all decodes, so the model uses min(total context, decodes * W). This is exact once
 * every context is longer than the window.
 *
 * Source: the specification of the composed model in docs/validation.md and the constants in
 * data/latency/composed.yaml, which lists their measurements.
 */
#ifndef BLIS_LATENCY_COMPOSED_COMPOSED_H
#define BLIS_LATENCY_COMPOSED_COMPOSED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "latency/composed/step_parts.h"
#include "latency/step/latency_model.h"

/* The host's part of a step. */
typedef struct blis__host {
  bool is_async;
  double fixed_us;   /* h0, or the floor of an asynchronous pipeline */
  double request_us; /* h1 */
} blis__host;

/*
 * Returns the host constants of vLLM with synchronous or asynchronous scheduling, on tp GPUs.
 * Sources: composed.c.
 */
blis__host blis__host_of(bool is_async, int64_t tp);

/* The delay of the first token after its step. */
typedef struct blis__front {
  blis_first_token first_token;
} blis__front;

typedef struct blis__composed_setup {
  blis__step_work work;
  blis__composed_constants constants;
  blis__host host;
  blis__front front;
  int64_t tokens_max;   /* maximum number of tokens of a step; larger numbers are extrapolated */
  int64_t requests_max; /* maximum number of requests of a step; larger numbers are extrapolated */
} blis__composed_setup;

/* The parts of one step in microseconds, for tables that show how the time is spent. */
typedef struct blis__step_breakdown {
  double layers_us;
  double head_us;
  double decode_attention_us;
  double prefill_attention_us;
  double sampling_us;
  double step_us;
  double host_us;
  double total_us;
} blis__step_breakdown;

/* Fills *out, which the caller owns. Copies the necessary parts of the setup. */
BLIS_MUSTUSE blis_status blis__composed_new(const blis_alloc *alloc,
                                            const blis__composed_setup *setup,
                                            blis_latency_model *out, blis_error *error);

/*
 * The state of such a model consists of plain bytes, and this is its size. blis__composed_copy
 * creates a model from a copy of a state. BLIS_ERR_NOMEM or BLIS_OK.
 */
size_t blis__composed_state_size(void);
BLIS_MUSTUSE blis_status blis__composed_copy(const blis_alloc *alloc, const void *state,
                                             blis_latency_model *out, blis_error *error);

/* Returns the parts of a step. The model must come from blis__composed_new. */
blis__step_breakdown blis__composed_parts(const blis_latency_model *model,
                                          const blis_batch_sums *sums);

#endif
