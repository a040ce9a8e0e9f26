/* Quantiles of times over the course of a run. */
#include "results/analysis/time_course.h"

#include <stdlib.h>

#include "base/random.h"
#include "check.h"
#include "results/record/recorder.h"

enum { TO_US = 1000, INTERVALS = 4 };

static int64_t ttft_us(const blis_record *record) {
  return record->ttft_us;
}

static void add(blis_recorder *recorder, int64_t arrival_us, int64_t time_us) {
  blis_record record = {.number = (int64_t)blis_recorder_count(recorder),
                        .state = time_us < 0 ? BLIS_REQUEST_TIMED_OUT : BLIS_REQUEST_COMPLETED,
                        .arrival_us = arrival_us,
                        .ttft_us = time_us,
                        .e2e_us = time_us,
                        .end_us = arrival_us + (time_us < 0 ? 1 : time_us)};
  blis_record_extras extras = {0};
  CHECK(blis_recorder_add(recorder, &record, NULL, 0, &extras, NULL) == BLIS_OK);
}

static void quantiles_are_of_the_arrivals_of_an_interval(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&alloc);
  add(recorder, 0, 30);
  add(recorder, 10, 10);
  add(recorder, 249, 20);
  add(recorder, 500, 7);
  add(recorder, 600, -1);  /* no first token */
  add(recorder, 5000, 40); /* after the end: in the last interval */
  static const double quantiles[] = {0.5, 0.75, 1};
  blis_time_course course;
  CHECK(blis_time_course_init(&course, &alloc, recorder, ttft_us, TO_US, INTERVALS, quantiles, 3) ==
        BLIS_OK);
  static const int64_t counts[INTERVALS] = {3, 0, 1, 1};
  static const double expected[INTERVALS][3] = {{20, 25, 30}, {0, 0, 0}, {7, 7, 7}, {40, 40, 40}};
  for (size_t k = 0; k < INTERVALS; k++) {
    CHECK_EQ_I64(course.counts[k], counts[k]);
    for (size_t q = 0; q < 3; q++) {
      CHECK_EQ_DOUBLE(course.quantiles[k * 3 + q], expected[k][q]);
    }
  }
  blis_time_course_deinit(&course);
  blis_time_course_deinit(&course);
  blis_recorder_free(recorder);
}

static int ascending(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Against sorted lists: many equal values, ascending and descending runs, and single values. */
static void quantiles_equal_those_of_a_sorted_list(void) {
  static const double quantiles[] = {0, 0.01, 0.5, 0.9, 0.99, 1};
  blis_alloc alloc = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 7);
  for (int trial = 0; trial < 200; trial++) {
    int64_t values[300];
    size_t count = 1 + (size_t)(blis_random_uint64(&random) % 300);
    uint64_t range = 1 + blis_random_uint64(&random) % (trial % 3 == 0 ? 4 : 100000);
    blis_recorder *recorder = blis_recorder_new(&alloc);
    for (size_t i = 0; i < count; i++) {
      uint64_t drawn = blis_random_uint64(&random) % range;
      values[i] = (int64_t)(trial % 5 == 1 ? i : trial % 5 == 2 ? count - i : drawn);
      add(recorder, 1, values[i]);
    }
    blis_time_course course;
    CHECK(blis_time_course_init(&course, &alloc, recorder, ttft_us, TO_US, 1, quantiles, 6) ==
          BLIS_OK);
    qsort(values, count, sizeof *values, ascending);
    for (size_t q = 0; q < 6; q++) {
      double rank = quantiles[q] * (double)(count - 1);
      size_t below = (size_t)rank;
      size_t above = below + 1 < count ? below + 1 : below;
      double expected =
          (double)values[below] + (rank - (double)below) * (double)(values[above] - values[below]);
      CHECK_EQ_DOUBLE(course.quantiles[q], expected);
    }
    blis_time_course_deinit(&course);
    blis_recorder_free(recorder);
  }
}

int main(void) {
  RUN(quantiles_are_of_the_arrivals_of_an_interval);
  RUN(quantiles_equal_those_of_a_sorted_list);
  return check_done();
}
