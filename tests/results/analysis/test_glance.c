/* The latencies of a run so far: all requests of few, a sample of many. */
#include "results/analysis/glance.h"

#include "check.h"

static void end_request(blis_recorder *recorder, int64_t number, blis_request_state state,
                        int64_t time_us) {
  bool is_done = state == BLIS_REQUEST_COMPLETED;
  blis_request request = {.number = number};
  blis_request_end end = {.request = &request,
                          .state = state,
                          .instance = 0,
                          .ttft_us = time_us,
                          .e2e_us = is_done ? 10 * time_us : -1,
                          .scheduling_delay_us = -1,
                          .itl_sum_us = is_done ? 4 * time_us : 0,
                          .itl_count = is_done ? 8 : 0};
  const blis_request_sink *sink = blis_recorder_sink(recorder);
  CHECK(sink->ended(sink->ud, &end, NULL) == BLIS_OK);
}

static void few_are_all_taken_once(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&alloc);
  blis_glance glance;
  blis_glance_times times;
  blis_glance_init(&glance, &alloc);
  CHECK(blis_glance_look(&glance, recorder, &times) == BLIS_OK);
  CHECK_EQ_I64((int64_t)blis_sketch_total(times.ttft_us), 0);
  end_request(recorder, 0, BLIS_REQUEST_COMPLETED, 100);
  end_request(recorder, 1, BLIS_REQUEST_TIMED_OUT, 300);
  end_request(recorder, 2, BLIS_REQUEST_REJECTED, -1);
  for (int look = 0; look < 2; look++) { /* nothing is new in the second */
    CHECK(blis_glance_look(&glance, recorder, &times) == BLIS_OK);
    CHECK_EQ_I64((int64_t)blis_sketch_total(times.ttft_us), 2);
    CHECK_EQ_I64(blis_sketch_max(times.ttft_us), 300);
    CHECK_EQ_I64((int64_t)blis_sketch_total(times.e2e_us), 1);
    CHECK_EQ_I64(blis_sketch_min(times.e2e_us), 1000);
    CHECK_EQ_I64(blis_sketch_min(times.itl_us), 50); /* 400 us in 8 steps */
  }
  blis_glance_deinit(&glance);
  blis_recorder_free(recorder);
}

static void many_are_sampled_evenly(void) {
  enum { COUNT = 100000 };
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&alloc);
  uint64_t hash = 0;
  blis_glance glance;
  blis_glance_times times;
  blis_glance_init(&glance, &alloc);
  for (int64_t i = 0; i < COUNT; i++) {
    end_request(recorder, i, BLIS_REQUEST_COMPLETED, 1000 + i);
  }
  hash = blis_recorder_hash(recorder);
  CHECK(blis_glance_look(&glance, recorder, &times) == BLIS_OK);
  uint64_t total = blis_sketch_total(times.ttft_us);
  CHECK(total > BLIS_GLANCE_SAMPLE / 2 && total <= BLIS_GLANCE_SAMPLE);
  double median_us = (double)blis_sketch_at_rank(times.ttft_us, total / 2);
  CHECK(median_us > 0.98 * 51000 && median_us < 1.02 * 51000);
  CHECK(blis_recorder_hash(recorder) == hash);
  blis_glance_deinit(&glance);
  blis_recorder_free(recorder);
}

static void without_records_all_are_known(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new_streaming(&alloc);
  blis_glance glance;
  blis_glance_times times;
  blis_glance_init(&glance, &alloc);
  for (int64_t i = 0; i < 5000; i++) {
    end_request(recorder, i, BLIS_REQUEST_COMPLETED, 7);
  }
  CHECK(blis_glance_look(&glance, recorder, &times) == BLIS_OK);
  CHECK_EQ_I64((int64_t)blis_sketch_total(times.ttft_us), 5000);
  CHECK_EQ_I64(blis_sketch_max(times.e2e_us), 70);
  CHECK(times.itl_us == NULL);
  blis_glance_deinit(&glance);
  blis_recorder_free(recorder);
}

static void no_memory_leaves_some_out(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&heap);
  end_request(recorder, 0, BLIS_REQUEST_COMPLETED, 100);
  for (long request = 1; request <= 3; request++) {
    blis_alloc_probe memory = {.fail_at = request, .fail_forever = 1};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_glance glance;
    blis_glance_times times;
    blis_glance_init(&glance, &alloc);
    CHECK(blis_glance_look(&glance, recorder, &times) == BLIS_ERR_NOMEM);
    CHECK(blis_glance_look(&glance, recorder, &times) == BLIS_OK);
    CHECK(blis_sketch_total(times.itl_us) == 0);
    blis_glance_deinit(&glance);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  blis_recorder_free(recorder);
}

int main(void) {
  RUN(few_are_all_taken_once);
  RUN(many_are_sampled_evenly);
  RUN(without_records_all_are_known);
  RUN(no_memory_leaves_some_out);
  return check_done();
}
