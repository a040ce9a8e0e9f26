/* How many instances there are, from when on, by hand. */
#include "cluster/faults/presence.h"

#include "base/time.h"
#include "cluster/faults/fault_plan.h"
#include "cluster_fixture.h"

static void open_three(site *s) {
  site_init(s, blis_alloc_heap(), 3);
  site_add_slow_requests(s, 6);
  site_must_open(s);
}

static void set(site *s, const blis_fault *faults, size_t count) {
  blis_error error = {0};
  CHECK_OK(blis_cluster_set_faults(s->cluster, faults, count, NULL, 0, &error), &error);
}

static void check_level(const blis_presence_level *level, int64_t time_us, int64_t serving,
                        int64_t leaving, int64_t starting) {
  CHECK_EQ_I64(level->time_us, time_us);
  CHECK_EQ_I64(level->serving, serving);
  CHECK_EQ_I64(level->leaving, leaving);
  CHECK_EQ_I64(level->starting, starting);
}

static void each_change_is_a_level(void) {
  site s;
  open_three(&s);
  const blis_presence_level *levels;
  size_t count;
  CHECK(!blis_cluster_get_presence(s.cluster, &levels, &count));
  const blis_loss rerouted = {.kind = BLIS_LOSS_REROUTED};
  const blis_fault_effect crash = {
      .kind = BLIS_FAULT_CRASH, .recover_us = 200000, .recovering_us = 50000, .loss = rerouted};
  const blis_fault_effect slow = {
      .kind = BLIS_FAULT_SLOW, .recover_us = BLIS_TIME_NEVER_US, .factor = 2};
  const blis_fault faults[] = {{.at_us = 100000, .instance = 0, .effect = crash},
                               {.at_us = 100000, .instance = 1, .effect = crash},
                               {.at_us = 110000, .instance = 2, .effect = slow}};
  set(&s, faults, 3);
  site_run(&s);
  CHECK(blis_cluster_get_presence(s.cluster, &levels, &count));
  CHECK_EQ_I64((int64_t)count, 4);
  check_level(&levels[0], 0, 3, 0, 0);
  check_level(&levels[1], 100000, 1, 0, 0); /* both at once */
  check_level(&levels[2], 250000, 1, 0, 2);
  check_level(&levels[3], 300000, 3, 0, 0);
  site_deinit(&s);
}

static void one_that_is_told_to_go_finishes_first(void) {
  site s;
  open_three(&s);
  const blis_fault_effect reclaim = {.kind = BLIS_FAULT_RECLAIM,
                                     .recover_us = BLIS_TIME_NEVER_US,
                                     .notice_us = 40000,
                                     .loss = {.kind = BLIS_LOSS_RETRIED}};
  const blis_fault fault = {.at_us = 100000, .effect = reclaim};
  set(&s, &fault, 1);
  site_run(&s);
  const blis_presence_level *levels;
  size_t count;
  CHECK(blis_cluster_get_presence(s.cluster, &levels, &count));
  CHECK_EQ_I64((int64_t)count, 3);
  check_level(&levels[1], 100000, 2, 1, 0);
  check_level(&levels[2], 140000, 2, 0, 0);
  blis_market_times times;
  CHECK(!blis_cluster_get_market_times(s.cluster, 1000000, &times));
  site_deinit(&s);
}

/* Of three on the market, one comes at 50 ms, and another one goes at 100. */
static void a_market_has_its_times(void) {
  site s;
  open_three(&s);
  const blis_loss rerouted = {.kind = BLIS_LOSS_REROUTED};
  const blis_fault_effect later = {
      .kind = BLIS_FAULT_RECLAIM, .recover_us = 50000, .gives_back = true, .loss = rerouted};
  const blis_fault_effect goes = {.kind = BLIS_FAULT_RECLAIM,
                                  .recover_us = BLIS_TIME_NEVER_US,
                                  .gives_back = true,
                                  .loss = rerouted};
  const blis_fault faults[] = {{.instance = 2, .is_absence = true, .effect = later},
                               {.at_us = 100000, .effect = goes}};
  set(&s, faults, 2);
  blis_error error = {0};
  CHECK_OK(blis_cluster_set_market(s.cluster, 0, &error), &error);
  site_run(&s);
  const blis_fault_note *notes;
  size_t count;
  CHECK(blis_cluster_get_faults(s.cluster, &notes, &count));
  CHECK_EQ_I64((int64_t)count, 1); /* what was not there was not taken away */
  blis_market_times times;
  CHECK(blis_cluster_get_market_times(s.cluster, 0, &times));
  int64_t end_us = times.span_us; /* of the last request */
  CHECK(end_us > 100000);
  CHECK(blis_cluster_get_market_times(s.cluster, end_us + 1000, &times));
  CHECK_EQ_I64(times.span_us, end_us + 1000);
  CHECK_EQ_I64(times.wanted, 3);
  CHECK_EQ_I64(times.full_us, 50000);
  CHECK_EQ_I64(times.serving_us, 2 * 50000 + 3 * 50000 + 2 * (times.span_us - 100000));
  site_deinit(&s);
}

int main(void) {
  RUN(each_change_is_a_level);
  RUN(one_that_is_told_to_go_finishes_first);
  RUN(a_market_has_its_times);
  return check_done();
}
