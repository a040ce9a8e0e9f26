/*
 * duration.h - parses durations such as "30s", "1.5h", "1h30m", "250us".
 *
 * This is the only parser of durations: flags, script keys, YAML keys, and targets all use it.
 * Units are ns, us (also µs), ms, s, m, h, and d. A space may separate number and unit. A sign
 * applies to the whole text.
 */
#ifndef BLIS_BASE_DURATION_H
#define BLIS_BASE_DURATION_H

#include "base/slice.h"

typedef enum blis_duration_fault {
  BLIS_DURATION_OK,
  BLIS_DURATION_NO_UNIT,  /* a number without unit */
  BLIS_DURATION_UNIT,     /* a number with an unknown unit */
  BLIS_DURATION_MALFORMED /* any other text, or a value beyond the range of double */
} blis_duration_fault;

/*
 * Reads a duration in microseconds, not rounded. BLIS_DURATION_NO_UNIT stores the number as
 * written. The other faults leave *us unchanged.
 */
blis_duration_fault blis_parse_duration(blis_slice text, double *us);

#endif
