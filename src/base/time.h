/*
 * time.h - simulated time: whole microseconds from the start of a run.
 */
#ifndef BLIS_BASE_TIME_H
#define BLIS_BASE_TIME_H

#include <stdint.h>

/* Later than every event; the horizon of a run without a horizon. */
#define BLIS_TIME_NEVER_US INT64_MAX

/* Maximum duration in options, 285 years. A sum of a thousand such durations does not overflow, and
 * it never equals NEVER, the time of events that do not happen. */
#define BLIS_TIME_SPAN_MAX_US INT64_C(9000000000000000)

/* Returns start_us + delay_us, with delay_us >= 0; NEVER if the sum overflows. */
static inline int64_t blis_time_after_us(int64_t start_us, int64_t delay_us) {
  return start_us > BLIS_TIME_NEVER_US - delay_us ? BLIS_TIME_NEVER_US : start_us + delay_us;
}

#endif
