/*
 * time.h - simulated time: whole microseconds from the start of a run.
 */
#ifndef BLIS_BASE_TIME_H
#define BLIS_BASE_TIME_H

#include <stdint.h>

/* Later than everything; the horizon of a run without one. */
#define BLIS_TIME_NEVER_US INT64_MAX

/* Maximum duration in options, 285 years. A thousand of them do not overflow, and none reaches
 * NEVER, the time at which nothing happens. */
#define BLIS_TIME_SPAN_MAX_US INT64_C(9000000000000000)

/* start_us + delay_us, delay_us >= 0; NEVER instead of an overflow. */
static inline int64_t blis_time_after_us(int64_t start_us, int64_t delay_us) {
  return start_us > BLIS_TIME_NEVER_US - delay_us ? BLIS_TIME_NEVER_US : start_us + delay_us;
}

#endif
