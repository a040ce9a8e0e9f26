/*
 * timing.h - checks and rounding of the times that a latency model returns; a
 * scripted or absurdly parametrised model may return anything.
 *
 * Main invariant: with no duration above BLIS__DURATION_MAX_US, only sums over
 * thousands of absurd ones can pass 64 bits; where they can, they stay at
 * BLIS_TIME_NEVER_US. O(1).
 */
#ifndef BLIS_INSTANCE_PARTS_TIMING_H
#define BLIS_INSTANCE_PARTS_TIMING_H

#include <stdint.h>

#include "base/containers/histogram.h"
#include "base/error.h"
#include "instance/config/front_end.h"
#include "instance/config/instance_config.h"
#include "instance/config/instance_events.h"
#include "latency/step/latency_model.h"

/* 35 years: longer steps are mistakes. */
#define BLIS__DURATION_MAX_US (INT64_C(1) << 50)

/*
 * BLIS_ERR_INVALID names a constant of the model, its value, and the allowed
 * values: 0 to BLIS__DURATION_MAX_US, or any finite number of steps.
 */
BLIS_MUSTUSE blis_status blis__check_latency_constants(const blis_latency_model *latency,
                                                       blis_error *error);

/* When a request that is delivered at now_us reaches the queue: after the front end, which takes it
   and sets its frontend_us, and after the queueing time of the latency model. */
int64_t blis__queued_at_us(const blis_instance_config *config, blis__front_end *front_end,
                           blis_live_request *request, int64_t now_us);

/* Raises *step_us to 1; BLIS_ERR_INVALID above BLIS__DURATION_MAX_US. */
BLIS_MUSTUSE blis_status blis__check_step_time(const blis_latency_model *latency, int64_t *step_us,
                                               blis_error *error);

/*
 * Reports to events that a step computes the prompt of a request up to its
 * computed_tokens, if they have a callback for it.
 */
BLIS_MUSTUSE blis_status blis__tell_computing(const blis_instance_events *events,
                                              blis_live_request *request, int64_t start_us,
                                              int64_t end_us, blis_error *error);

/*
 * Reports to events that request is completed; *counts_itl = whether its
 * inter-token latencies are wanted.
 */
BLIS_MUSTUSE blis_status blis__tell_completed(const blis_instance_events *events,
                                              const blis_live_request *request, int64_t end_us,
                                              bool *counts_itl, blis_error *error);

/*
 * Adds count inter-token latencies of each of the n values us; itl_us may be NULL.
 * BLIS_ERR_INVALID if their sum exceeds the limit of a histogram.
 */
BLIS_MUSTUSE blis_status blis__count_itl(blis_histogram *itl_us, const int64_t *us, size_t n,
                                         int64_t count, blis_error *error);

#endif
