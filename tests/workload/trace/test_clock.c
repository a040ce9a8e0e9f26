/* clock.h: units of timestamps by their size and spacing, on tables and random traces. */
#include "workload/trace/rows/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "check.h"

static blis__clock clock_of(double start, double gap, size_t count, double usual_us) {
  blis__clock clock = {0};
  for (size_t i = 0; i < count; i++) {
    blis__clock_add(&clock, start + gap * (double)i);
  }
  blis__clock_choose(&clock, usual_us, 0);
  return clock;
}

static void units_have_names(void) {
  CHECK(blis__clock_unit("s") == 1e6);
  CHECK(blis__clock_unit("ms") == 1e3);
  CHECK(blis__clock_unit("us") == 1);
  CHECK(blis__clock_unit("ns") == 1e-3);
  CHECK(blis__clock_unit("h") == 0);
  CHECK(blis__clock_unit(NULL) == 0);
  CHECK_STR(blis__clock_unit_name(1e3), "milliseconds");
}

static void epochs_show_their_unit(void) {
  static const double units[] = {1e6, 1e3, 1, 1e-3};
  for (size_t i = 0; i < 4; i++) {
    double now = 1764230569e6 / units[i];
    for (size_t usual = 0; usual < 4; usual++) {
      blis__clock clock = clock_of(now, 1e5 / units[i], 30, units[usual]);
      CHECK(clock.unit_us == units[i]);
      CHECK_EQ_I64(clock.reason, BLIS__CLOCK_EPOCH);
    }
    /* One row is enough. */
    CHECK(clock_of(now, 0, 1, 1e3).unit_us == units[i]);
  }
}

static void usual_units_stay(void) {
  static const struct {
    double gap;
    size_t count;
    double usual_us;
  } cases[] = {
      {500, 2, 1e3},    {0, 50, 1e3},   {1, 5, 1e3},     {1, 1000, 1e3}, {60000, 40, 1e3},
      {0.001, 50, 1e6}, {900, 50, 1e6}, {0.5, 200, 1e6}, {2, 9, 1e3},    {500, 12, 1e3},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis__clock clock = clock_of(0, cases[i].gap, cases[i].count, cases[i].usual_us);
    CHECK(clock.unit_us == cases[i].usual_us);
    CHECK_EQ_I64(clock.reason, BLIS__CLOCK_USUAL);
  }
  CHECK(clock_of(0, 0, 0, 1e3).unit_us == 1e3);
}

static void implausible_spacing_changes_the_unit(void) {
  /* RouteSim: seconds where milliseconds are usual. */
  blis__clock clock = clock_of(0, 0.0787, 1000, 1e3);
  CHECK(clock.unit_us == 1e6);
  CHECK_EQ_I64(clock.reason, BLIS__CLOCK_SPACING);
  CHECK(fabs(clock.per_second - 12706) < 1);
  /* Nanoseconds and microseconds where milliseconds or seconds are usual. */
  CHECK(clock_of(0, 5e7, 100, 1e3).unit_us == 1e-3);
  CHECK(clock_of(0, 78700, 100, 1e6).unit_us == 1);
  CHECK(clock_of(0, 2000, 100, 1e6).unit_us == 1e3);
}

static void files_without_a_unit_get_the_likeliest(void) {
  CHECK(clock_of(0, 0.1, 100, 0).unit_us == 1e6);
  CHECK(clock_of(0, 78, 100, 0).unit_us == 1e3);
  CHECK(clock_of(0, 78000, 100, 0).unit_us == 1);
  CHECK(clock_of(0, 7.8e7, 100, 0).unit_us == 1e-3);
  CHECK(clock_of(0, 0, 10, 0).unit_us == 1e6);
}

static void what_is_stated_decides(void) {
  blis__clock clock = {0};
  blis__clock_add(&clock, 1764230569);
  blis__clock_choose(&clock, 1e3, 1);
  CHECK(clock.unit_us == 1);
  CHECK_EQ_I64(clock.reason, BLIS__CLOCK_STATED);
}

static void json_is_sampled(void) {
  const char *text = "{\"timestamp\": 5, \"x\": \"timestamp\"}\n{\"a\":1,\"timestamp\" : 1.5e1}\n"
                     "{\"timestamp\": null}\n{\"timestamps\": 7}\n{\"timestamp\": 99";
  blis__clock clock = {0};
  blis__clock_add_json(&clock, blis_slice_of(text), "timestamp");
  CHECK_EQ_I64((int64_t)clock.count, 2);
  CHECK(clock.least == 5);
  CHECK(clock.most == 15);
  blis__clock_add_json(&clock, blis_slice_of("\""), "timestamp");
  blis__clock_add_json(&clock, blis_slice_of(""), "timestamp");
  CHECK_EQ_I64((int64_t)clock.count, 2);
}

/* Poisson arrivals at plausible rates keep their unit, whatever the seed. */
static void random_traces_keep_their_unit(void) {
  blis_random random;
  blis_random_init(&random, 3);
  for (int i = 0; i < CASES(300); i++) {
    double rate = pow(10, (double)(blis_random_uint32(&random) % 5) - 2);
    blis__clock clock = {0};
    double time_s = 0;
    for (int k = 0; k < 50; k++) {
      double u = ((double)(blis_random_uint32(&random) % 1000000) + 1) / 1e6;
      time_s += -log(u) / rate;
      blis__clock_add(&clock, floor(time_s * 1e3));
    }
    blis__clock_choose(&clock, 1e3, 0);
    CHECK(clock.unit_us == 1e3);
  }
}

/* One row of another clock among times since 1970: the unit of the calendar, so that the gap
   becomes an error. Relative times have no such jump. */
static void test_mixed_clocks(void) {
  static const double strangers[] = {0, 12.5, 1.7e9 / 1e3, 1.7e12};
  for (size_t k = 0; k < sizeof strangers / sizeof *strangers; k++) {
    for (int place = 0; place <= 20; place += 10) {
      blis__clock clock = {0};
      for (int i = 0; i <= 20; i++) {
        blis__clock_add(&clock, i == place ? strangers[k] : 1.7e9 + 0.1 * i);
      }
      blis__clock_choose(&clock, 0, 0);
      CHECK(clock.reason == BLIS__CLOCK_EPOCH);
      CHECK_EQ_DOUBLE(clock.unit_us, strangers[k] > 1e12 ? 1e3 : 1e6);
    }
  }
  blis__clock clock = {0};
  for (int i = 0; i <= 20; i++) { /* relative microseconds over half an hour */
    blis__clock_add(&clock, 1e8 * i);
  }
  blis__clock_choose(&clock, 1, 0);
  CHECK_EQ_DOUBLE(clock.unit_us, 1);
}

int main(void) {
  RUN(units_have_names);
  RUN(epochs_show_their_unit);
  RUN(usual_units_stay);
  RUN(implausible_spacing_changes_the_unit);
  RUN(files_without_a_unit_get_the_likeliest);
  RUN(what_is_stated_decides);
  RUN(json_is_sampled);
  RUN(random_traces_keep_their_unit);
  RUN(test_mixed_clocks);
  return check_done();
}
