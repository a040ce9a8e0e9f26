/* What waited and ran over time, and which requests were slowest. */
#include "cluster/handoff/handoff.h"
#include "results/analysis/load.h"

#include "check.h"
#include "results/record/recorder.h"

typedef struct stay {
  int32_t instance;
  int64_t arrival_us;
  int64_t delay_us; /* -1 = never admitted */
  int64_t end_us;
} stay;

static void add(blis_recorder *recorder, int64_t number, const stay *one,
                const blis_stage_times *stages) {
  bool is_done = one->delay_us >= 0;
  blis_request request = {.number = number, .arrival_us = one->arrival_us};
  blis_request_end end = {.request = &request,
                          .state = is_done ? BLIS_REQUEST_COMPLETED : BLIS_REQUEST_TIMED_OUT,
                          .instance = one->instance,
                          .ttft_us = is_done ? one->delay_us : -1,
                          .e2e_us = is_done ? one->end_us - one->arrival_us : -1,
                          .scheduling_delay_us = one->delay_us,
                          .end_us = one->end_us,
                          .stages = stages};
  const blis_request_sink *sink = blis_recorder_sink(recorder);
  CHECK(sink->ended(sink->ud, &end, NULL) == BLIS_OK);
}

static blis_recorder *recorded(const blis_alloc *alloc, const stay *stays, size_t count) {
  blis_recorder *recorder = blis_recorder_new(alloc);
  for (size_t i = 0; i < count; i++) {
    add(recorder, (int64_t)i, &stays[i], NULL);
  }
  return recorder;
}

static void intervals_have_their_shares(void) {
  /* Ten intervals of 100 us. */
  static const stay stays[] = {
      {0, 0, 50, 250},     /* waits in the first, runs until into the third */
      {1, 150, 0, 400},    /* never waits; ends where the fifth begins */
      {1, 900, -1, 1000},  /* waits until the end */
      {-1, 310, -1, 310},  /* turned away */
      {0, 999, 500, 5000}, /* mostly behind the end */
  };
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = recorded(&alloc, stays, 5);
  blis_load load;
  CHECK(blis_load_init(&load, &alloc, recorder, 1, 10, 1000) == BLIS_OK);
  CHECK_EQ_I64((int64_t)load.instance_count, 2);
  static const double waiting[] = {0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0.01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  static const double running[] = {0.5, 1,   0.5, 0, 0, 0, 0, 0, 0, 0,
                                   0,   0.5, 1,   1, 0, 0, 0, 0, 0, 0};
  static const int64_t arrived[] = {1, 1, 0, 1, 0, 0, 0, 0, 0, 2};
  static const int64_t completed[] = {0, 0, 1, 0, 1, 0, 0, 0, 0, 0};
  for (size_t k = 0; k < 20; k++) {
    CHECK(load.waiting[k] > waiting[k] - 1e-9);
    CHECK(load.waiting[k] < waiting[k] + 1e-9);
    CHECK(load.running[k] > running[k] - 1e-9);
    CHECK(load.running[k] < running[k] + 1e-9);
  }
  for (size_t k = 0; k < 10; k++) {
    CHECK_EQ_I64(load.arrived[k], arrived[k]);
    CHECK_EQ_I64(load.completed[k], completed[k]);
  }
  blis_load_deinit(&load);
  blis_load_deinit(&load);
  blis_recorder_free(recorder);
}

static void both_sides_of_a_hand_off_count(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&alloc);
  blis_stage_times stages = BLIS_STAGE_TIMES_NONE;
  stages.prefill_instance = 2;
  stages.prefill_admitted_us = 100;
  stages.prefill_end_us = 300;
  stages.transfer_start_us = 300;
  stages.transfer_end_us = 400;
  const stay one = {0, 0, 100, 600};
  add(recorder, 1, &one, &stages);
  blis_load load;
  CHECK(blis_load_init(&load, &alloc, recorder, 1, 10, 1000) == BLIS_OK);
  CHECK_EQ_I64((int64_t)load.instance_count, 3);
  double waiting = 0;
  double running_there = 0;
  double running_here = 0;
  for (size_t k = 0; k < 10; k++) {
    waiting += load.waiting[20 + k];
    running_there += load.running[20 + k];
    running_here += load.running[k];
  }
  CHECK(waiting > 0.999999 && waiting < 1.000001);
  CHECK(running_there > 1.999999 && running_there < 2.000001);
  CHECK(running_here > 1.999999 && running_here < 2.000001);
  blis_load_deinit(&load);
  blis_recorder_free(recorder);
}

static void the_slowest_come_first(void) {
  static const stay stays[] = {
      {0, 0, 1, 500}, {0, 0, 1, 900},  {0, 0, -1, 5000},
      {0, 0, 1, 900}, {0, 100, 1, 50}, {0, 0, 1, 800},
  };
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = recorded(&alloc, stays, 4);
  size_t places[4];
  CHECK_EQ_I64((int64_t)blis_recorder_slowest(recorder, places, 4), 3);
  CHECK_EQ_I64((int64_t)places[0], 1);
  CHECK_EQ_I64((int64_t)places[1], 3);
  CHECK_EQ_I64((int64_t)places[2], 0);
  CHECK_EQ_I64((int64_t)blis_recorder_slowest(recorder, places, 1), 1);
  CHECK_EQ_I64((int64_t)places[0], 1);
  CHECK_EQ_I64((int64_t)blis_recorder_slowest(recorder, places, 0), 0);
  add(recorder, 9, &stays[5], NULL);
  CHECK_EQ_I64((int64_t)blis_recorder_slowest(recorder, places, 3), 3);
  CHECK_EQ_I64((int64_t)places[2], 4);
  blis_recorder_free(recorder);
}

static void no_memory_leaves_nothing(void) {
  static const stay one = {0, 0, 50, 250};
  blis_alloc heap = blis_alloc_heap();
  blis_recorder *recorder = recorded(&heap, &one, 1);
  bool is_done = false;
  for (long fail_at = 1; !is_done; fail_at++) {
    blis_alloc_probe probe = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&probe);
    blis_load load;
    is_done = blis_load_init(&load, &alloc, recorder, 2, 3, 1000) == BLIS_OK;
    blis_load_deinit(&load);
    CHECK_EQ_I64((int64_t)probe.live_bytes, 0);
  }
  blis_recorder_free(recorder);
}

int main(void) {
  RUN(intervals_have_their_shares);
  RUN(both_sides_of_a_hand_off_count);
  RUN(the_slowest_come_first);
  RUN(no_memory_leaves_nothing);
  return check_done();
}
