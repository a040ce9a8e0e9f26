/* Batches of a run, its warm-up, and percentiles over all that arrived. */
#include "results/analysis/arrivals.h"

#include <math.h>

#include "check.h"

/* Request i of arrival i s and a TTFT; not completed when that is below 0. */
static void end_request(blis_recorder *recorder, int64_t i, int64_t ttft_us) {
  blis_request request = {.number = i, .arrival_us = i * 1000000};
  blis_request_end end = {.request = &request,
                          .state = ttft_us < 0 ? BLIS_REQUEST_REJECTED : BLIS_REQUEST_COMPLETED,
                          .ttft_us = ttft_us,
                          .e2e_us = ttft_us < 0 ? -1 : 2 * ttft_us,
                          .scheduling_delay_us = ttft_us,
                          .itl_sum_us = 900,
                          .itl_count = i % 2 == 0 ? 0 : 3};
  const blis_request_sink *sink = blis_recorder_sink(recorder);
  CHECK(sink->ended(sink->ud, &end, NULL) == BLIS_OK);
}

/* 100 requests of 1 to 100 ms; every tenth is rejected. */
static blis_recorder *hundred(const blis_alloc *alloc) {
  blis_recorder *recorder = blis_recorder_new(alloc);
  for (int64_t i = 0; i < 100; i++) {
    end_request(recorder, i, i % 10 == 9 ? -1 : (i + 1) * 1000);
  }
  return recorder;
}

static blis_arrivals arrivals_of(blis_recorder *recorder, int64_t from_us) {
  blis_arrivals arrivals;
  CHECK(blis_arrivals_init(&arrivals, recorder, from_us) == BLIS_OK);
  return arrivals;
}

static void percentiles_are_over_all_that_arrived(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = hundred(&alloc);
  blis_arrivals all = arrivals_of(recorder, 0);
  static const struct {
    double share;
    double value_us;
  } cases[] = {{0.01, 1000}, {0.5, 55000}, {0.9, 99000}, {0.91, -1}, {1, -1}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    double value_us;
    CHECK(blis_arrivals_percentile(&all, &alloc, BLIS_LATENCY_TTFT, cases[i].share, &value_us) ==
          BLIS_OK);
    CHECK_EQ_DOUBLE(value_us, cases[i].value_us);
  }
  blis_arrivals none = arrivals_of(recorder, INT64_MAX);
  double value_us;
  CHECK(blis_arrivals_percentile(&none, &alloc, BLIS_LATENCY_TTFT, 0.5, &value_us) == BLIS_OK);
  CHECK_EQ_DOUBLE(value_us, -1);
  blis_recorder_free(recorder);
}

static void batches_are_of_arrivals_in_a_row(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = hundred(&alloc);
  blis_arrivals all = arrivals_of(recorder, 0);
  double values[BLIS_BATCH_COUNT];
  /* Batch b has requests 5b to 5b + 4; of two batches one has a rejected. */
  CHECK(blis_arrivals_means(&all, BLIS_LATENCY_TTFT, values));
  CHECK_EQ_DOUBLE(values[0], 3000);
  CHECK_EQ_DOUBLE(values[1], 7500);
  CHECK(blis_arrivals_means(&all, BLIS_LATENCY_ITL, values));
  CHECK_EQ_DOUBLE(values[0], 2 * 300.0 / 5);
  blis_arrivals_beyond(&all, BLIS_LATENCY_TTFT, 51.0, values);
  CHECK_EQ_DOUBLE(values[0], 0);
  CHECK_EQ_DOUBLE(values[1], 0.2);
  CHECK_EQ_DOUBLE(values[10], 0.8);
  CHECK_EQ_DOUBLE(values[19], 1);
  blis_arrivals_beyond(&all, BLIS_LATENCY_E2E, INFINITY, values);
  CHECK_EQ_DOUBLE(values[18], 0);
  CHECK_EQ_DOUBLE(values[19], 0.2);
  blis_arrivals late = arrivals_of(recorder, 90 * 1000000);
  CHECK_EQ_I64(late.count, 10);
  CHECK(!blis_arrivals_means(&late, BLIS_LATENCY_TTFT, values));
  blis_recorder_free(recorder);
}

static void measure_counts_the_completed(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = hundred(&alloc);
  blis_arrivals late = arrivals_of(recorder, 80 * 1000000);
  blis_arrivals_figures figures = blis_arrivals_measure(&late);
  CHECK_EQ_I64(figures.completed, 18);
  CHECK_EQ_I64(figures.span_us, 19 * 1000000);
  CHECK_EQ_DOUBLE(figures.e2e_us, 2 * (45 * 85 + 45 * 95) * 1000 / 90.0);
  blis_recorder_free(recorder);
}

static void warm_up_ends_where_the_series_is_level(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&alloc);
  for (int64_t i = 0; i < 400; i++) {
    int64_t ttft_us = i < 100 ? i * 100 : 10000 + (i * 7 % 5) * 10;
    end_request(recorder, i, i % 50 == 49 ? -1 : ttft_us);
  }
  blis_arrivals all = arrivals_of(recorder, 0);
  int64_t from_us;
  bool is_settled;
  CHECK(blis_arrivals_warm_up(&all, &alloc, &from_us, &is_settled) == BLIS_OK);
  CHECK(is_settled);
  CHECK(from_us >= 95 * 1000000 && from_us <= 110 * 1000000);
  blis_arrivals few = arrivals_of(recorder, 396 * 1000000);
  CHECK(blis_arrivals_warm_up(&few, &alloc, &from_us, &is_settled) == BLIS_OK);
  CHECK(!is_settled);
  CHECK_EQ_I64(from_us, 0);
  blis_recorder_free(recorder);
}

static void memory_may_run_out(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_recorder *recorder = hundred(&heap);
  blis_arrivals all = arrivals_of(recorder, 0);
  blis_alloc_probe memory = {.fail_at = 1};
  blis_alloc alloc = blis_alloc_probed(&memory);
  int64_t from_us;
  bool is_settled;
  double value_us;
  CHECK(blis_arrivals_warm_up(&all, &alloc, &from_us, &is_settled) == BLIS_ERR_NOMEM);
  memory = (blis_alloc_probe){.fail_at = 1};
  CHECK(blis_arrivals_percentile(&all, &alloc, BLIS_LATENCY_E2E, 0.5, &value_us) == BLIS_ERR_NOMEM);
  CHECK_EQ_I64(memory.live_bytes, 0);
  blis_recorder_free(recorder);
}

int main(void) {
  RUN(percentiles_are_over_all_that_arrived);
  RUN(batches_are_of_arrivals_in_a_row);
  RUN(measure_counts_the_completed);
  RUN(warm_up_ends_where_the_series_is_level);
  RUN(memory_may_run_out);
  return check_done();
}
