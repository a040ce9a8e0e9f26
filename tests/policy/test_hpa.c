/* Kubernetes' controller of horizontal autoscaling, by the rules of its source.
 */
#include "autoscaler_fixture.h"
#include "policy/autoscale/hpa.h"

static void test_hpa_pods(void) {
  static const struct {
    int64_t values[4];
    size_t count;
    int64_t missing;
    int64_t unready;
    int64_t wanted;
  } rows[] = {{{20000, 20000}, 2, 0, 2, 4},
              {{30000, 30000}, 2, 0, 2, 6},
              {{4000, 4000, 4000}, 3, 1, 0, 3},
              {{12000, 12000, 12000}, 3, 1, 0, 4},
              {{20000, 20000, 20000}, 3, 1, 0, 6}};
  const blis_hpa_rules rules = blis_hpa_default_rules();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_EQ_I64(blis_hpa_pods(&rules, rows[i].values, rows[i].count, rows[i].missing,
                               rows[i].unready, 10000, 4),
                 rows[i].wanted);
  }
  CHECK_EQ_I64(blis_hpa_pods(&rules, NULL, 0, 4, 0, 10000, 4), 4);
}

typedef struct controller {
  blis_hpa hpa;
  blis_hpa_rules rules;
  int64_t replicas;
  int64_t max;
} controller;

static int64_t sync(controller *c, int64_t time_s, int64_t proposal) {
  CHECK(blis_hpa_sync(&c->hpa, heap(), &c->rules, time_s * 1000000, c->replicas, proposal, 1,
                      c->max, &c->replicas) == BLIS_OK);
  return c->replicas;
}

static controller starting_at(int64_t replicas) {
  return (controller){.rules = blis_hpa_default_rules(), .replicas = replicas, .max = 1000};
}

static void drop(controller *c) {
  blis_hpa_deinit(&c->hpa, heap());
}

static int64_t sync_value(controller *c, int64_t time_s, int64_t value) {
  return sync(c, time_s, blis_hpa_average_value(&c->rules, value * 1000, 10000, c->replicas));
}

static void test_hpa_up(void) {
  controller c = starting_at(1);
  c.max = 20;
  CHECK_EQ_I64(sync_value(&c, 0, 160), 5);
  CHECK_EQ_I64(sync_value(&c, 15, 160), 10);
  CHECK_EQ_I64(sync_value(&c, 30, 160), 16);
  drop(&c);
  c = starting_at(5);
  CHECK_EQ_I64(sync_value(&c, 0, 54), 5);
  CHECK_EQ_I64(sync_value(&c, 15, 55), 5);
  CHECK_EQ_I64(sync_value(&c, 30, 56), 6);
  drop(&c);
}

static void test_hpa_down_window(void) {
  controller c = starting_at(10);
  CHECK_EQ_I64(sync_value(&c, 0, 100), 10);
  CHECK_EQ_I64(sync_value(&c, 15, 100), 10);
  for (int64_t t = 30; t <= 300; t += 15) {
    CHECK_EQ_I64(sync_value(&c, t, 10), 10);
  }
  CHECK_EQ_I64(sync_value(&c, 315, 10), 1);
  drop(&c);
}

static void test_hpa_limits(void) {
  // One a period.
  controller c = starting_at(1);
  c.rules.up = (blis_hpa_direction){.pods = 1, .pods_period_s = 180, .tolerance = 0.1};
  for (int64_t t = 0; t <= 360; t += 15) {
    CHECK_EQ_I64(sync(&c, t, 6), t < 180 ? 2 : t < 360 ? 3 : 4);
  }
  drop(&c);
  // The smaller of two policies.
  c = starting_at(10);
  c.rules.up.select = BLIS_HPA_MIN;
  for (int i = 0; i < 4; i++) {
    CHECK_EQ_I64(sync(&c, 15 * i, 50), 14 + 4 * i);
  }
  drop(&c);
  // Down by percent, cut off.
  c = starting_at(40);
  c.rules.down = (blis_hpa_direction){
      .pods = 1, .pods_period_s = 60, .percent = 10, .percent_period_s = 60, .tolerance = 0.1};
  for (int64_t t = 0; t <= 120; t += 15) {
    CHECK_EQ_I64(sync(&c, t, 1), t < 60 ? 36 : t < 120 ? 32 : 28);
  }
  drop(&c);
  c = starting_at(5);
  c.rules.down.select = BLIS_HPA_DISABLED;
  for (int64_t t = 0; t < 3000; t += 15) {
    CHECK_EQ_I64(sync(&c, t, 1), 5);
  }
  drop(&c);
}

static void test_hpa_up_window(void) {
  static const int64_t proposals[] = {8, 4, 8, 8, 8, 8, 8};
  controller c = starting_at(4);
  c.rules.up.window_s = 60;
  for (int i = 0; i < 7; i++) {
    CHECK_EQ_I64(sync(&c, 15 * i, proposals[i]), 15 * i < 75 ? 4 : 8);
  }
  drop(&c);
}

static void test_hpa_both_windows(void) {
  controller c = starting_at(2);
  c.rules.up = (blis_hpa_direction){.window_s = 30,
                                    .pods = 4,
                                    .pods_period_s = 60,
                                    .percent = 100,
                                    .percent_period_s = 60,
                                    .tolerance = 0.1};
  c.rules.down =
      (blis_hpa_direction){.window_s = 180, .pods = 1, .pods_period_s = 120, .tolerance = 0.1};
  for (int64_t t = 0; t <= 525; t += 15) {
    int64_t wanted = t < 30 ? 2 : t < 285 ? 6 : t < 405 ? 5 : t < 525 ? 4 : 3;
    CHECK_EQ_I64(sync(&c, t, t < 120 ? 6 : 2), wanted);
  }
  drop(&c);
}

static void test_hpa_bounds(void) {
  controller c = starting_at(30);
  c.max = 20;
  CHECK_EQ_I64(sync(&c, 0, 30), 20);
  c.replicas = 0; // somebody turned it off
  CHECK_EQ_I64(sync(&c, 15, 5), 0);
  drop(&c);
}

int main(void) {
  RUN(test_hpa_pods);
  RUN(test_hpa_up);
  RUN(test_hpa_down_window);
  RUN(test_hpa_limits);
  RUN(test_hpa_up_window);
  RUN(test_hpa_both_windows);
  RUN(test_hpa_bounds);
  return check_done();
}
