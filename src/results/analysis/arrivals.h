/*
 * arrivals.h - the records of a run in order of arrival, for the analysis of its steady state.
 *
 * A percentile covers all requests that arrived. Requests that were not completed count as slower
 * than all others. The statements "the p99 is within its limit" and "99% were served within the
 * limit" are therefore equivalent. The second one can be evaluated for each part of a run, and the
 * differences between parts show how reliable the run is.
 *
 * Each analysis is one pass over the records, except percentiles, which sort.
 */
#ifndef BLIS_RESULTS_ANALYSIS_ARRIVALS_H
#define BLIS_RESULTS_ANALYSIS_ARRIVALS_H

#include "results/record/record.h"
#include "results/record/recorder.h"

/* Batches per run: enough to estimate their variance, few enough to be nearly independent. The
   number is even, so that a run can be halved. */
enum { BLIS_BATCH_COUNT = 20 };

/* Consecutive records of a recorder, which must not change. */
typedef struct blis_arrivals {
  const blis_recorder *recorder;
  size_t first;
  size_t count;
} blis_arrivals;

/* Selects all requests that arrived at from_us or later. Sorts the recorder. Returns
   BLIS_ERR_NOMEM on failure. */
BLIS_MUSTUSE blis_status blis_arrivals_init(blis_arrivals *arrivals, blis_recorder *recorder,
                                            int64_t from_us);

/*
 * Determines the end of the warm-up: the arrival of the first request that counts, or 0 if all
 * requests count. Applies blis_mser5 to the TTFT of all requests with a first token.
 */
BLIS_MUSTUSE blis_status blis_arrivals_warm_up(const blis_arrivals *arrivals,
                                               const blis_alloc *alloc, int64_t *from_us,
                                               bool *is_settled);

typedef struct blis_arrivals_figures {
  size_t completed;
  int64_t span_us; /* from the first arrival to the last */
  double e2e_us;   /* mean over completed requests; 0 if there are none */
} blis_arrivals_figures;

blis_arrivals_figures blis_arrivals_measure(const blis_arrivals *arrivals);

/* Computes a mean for each batch. Returns false if any batch has no completed request. */
bool blis_arrivals_means(const blis_arrivals *arrivals, blis_latency_kind kind,
                         double means_us[BLIS_BATCH_COUNT]);

/*
 * Computes the fraction of each batch that was not served within a limit; with an infinite limit,
 * the fraction that was not completed. Every batch must have an arrival.
 */
void blis_arrivals_beyond(const blis_arrivals *arrivals, blis_latency_kind kind, double limit_ms,
                          double shares[BLIS_BATCH_COUNT]);

/* Computes the time within which a fraction of all requests was served; -1 if fewer were served. */
BLIS_MUSTUSE blis_status blis_arrivals_percentile(const blis_arrivals *arrivals,
                                                  const blis_alloc *alloc, blis_latency_kind kind,
                                                  double share, double *value_us);

/*
 * Finds the warm-up of a series by MSER-5 (White 1997). The series is averaged in batches of five.
 * The cut is the point in the first half that minimizes the squared standard error of the mean
 * after it. Returns the number of values to drop. *is_settled is false if the best cut is exactly
 * in the middle, which means that the series is too short.
 */
size_t blis_mser5(const double *series, size_t count, bool *is_settled);

#endif
