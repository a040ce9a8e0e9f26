/*
 * timing.h - checks and rounds the times that a latency model returns, because a scripted or badly
 * parameterized model may return any value.
 *
 * Main invariant: no duration exceeds BLIS__DURATION_MAX_US. A sum can therefore exceed 64 bits
 * only after thousands of absurdly long durations. Such sums are limited to BLIS_TIME_NEVER_US.
 * O(1).
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

/* 35 years; longer durations are errors. */
#define BLIS__DURATION_MAX_US (INT64_C(1) << 50)

/*
 * Checks the constants of a model. Times must be from 0 to BLIS__DURATION_MAX_US, and the depth of
 * first tokens must be a finite number of steps >= 0. BLIS_ERR_INVALID names the constant, its
 * value, and the allowed values.
 */
BLIS_MUSTUSE blis_status blis__check_latency_constants(const blis_latency_model *latency,
                                                       blis_error *error);

/* Returns when a request that is delivered at now_us reaches the queue: after its time in the front
   end and the queueing time of the latency model. Updates the front end and sets the request's
   frontend_us. */
int64_t blis__queued_at_us(const blis_instance_config *config, blis__front_end *front_end,
                           blis_live_request *request, int64_t now_us);

/* Raises *step_us to at least 1. BLIS_ERR_INVALID if it exceeds BLIS__DURATION_MAX_US. */
BLIS_MUSTUSE blis_status blis__check_step_time(const blis_latency_model *latency, int64_t *step_us,
                                               blis_error *error);

/*
 * If events has a `computing` callback, reports that a step computes the prompt of a request up to
 * its computed_tokens.
 */
BLIS_MUSTUSE blis_status blis__tell_computing(const blis_instance_events *events,
                                              blis_live_request *request, int64_t start_us,
                                              int64_t end_us, blis_error *error);

/*
 * Reports the completion of request to events. *counts_itl is set to whether its inter-token
 * latencies are counted.
 */
BLIS_MUSTUSE blis_status blis__tell_completed(const blis_instance_events *events,
                                              const blis_live_request *request, int64_t end_us,
                                              bool *counts_itl, blis_error *error);

/*
 * Adds each of the n inter-token latencies us[] to itl_us `count` times. itl_us may be NULL.
 * BLIS_ERR_INVALID if their sum exceeds the limit of a histogram.
 */
BLIS_MUSTUSE blis_status blis__count_itl(blis_histogram *itl_us, const int64_t *us, size_t n,
                                         int64_t count, blis_error *error);

#endif
