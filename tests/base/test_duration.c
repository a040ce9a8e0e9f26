/* duration.h against a table of cases, and against random durations that are written and read. */
#include "base/duration.h"

#include <stdio.h>

#include "base/random.h"
#include "check.h"

static void durations_are_read(void) {
  static const struct {
    const char *text;
    blis_duration_fault fault;
    double us;
  } cases[] = {
      {"250us", BLIS_DURATION_OK, 250},
      {"250\xc2\xb5s", BLIS_DURATION_OK, 250},
      {"1500ns", BLIS_DURATION_OK, 1.5},
      {"5ms", BLIS_DURATION_OK, 5000},
      {"5 ms", BLIS_DURATION_OK, 5000},
      {"0.3s", BLIS_DURATION_OK, 300000},
      {"30s", BLIS_DURATION_OK, 30e6},
      {"2m", BLIS_DURATION_OK, 120e6},
      {"4h", BLIS_DURATION_OK, 14400e6},
      {"1d", BLIS_DURATION_OK, 86400e6},
      {"1h30m", BLIS_DURATION_OK, 5400e6},
      {"-1.5s", BLIS_DURATION_OK, -1.5e6},
      {"+2s", BLIS_DURATION_OK, 2e6},
      {"0s", BLIS_DURATION_OK, 0},
      {"10", BLIS_DURATION_NO_UNIT, 10},
      {"-1", BLIS_DURATION_NO_UNIT, -1},
      {"1e3", BLIS_DURATION_NO_UNIT, 1000},
      {"5 parsecs", BLIS_DURATION_UNIT, 99},
      {"5S", BLIS_DURATION_UNIT, 99},
      {"5 s ", BLIS_DURATION_MALFORMED, 99},
      {"1h30", BLIS_DURATION_MALFORMED, 99},
      {"s", BLIS_DURATION_MALFORMED, 99},
      {"", BLIS_DURATION_MALFORMED, 99},
      {"-", BLIS_DURATION_MALFORMED, 99},
      {"1.2.3s", BLIS_DURATION_MALFORMED, 99},
      {"5  s", BLIS_DURATION_MALFORMED, 99},
      {"1h-5m", BLIS_DURATION_MALFORMED, 99},
      {"999999999999d", BLIS_DURATION_OK, 999999999999 * 86400e6},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double us = 99;
    CHECK_EQ_I64(blis_parse_duration(blis_slice_of(cases[i].text), &us), cases[i].fault);
    CHECK(us == cases[i].us);
  }
}

static void random_durations_are_read_back(void) {
  static const struct {
    const char *unit;
    double us;
  } units[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}, {"m", 60e6}, {"h", 3600e6}, {"d", 86400e6}};
  blis_random random;
  blis_random_init(&random, 7);
  for (int i = 0; i < CASES(3000); i++) {
    size_t a = blis_random_uint32(&random) % 6;
    size_t b = blis_random_uint32(&random) % 6;
    int first = (int)(blis_random_uint32(&random) % 1000);
    int second = (int)(blis_random_uint32(&random) % 1000);
    char text[64];
    snprintf(text, sizeof text, "%d%s%d%s", first, units[a].unit, second, units[b].unit);
    double us = -1;
    CHECK_EQ_I64(blis_parse_duration(blis_slice_of(text), &us), BLIS_DURATION_OK);
    CHECK(us == first * units[a].us + second * units[b].us);
  }
}

int main(void) {
  RUN(durations_are_read);
  RUN(random_durations_are_read_back);
  return check_done();
}
