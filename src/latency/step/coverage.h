/*
 * coverage.h - the range in which the coefficients of a latency model were fitted,
 * and the steps outside it.
 *
 * A plain value: copy it freely. 0 means "no known limit" everywhere. The sums of a
 * step determine whether it is outside, at O(1) for any number of consecutive
 * decode steps.
 */
#ifndef BLIS_LATENCY_STEP_COVERAGE_H
#define BLIS_LATENCY_STEP_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "latency/spec/spec_field.h"
#include "latency/step/latency_model.h"

struct blis_coverage {
  char fitted_on[160];   /* short description of the measurements */
  bool extrapolated;     /* nothing was measured on this GPU */
  double parameters_min; /* size of the models, in parameters */
  double parameters_max;
  int64_t tp_max;
  int64_t tokens_max;   /* computed in a step */
  int64_t requests_max; /* in a step */
  int64_t context_max;  /* tokens before a request, the mean over a step */
};

/* All members, in the order above. Static storage. */
const blis_spec_field *blis_coverage_fields(size_t *count);

/* True when the step is beyond a limit. */
static inline bool blis_coverage_is_beyond(const blis_coverage *coverage,
                                           const blis_batch_sums *sums) {
  /* Doubles do not overflow, and are exact for all batches there are. */
  double tokens = (double)sums->prefill_tokens + (double)sums->decode_requests;
  double context = (double)sums->prefill_context_tokens + (double)sums->decode_context_tokens;
  double requests = (double)sums->requests;
  return (coverage->tokens_max > 0 && tokens > (double)coverage->tokens_max) ||
         (coverage->requests_max > 0 && sums->requests > coverage->requests_max) ||
         (coverage->context_max > 0 && context > (double)coverage->context_max * requests);
}

/*
 * How many of count consecutive steps exceed a limit. Each step computes one token
 * for each of decodes requests and prefills nothing; context is the sum of their
 * contexts before the first.
 */
int64_t blis_coverage_beyond(const blis_coverage *coverage, int64_t decodes, int64_t context,
                             int64_t count);

/*
 * Writes the parts of a model with these parameters and GPUs that are outside the
 * range, as a phrase. Returns false and "" if nothing is.
 */
bool blis_coverage_lacks(const blis_coverage *coverage, double parameters, int64_t tp, char *text,
                         size_t size);

/* The limits as a phrase: "TP up to 4, up to 128 requests a step". */
void blis_coverage_describe(const blis_coverage *coverage, char *text, size_t size);

#endif
