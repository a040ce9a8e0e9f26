/*
 * time_course.h - quantiles of a time of the requests over the course of a run.
 *
 * The run from 0 to its end is divided into equal intervals. A request belongs to the interval of
 * its arrival, so every request counts once, in the same interval for all times.
 */
#ifndef BLIS_RESULTS_ANALYSIS_TIME_COURSE_H
#define BLIS_RESULTS_ANALYSIS_TIME_COURSE_H

#include "results/record/recorder.h"

/* Returns a time of a request in microseconds; negative = not set. */
typedef int64_t (*blis_record_time)(const blis_record *record);

typedef struct blis_time_course {
  blis_alloc alloc;
  size_t interval_count;
  size_t quantile_count;
  size_t value_count; /* internal */
  int64_t *values;    /* internal */
  int64_t *counts;    /* number of requests with this time, by interval */
  double *quantiles;  /* interval_count rows of quantile_count, in us; 0 without requests */
} blis_time_course;

/*
 * Computes the quantiles, each from 0 to 1 (rank q (n - 1), interpolated). to_us >= 1; later
 * arrivals count in the last interval. Call deinit even after a failure. O(records) on average.
 */
BLIS_MUSTUSE blis_status blis_time_course_init(blis_time_course *course, const blis_alloc *alloc,
                                               const blis_recorder *recorder,
                                               blis_record_time time_of, int64_t to_us,
                                               size_t interval_count, const double *quantiles,
                                               size_t quantile_count);

/* Idempotent; an all-zero course is allowed. */
void blis_time_course_deinit(blis_time_course *course);

#endif
