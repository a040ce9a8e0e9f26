/* test_tally.c - counts and sketches of single records, also of times of 0. */
#include "results/record/tally.h"

#include "check.h"

static void add(blis_tally *tally, int64_t ttft_us, int64_t delay_us) {
  const blis_record record = {.state =
                                  ttft_us >= 0 ? BLIS_REQUEST_COMPLETED : BLIS_REQUEST_TIMED_OUT,
                              .ttft_us = ttft_us,
                              .e2e_us = ttft_us,
                              .scheduling_delay_us = delay_us};
  CHECK_STATUS(blis__tally_add(tally, &record), BLIS_OK);
}

static void times_of_zero_count(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_tally tally;
  blis__tally_init(&tally, &alloc, true);
  add(&tally, 0, 0);
  CHECK_EQ_I64(blis_sketch_total(&tally.ttft_us), 1);
  CHECK_EQ_I64(blis_sketch_total(&tally.e2e_us), 1);
  CHECK_EQ_I64(blis_sketch_total(&tally.scheduling_delay_us), 1);
  add(&tally, -1, -1); /* has none */
  CHECK_EQ_I64(blis_sketch_total(&tally.ttft_us), 1);
  CHECK_EQ_I64(blis_sketch_total(&tally.scheduling_delay_us), 1);
  add(&tally, 7, 1);
  CHECK_EQ_I64(blis_sketch_total(&tally.ttft_us), 2);
  CHECK_EQ_I64(blis_sketch_at_rank(&tally.ttft_us, 0), 0);
  CHECK_EQ_I64(blis_sketch_at_rank(&tally.ttft_us, 1), 7);
  blis__tally_deinit(&tally);
}

static void routed_requests_are_counted_by_instance(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_tally tally;
  blis__tally_init(&tally, &alloc, false);
  CHECK_EQ_I64(blis_tally_of_instance(&tally, 0), 0);
  CHECK_STATUS(blis__tally_add_routed(&tally, 2), BLIS_OK);
  CHECK_STATUS(blis__tally_add_routed(&tally, 2), BLIS_OK);
  CHECK_STATUS(blis__tally_add_routed(&tally, 0), BLIS_OK);
  CHECK_EQ_I64(blis_tally_of_instance(&tally, 0), 1);
  CHECK_EQ_I64(blis_tally_of_instance(&tally, 1), 0);
  CHECK_EQ_I64(blis_tally_of_instance(&tally, 2), 2);
  CHECK_EQ_I64(blis_tally_of_instance(&tally, 3), 0);
  blis__tally_deinit(&tally);
}

int main(void) {
  RUN(times_of_zero_count);
  RUN(routed_requests_are_counted_by_instance);
  return check_done();
}
