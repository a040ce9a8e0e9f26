#include "workload/trace/rows/clock.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/number.h"

static const struct {
  const char *name;
  const char *words;
  double us;
} units[] = {
    {"s", "seconds", 1e6},
    {"ms", "milliseconds", 1e3},
    {"us", "microseconds", 1},
    {"ns", "nanoseconds", 1e-3},
};

enum { UNITS = sizeof units / sizeof *units };

/* Seconds since 1970 from 2000 to 2100. */
#define CALENDAR_START_S 946684800.0
#define CALENDAR_END_S 4102444800.0

/* Range of plausible request rates, per second. */
#define RATE_MIN 1e-3
#define RATE_MAX 1e3

/* Minimum numbers of samples for a rate to count as implausible. */
enum { SAMPLE_MIN = 10, SAMPLE_MIN_FRACTIONS = 3 };

/* A jump of this share of the span separates two clocks in one file. */
#define JUMP_SHARE 0.9

/* A typical rate, and the longest typical trace (30 days). */
#define RATE_USUAL 5.0
#define SPAN_MAX_S 2.6e6

double blis__clock_unit(const char *name) {
  for (size_t i = 0; name != NULL && i < UNITS; i++) {
    if (strcmp(units[i].name, name) == 0) {
      return units[i].us;
    }
  }
  return 0;
}

const char *blis__clock_unit_name(double unit_us) {
  for (size_t i = 0; i < UNITS; i++) {
    if (units[i].us == unit_us) {
      return units[i].words;
    }
  }
  return "an unknown unit";
}

/* The sample. */

void blis__clock_add(blis__clock *clock, double time) {
  if (clock->count > 0) {
    clock->widest = fmax(clock->widest, fabs(time - clock->last));
  }
  clock->last = time;
  clock->first = clock->count == 0 ? time : clock->first;
  clock->least = clock->count == 0 || time < clock->least ? time : clock->least;
  clock->most = clock->count == 0 || time > clock->most ? time : clock->most;
  clock->has_fraction = clock->has_fraction || (time != floor(time) && fabs(time) < 1e15);
  clock->count++;
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* Returns the number at the start of a string: digits, signs, a decimal point, and an exponent. */
static blis_slice number_at(const char *at, const char *end) {
  const char *start = at;
  while (at < end && (strchr("+-.eE", *at) != NULL || (*at >= '0' && *at <= '9')) && *at != '\0') {
    at++;
  }
  return (blis_slice){start, (size_t)(at - start)};
}

void blis__clock_add_json(blis__clock *clock, blis_slice head, const char *key) {
  size_t length = strlen(key);
  const char *end = head.data + head.length;
  const char *at = head.data;
  while (at != NULL && (size_t)(end - at) > length + 3) {
    at = memchr(at, '"', (size_t)(end - at));
    if (at == NULL || (size_t)(end - at) <= length + 2) {
      return;
    }
    at++;
    if (memcmp(at, key, length) != 0 || at[length] != '"') {
      continue;
    }
    at += length + 1;
    for (; at < end && (is_blank(*at) || *at == ':'); at++) {
    }
    blis_slice text = number_at(at, end);
    double value;
    bool is_cut = text.data + text.length == end;
    if (!is_cut && blis_parse_double(text, &value) == BLIS_NUMBER_OK) {
      blis__clock_add(clock, value);
    }
  }
}

/* The choice. */

static double rate_of(const blis__clock *clock, double unit_us) {
  double span_s = (clock->most - clock->least) * unit_us / 1e6;
  return span_s > 0 ? (double)(clock->count - 1) / span_s : 0;
}

/* Returns whether numbers are times since 1970. If requests were years apart, they use a
   different clock. */
static bool is_calendar(const blis__clock *clock, double unit_us) {
  double time_s = clock->least * unit_us / 1e6;
  double rate = rate_of(clock, unit_us);
  return time_s >= CALENDAR_START_S && time_s < CALENDAR_END_S && (rate <= 0 || rate > 1e-7);
}

/*
 * Returns the calendar unit of a file that mixes times since 1970 with other times, or calendar
 * times of two units; 0 for any other file. Such a file consists of a jump almost as wide as its
 * span. Its spacing says nothing about the unit, and the gap between its rows becomes an error.
 */
static double unit_of_mixed(const blis__clock *clock) {
  double span = clock->most - clock->least;
  if (clock->count < SAMPLE_MIN || clock->widest < JUMP_SHARE * span) {
    return 0;
  }
  for (size_t i = 0; i < UNITS; i++) {
    double time_s = clock->most * units[i].us / 1e6;
    if (time_s >= CALENDAR_START_S && time_s < CALENDAR_END_S) {
      return units[i].us;
    }
  }
  return 0;
}

/* Returns how far a unit is from a typical trace, in powers of ten. */
static double strangeness(const blis__clock *clock, double unit_us) {
  double rate = rate_of(clock, unit_us);
  double span_s = (clock->most - clock->least) * unit_us / 1e6;
  double strange = fabs(log10(rate / RATE_USUAL));
  if (span_s > SPAN_MAX_S) {
    strange += log10(span_s / SPAN_MAX_S);
  }
  return strange;
}

static double best_unit(const blis__clock *clock) {
  double best = units[0].us;
  double least = DBL_MAX;
  for (size_t i = 0; i < UNITS; i++) {
    /* Fractions are rare for small units. */
    double strange = strangeness(clock, units[i].us) + (clock->has_fraction ? (double)i : 0);
    if (strange < least) {
      least = strange;
      best = units[i].us;
    }
  }
  return best;
}

static bool is_implausible(const blis__clock *clock, double unit_us) {
  double rate = rate_of(clock, unit_us);
  size_t least = clock->has_fraction ? SAMPLE_MIN_FRACTIONS : SAMPLE_MIN;
  return clock->count >= least && rate > 0 && (rate > RATE_MAX || rate < RATE_MIN);
}

static void choose(blis__clock *clock, double unit_us, blis__clock_reason reason) {
  clock->unit_us = unit_us;
  clock->reason = reason;
}

void blis__clock_choose(blis__clock *clock, double usual_us, double stated_us) {
  clock->usual_us = usual_us;
  clock->per_second = clock->count > 1 && usual_us > 0 ? rate_of(clock, usual_us) : 0;
  if (stated_us > 0) {
    choose(clock, stated_us, BLIS__CLOCK_STATED);
    return;
  }
  for (size_t i = 0; clock->count > 0 && i < UNITS; i++) {
    if (is_calendar(clock, units[i].us)) {
      choose(clock, units[i].us, BLIS__CLOCK_EPOCH);
      return;
    }
  }
  double mixed_us = unit_of_mixed(clock);
  if (mixed_us > 0) {
    choose(clock, mixed_us, BLIS__CLOCK_EPOCH);
    return;
  }
  bool has_span = clock->count > 1 && clock->most > clock->least;
  if (usual_us > 0 && !(has_span && is_implausible(clock, usual_us))) {
    choose(clock, usual_us, BLIS__CLOCK_USUAL);
  } else if (has_span) {
    choose(clock, best_unit(clock), BLIS__CLOCK_SPACING);
  } else {
    choose(clock, units[0].us, BLIS__CLOCK_SPACING);
  }
}
