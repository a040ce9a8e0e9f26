/* The log of visits: which are kept, in which order, and what is counted. */
#include "results/log/visit_log.h"

#include "check.h"

static blis_visit visit_at(int64_t from_us, int64_t number) {
  return (blis_visit){.request = {.number = number}, .number = 1, .from_us = from_us};
}

/* Whatever the order in which they come. */
static void the_earliest_ones_are_kept(void) {
  static const int64_t orders[2][6] = {{60, 10, 50, 20, 40, 30}, {10, 20, 30, 40, 50, 60}};
  for (int k = 0; k < 2; k++) {
    blis_alloc alloc = blis_alloc_heap();
    blis_visit_log log;
    blis_error error;
    blis_visit_log_init(&log, &alloc, 2);
    const blis_visit_sink sink = blis_visit_log_sink(&log);
    for (int i = 0; i < 6; i++) {
      const blis_visit visit = visit_at(orders[k][i], i);
      const blis_preempted preempted = {.time_us = orders[k][i] + 1};
      const blis_service_change change = {.time_us = 10 * i};
      CHECK_OK(sink.visit(sink.ud, &visit, &error), &error);
      CHECK_OK(sink.preempted(sink.ud, &preempted, &error), &error);
      CHECK_OK(sink.service(sink.ud, &change, &error), &error);
      CHECK(log.visits.count < 4 && log.preemptions.count < 4);
    }
    blis_visit_log_sort(&log);
    CHECK_EQ_I64((int64_t)log.visits.count, 2);
    CHECK_EQ_I64(log.visits.items[0].from_us, 10);
    CHECK_EQ_I64(log.visits.items[1].from_us, 20);
    CHECK_EQ_I64((int64_t)log.preemptions.count, 2);
    CHECK_EQ_I64(log.preemptions.items[1].time_us, 21);
    CHECK_EQ_I64((int64_t)log.states.count, 2);
    CHECK_EQ_I64(log.states.items[1].time_us, 10);
    CHECK_EQ_I64(log.left_out, 12);
    CHECK_EQ_I64(log.whole_until_us, 10); /* the last state */
    blis_visit_log_deinit(&log);
    blis_visit_log_deinit(&log);
  }
}

/* Number, session and round, and then which of its visits. */
static void at_one_time_requests_decide(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_visit_log log;
  blis_error error;
  blis_visit_log_init(&log, &alloc, 8);
  const blis_visit_sink sink = blis_visit_log_sink(&log);
  const blis_visit sent[] = {
      {.request = {.number = 2}, .number = 1},
      {.request = {.number = 1, .session = "b"}, .number = 1},
      {.request = {.number = 1, .session = "a", .round_index = 1}, .number = 1},
      {.request = {.number = 1, .session = "a"}, .number = 2},
      {.request = {.number = 1, .session = "a"}, .number = 1},
      {.request = {.number = 1}, .number = 1},
  };
  for (size_t i = 0; i < 6; i++) {
    blis_visit visit = sent[i];
    visit.instance = (uint32_t)i;
    CHECK_OK(sink.visit(sink.ud, &visit, &error), &error);
  }
  blis_visit_log_sort(&log);
  for (size_t i = 0; i < 6; i++) {
    CHECK_EQ_I64(log.visits.items[i].instance, 5 - (int64_t)i);
  }
  blis_visit_log_deinit(&log);
}

int main(void) {
  RUN(the_earliest_ones_are_kept);
  RUN(at_one_time_requests_decide);
  return check_done();
}
