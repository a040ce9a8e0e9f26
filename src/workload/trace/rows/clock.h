/*
 * clock.h - the unit of the timestamps of a trace; for trace files only.
 *
 * A file rarely states the unit of its numbers, and files of one format differ. The unit is the
 * first of the following that applies.
 *
 *   1. the unit stated by the options or by the name of a column
 *   2. the unit that makes the earliest sampled number a time since 1970 between
 *      2000 and 2100
 *   3. the default unit of the format, unless it results in an implausible number of requests per
 *      second
 *   4. the unit that results in the most plausible number of requests per second
 *
 * The sample is the start of the file, so readers have the unit before they read the first row.
 * Every unit other than the default is reported in a note.
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_CLOCK_H
#define BLIS_WORKLOAD_TRACE_ROWS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"

typedef enum blis__clock_reason {
  BLIS__CLOCK_USUAL,   /* default unit of the format */
  BLIS__CLOCK_STATED,  /* stated by the options or by the name of a column */
  BLIS__CLOCK_EPOCH,   /* numbers since 1970 */
  BLIS__CLOCK_SPACING, /* the default unit is implausible */
} blis__clock_reason;

/* Zero it, then sample the start of the file. */
typedef struct blis__clock {
  double unit_us;
  double usual_us; /* default unit of the format; 0 = none */
  blis__clock_reason reason;
  double per_second; /* requests per second in the sample with the default unit */
  /* The sample. */
  size_t count;
  double first, least, most;
  double last;   /* internal */
  double widest; /* largest difference between consecutive samples */
  bool has_fraction;
} blis__clock;

/* Returns the microseconds of "s", "ms", "us", or "ns"; 0 for any other name. */
double blis__clock_unit(const char *name);

/* Returns the name of a unit for messages: "milliseconds". */
const char *blis__clock_unit_name(double unit_us);

void blis__clock_add(blis__clock *clock, double time);

/* Adds the numbers after a key in the JSON lines of head. */
void blis__clock_add_json(blis__clock *clock, blis_slice head, const char *key);

/* Chooses the unit. stated_us = 0 means that no unit is stated. */
void blis__clock_choose(blis__clock *clock, double usual_us, double stated_us);

#endif
