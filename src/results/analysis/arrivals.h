/*
 * arrivals.h - the records of a run in order of arrival, for the analysis of its steady state.
 *
 * A percentile covers all requests that arrived. Requests that were not completed count as slower
 * than any other. So "the p99 is within its limit" and "99% were served within the limit" are the
 * same statement, and the second one applies to each part of a run: the difference between the
 * parts shows how reliable the run is.
 *
 * Each analysis is one pass over the records, except percentiles, which sort.
 */
#ifndef BLIS_RESULTS_ANALYSIS_ARRIVALS_H
#define BLIS_RESULTS_ANALYSIS_ARRIVALS_H

#include "results/record/record.h"
#include "results/record/recorder.h"

/* Batches per run: enough to estimate their scatter, few enough to be nearly independent. The
   number is even, for halves. */
enum { BLIS_BATCH_COUNT = 20 };

/* Consecutive records of a recorder that does not change. */
typedef struct blis_arrivals {
  const blis_recorder *recorder;
  size_t first;
  size_t count;
} blis_arrivals;

/* All that arrived at from_us or later. Sorts the recorder; BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis_arrivals_init(blis_arrivals *arrivals, blis_recorder *recorder,
                                            int64_t from_us);

/*
 * Where the warm-up ends: the arrival of the first request that counts, 0 when
 * all do. See blis_mser5; the series is the TTFT of requests that got one.
 */
BLIS_MUSTUSE blis_status blis_arrivals_warm_up(const blis_arrivals *arrivals,
                                               const blis_alloc *alloc, int64_t *from_us,
                                               bool *is_settled);

typedef struct blis_arrivals_figures {
  size_t completed;
  int64_t span_us; /* from the first arrival to the last */
  double e2e_us;   /* mean of the completed; 0 without any */
} blis_arrivals_figures;

blis_arrivals_figures blis_arrivals_measure(const blis_arrivals *arrivals);

/* A mean for each batch; false when a batch has no completed request. */
bool blis_arrivals_means(const blis_arrivals *arrivals, blis_latency_kind kind,
                         double means_us[BLIS_BATCH_COUNT]);

/*
 * Computes the fraction of each batch that was not served within a limit; with an infinite limit,
 * that was not completed. Every batch must have an arrival.
 */
void blis_arrivals_beyond(const blis_arrivals *arrivals, blis_latency_kind kind, double limit_ms,
                          double shares[BLIS_BATCH_COUNT]);

/* Computes the time within which a fraction of all requests was served; -1 if fewer were served. */
BLIS_MUSTUSE blis_status blis_arrivals_percentile(const blis_arrivals *arrivals,
                                                  const blis_alloc *alloc, blis_latency_kind kind,
                                                  double share, double *value_us);

/*
 * Finds the warm-up of a series by MSER-5 (White 1997). The series is averaged in batches of five.
 * The cut is the one in the first half that minimizes the squared standard error of the mean after
 * it. Returns how many values to drop. *is_settled is false if the best cut is in the very middle:
 * the series is too short.
 */
size_t blis_mser5(const double *series, size_t count, bool *is_settled);

#endif
