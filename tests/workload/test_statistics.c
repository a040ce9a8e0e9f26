/* What a workload looks like: arrivals and sessions. */
#include "workload/statistics.h"

#include "check.h"

static blis_alloc heap;

typedef struct row {
  int64_t arrival_us;
  const char *session;
} row;

static blis_workload_statistics measure(const row *rows, size_t count) {
  blis_error error;
  blis_workload_statistics s;
  blis_workload *workload = blis_workload_new(&heap);
  for (size_t i = 0; i < count; i++) {
    blis_request request = {.arrival_us = rows[i].arrival_us};
    CHECK(blis_workload_text(workload, rows[i].session, strlen(rows[i].session),
                             &request.session) == BLIS_OK);
    CHECK(blis_workload_add(workload, &request) == BLIS_OK);
  }
  CHECK(blis_workload_seal(workload) == BLIS_OK);
  CHECK_OK(blis_workload_measure(&heap, workload, 16, &s, &error), &error);
  blis_workload_free(workload);
  return s;
}

static void nothing_has_no_statistics(void) {
  blis_workload_statistics s = measure(NULL, 0);
  CHECK(s.count == 0 && s.busiest_second == 0 && s.turns.max == 0);
  CHECK_EQ_DOUBLE(s.requests_per_sec, 0.0);
  static const row one[] = {{5000000, ""}};
  s = measure(one, 1);
  CHECK(s.count == 1 && s.busiest_second == 1 && s.first_arrival_us == 5000000);
  CHECK_EQ_DOUBLE(s.requests_per_sec, 0.0);
  CHECK_EQ_DOUBLE(s.gap_cv, 0.0);
}

static void arrivals_may_come_in_bursts(void) {
  static const row even[] = {{0, ""}, {500000, ""}, {1000000, ""}};
  blis_workload_statistics s = measure(even, 3);
  CHECK_EQ_DOUBLE(s.requests_per_sec, 2.0);
  CHECK_EQ_DOUBLE(s.gap_cv, 0.0);
  CHECK_EQ_I64(s.busiest_second, 2);
  /* Gaps of 0, 0, 0 and 4 s: mean 1 s, standard deviation sqrt(3) s. */
  static const row burst[] = {{7, ""}, {7, ""}, {7, ""}, {7, ""}, {4000007, ""}};
  s = measure(burst, 5);
  CHECK_EQ_DOUBLE(s.requests_per_sec, 1.0);
  CHECK_EQ_DOUBLE(s.gap_cv, 1.7320508075688772);
  CHECK_EQ_I64(s.busiest_second, 4);
}

static void sessions_have_turns(void) {
  static const row rows[] = {{0, "a"}, {1, "b"}, {2, "a"}, {3, ""},
                             {4, "c"}, {5, "a"}, {6, "a"}, {7, "b"}};
  blis_workload_statistics s = measure(rows, 8);
  CHECK_EQ_I64(s.sessions, 3);
  CHECK(s.turns.sum == 7 && s.turns.min == 1);
  CHECK(s.turns.p50 == 2 && s.turns.p99 == 4 && s.turns.max == 4);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(nothing_has_no_statistics);
  RUN(arrivals_may_come_in_bursts);
  RUN(sessions_have_turns);
  return check_done();
}
