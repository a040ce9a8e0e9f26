/*
 * coverage.h - the range in which the coefficients of a latency model were fitted, and the
 * detection of steps outside it.
 *
 * The struct is a plain value and may be copied. 0 always means "no known limit". The sums of a
 * step determine whether it is outside. This takes O(1) for any number of consecutive decode steps.
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
  int64_t tokens_max;   /* tokens computed in a step */
  int64_t requests_max; /* requests in a step */
  int64_t context_max;  /* context tokens per request, as a mean over a step */
};

/* Returns all members, in the order above. Static storage. */
const blis_spec_field *blis_coverage_fields(size_t *count);

/* Returns whether the step exceeds a limit. */
static inline bool blis_coverage_is_beyond(const blis_coverage *coverage,
                                           const blis_batch_sums *sums) {
  /* Doubles do not overflow, and they are exact for all realistic batches. */
  double tokens = (double)sums->prefill_tokens + (double)sums->decode_requests;
  double context = (double)sums->prefill_context_tokens + (double)sums->decode_context_tokens;
  double requests = (double)sums->requests;
  return (coverage->tokens_max > 0 && tokens > (double)coverage->tokens_max) ||
         (coverage->requests_max > 0 && sums->requests > coverage->requests_max) ||
         (coverage->context_max > 0 && context > (double)coverage->context_max * requests);
}

/*
 * Returns how many of `count` consecutive steps exceed a limit. Each step computes one token for
 * each of `decodes` requests, and no prompt tokens. context is the sum of their context lengths
 * before the first step.
 */
int64_t blis_coverage_beyond(const blis_coverage *coverage, int64_t decodes, int64_t context,
                             int64_t count);

/*
 * Writes a phrase about the properties (parameters, TP degree) that are outside the range. Returns
 * false, with an empty text, if none is outside.
 */
bool blis_coverage_lacks(const blis_coverage *coverage, double parameters, int64_t tp, char *text,
                         size_t size);

/* Writes the limits as a phrase: "TP up to 4, up to 128 requests a step". */
void blis_coverage_describe(const blis_coverage *coverage, char *text, size_t size);

#endif
