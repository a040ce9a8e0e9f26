/*
 * Autoscalers: the worked sequences and tables of their sources, and whatever
 * comes from the registry with looks at pools made at random.
 */
#include <math.h>

#include "base/random.h"
#include "base/time.h"
#include "check.h"
#include "policy/autoscale/forecast.h"
#include "policy/autoscale/hpa.h"
#include "policy/autoscale/knative.h"
#include "policy/autoscale/llmd_demand.h"
#include "policy/autoscale/planner.h"
#include "policy/registry.h"

static const blis_alloc *heap(void) {
  static blis_alloc alloc;
  alloc = blis_alloc_heap();
  return &alloc;
}

/* Kubernetes' controller */

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
    CHECK_EQ_I64(blis_hpa_pods(&rules, rows[i].values, rows[i].count,
                               rows[i].missing, rows[i].unready, 10000, 4),
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
  CHECK(blis_hpa_sync(&c->hpa, heap(), &c->rules, time_s * 1000000, c->replicas,
                      proposal, 1, c->max, &c->replicas) == BLIS_OK);
  return c->replicas;
}

static controller starting_at(int64_t replicas) {
  return (controller){
      .rules = blis_hpa_default_rules(), .replicas = replicas, .max = 1000};
}

static void drop(controller *c) {
  blis_hpa_deinit(&c->hpa, heap());
}

static int64_t sync_value(controller *c, int64_t time_s, int64_t value) {
  return sync(
      c, time_s,
      blis_hpa_average_value(&c->rules, value * 1000, 10000, c->replicas));
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
  c.rules.up =
      (blis_hpa_direction){.pods = 1, .pods_period_s = 180, .tolerance = 0.1};
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
  c.rules.down = (blis_hpa_direction){.pods = 1,
                                      .pods_period_s = 60,
                                      .percent = 10,
                                      .percent_period_s = 60,
                                      .tolerance = 0.1};
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
  c.rules.down = (blis_hpa_direction){
      .window_s = 180, .pods = 1, .pods_period_s = 120, .tolerance = 0.1};
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

/* llm-d */

static void test_llmd_guard(void) {
  static const double rows[][5] = {{0, 12, 0, 1, 0.75}, {3, 32, 0, 2, 3},
                                   {3, 32, 1, 3, 3},    {8, 64, 2, 4, 6},
                                   {8, 64, 6, 8, 8},    {0, 200, 0, 8, 12.5}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double demand = fmax(rows[i][0], rows[i][1] / 16);
    CHECK_EQ_DOUBLE(
        blis_llmd_guarded_demand(demand, rows[i][3], rows[i][3] - rows[i][2]),
        rows[i][4]);
  }
}

static void test_llmd_slo(void) {
  static const double rows[][4] = {
      {0.50, 4, 4, 4}, {0.80, 4, 4, 6}, {2.00, 4, 4, 15}, {2.00, 8, 4, 15},
      {1.10, 2, 2, 4}, {0.80, 6, 4, 6}, {0.20, 4, 4, 2},  {0.35, 4, 4, 4},
      {0.00, 4, 4, 0}, {0.90, 10, 5, 9}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_EQ_DOUBLE(blis_llmd_slo_demand(rows[i][0], rows[i][1], rows[i][2]),
                    rows[i][3]);
  }
}

/* Knative */

static void test_knative(void) {
  static const struct {
    double stable;
    double panic;
    int64_t ready;
    int64_t wanted;
    bool is_panic;
  } rows[] = {{30, 90, 4, 9, true}, {10, 5, 8, 4, false}, {35, 75, 4, 8, true}};
  const blis_knative_rules rules = {.target = 10,
                                    .panic_threshold = 2,
                                    .max_up_rate = 1000,
                                    .max_down_rate = 2,
                                    .stable_us = 60000000};
  for (size_t i = 0; i < 3; i++) {
    blis_knative_panic panic = {0};
    blis_knative_scale scale = blis_knative_step(
        &rules, &panic, 0, rows[i].stable, rows[i].panic, rows[i].ready);
    CHECK_EQ_I64(scale.target, rows[i].wanted);
    CHECK(scale.is_panic == rows[i].is_panic);
  }
  // In a panic it never goes down; it ends one stable window after its cause.
  blis_knative_panic panic = {0};
  CHECK_EQ_I64(blis_knative_step(&rules, &panic, 0, 30, 90, 4).target, 9);
  CHECK_EQ_I64(blis_knative_step(&rules, &panic, 59000000, 10, 10, 9).target,
               9);
  CHECK_EQ_I64(blis_knative_step(&rules, &panic, 60000000, 10, 10, 9).target,
               4);
}

/* Dynamo */

static void test_planner_budget(void) {
  static const int64_t rows[][6] = {
      {6, 6, 1, 1, 4, 4}, {3, 4, 2, 1, 2, 4}, {10, 1, 1, 4, 4, 1}};
  for (size_t i = 0; i < 3; i++) {
    blis_planner_pools shared =
        blis_planner_share_budget((blis_planner_pools){rows[i][0], rows[i][1]},
                                  (blis_planner_pools){rows[i][2], rows[i][3]},
                                  (blis_planner_pools){1, 1}, 8);
    CHECK_EQ_I64(shared.prefill, rows[i][4]);
    CHECK_EQ_I64(shared.decode, rows[i][5]);
  }
  blis_planner_pools none = blis_planner_share_budget(
      (blis_planner_pools){2, 2}, (blis_planner_pools){8, 8},
      (blis_planner_pools){1, 1}, 8);
  CHECK(none.prefill == 0 && none.decode == 0);
}

static void test_kalman(void) {
  static const double seen[] = {100, 110, 120, 130, 140, 100};
  static const double wanted[] = {100,      114.9229, 129.7080,
                                  139.8977, 149.9478, 118.4918};
  blis_forecast forecast = {.kind = BLIS_FORECAST_KALMAN};
  blis_forecast_add(&forecast, 0);
  CHECK_EQ_DOUBLE(blis_forecast_next(&forecast), 0);
  for (size_t i = 0; i < 6; i++) {
    blis_forecast_add(&forecast, seen[i]);
    CHECK(fabs(blis_forecast_next(&forecast) - wanted[i]) < 5e-5);
  }
}

static double linear_step_us(void *ud, double prefill_tokens, double requests,
                             double kv_tokens) {
  (void)ud;
  CHECK(isfinite(prefill_tokens) && isfinite(kv_tokens));
  return 5000 + 50 * prefill_tokens + 10 * requests + 0.01 * kv_tokens;
}

static void test_planner_load(void) {
  const blis_scale_model model = {.step_us = linear_step_us};
  const blis_planner_load load = {.requests_per_s = 40,
                                  .prompt_tokens = 1900,
                                  .output_tokens = 200,
                                  .ttft_us = 1e6,
                                  .itl_us = 10000,
                                  .kv_capacity_tokens = 400000};
  // 100 ms a prompt.
  CHECK_EQ_I64(blis_planner_prefill(&model, &load), 4);
  // Contexts of 2,000: 200 fit, and 166 keep 10 ms; 83 requests/s.
  CHECK_EQ_I64(blis_planner_decode(&model, &load), 1);
  blis_planner_load more = load;
  more.requests_per_s = 100;
  CHECK_EQ_I64(blis_planner_decode(&model, &more), 2);
}

static double even_step_us(void *ud, double prefill, double decodes,
                           double context) {
  (void)ud, (void)prefill, (void)decodes, (void)context;
  return 40000;
}

/* 16 requests in steps of 40 ms, 64 tokens each: 6.25 requests/s, and 18.2 with
   2.909 tokens a step, which are 13.75 ms apart. */
static void test_planner_with_drafts(void) {
  const blis_scale_model model = {.step_us = even_step_us};
  blis_planner_load load = {.requests_per_s = 18,
                            .prompt_tokens = 100,
                            .output_tokens = 64,
                            .itl_us = 40000,
                            .kv_capacity_tokens = 400000,
                            .requests_max = 16};
  CHECK_EQ_DOUBLE(blis_planner_token_us(&model, &load), 2500);
  CHECK_EQ_I64(blis_planner_decode(&model, &load), 3);
  load.accept_length = 64.0 / 22;
  load.itl_us = 13750;
  CHECK_EQ_DOUBLE(round(16 * blis_planner_token_us(&model, &load)), 13750);
  CHECK_EQ_I64(blis_planner_decode(&model, &load), 1);
  load.requests_per_s = 18.25;
  CHECK_EQ_I64(blis_planner_decode(&model, &load), 2);
  /* A promise that a batch cannot keep leaves one request at a time. */
  load.itl_us = 13700;
  CHECK_EQ_DOUBLE(round(blis_planner_token_us(&model, &load)), 13750);
}

/* Policies as the cluster asks them */

typedef struct asked {
  blis_autoscaler policy;
  blis_scale_instance instances[64];
  blis_scale_pool pools[2];
  blis_scale_context context;
} asked;

/* One request a second for 100 s, and ten a second for 10 s from 50 s on. */
static const blis_scale_future *a_surge(void) {
  static blis_scale_arrival arrivals[200];
  static blis_scale_future future = {.arrivals = arrivals};
  future.count = 0;
  for (int64_t s = 0; s < 100; s++) {
    for (int64_t k = 0; k < (s >= 50 && s < 60 ? 10 : 1); k++) {
      arrivals[future.count++] =
          (blis_scale_arrival){.time_us = s * 1000000 + k * 100000,
                               .prompt_tokens = 100,
                               .output_tokens = 100};
    }
  }
  return &future;
}

static void make(asked *a, const char *name, const blis_param *items,
                 size_t count) {
  const blis_params params = {items, count};
  const blis_policy_context context = {.instance_count = 1};
  blis_error error;
  CHECK_OK(blis_autoscaler_create(heap(), name, &params, &context, &a->policy,
                                  &error),
           &error);
  a->context = (blis_scale_context){.min = 1,
                                    .max = 100,
                                    .since_last_scale_us = BLIS_TIME_NEVER_US,
                                    .collected = a->policy.needs,
                                    .future = a_surge(),
                                    .instances = a->instances};
}

/* With that many replicas, all of them ready and alike. */
static void show(asked *a, uint32_t replicas, blis_scale_instance like) {
  a->context.replicas = a->context.ready = replicas;
  a->context.instance_count = replicas;
  for (uint32_t i = 0; i < replicas; i++) {
    a->instances[i] = like;
    a->instances[i].id = i;
  }
}

static int64_t target_of(asked *a) {
  blis_scale_decision decision;
  int64_t proposed;
  blis_error error;
  CHECK_OK(blis_autoscaler_decide(&a->policy, &a->context, &decision, &proposed,
                                  &error),
           &error);
  CHECK(decision.reason != NULL);
  CHECK(decision.target >= a->context.min && decision.target <= a->context.max);
  return decision.target;
}

static void test_templates(void) {
  asked a;
  make(&a, "threshold", NULL, 0);
  show(&a, 4, (blis_scale_instance){.kv_utilization = 0.85});
  a.context.since_last_scale_us = 70000000;
  CHECK_EQ_I64(target_of(&a), 5);
  a.context.since_last_scale_us = 30000000;
  CHECK_EQ_I64(target_of(&a), 4);
  a.context.since_last_scale_us = 60000000;
  show(&a, 4, (blis_scale_instance){.kv_utilization = 0.3});
  CHECK_EQ_I64(target_of(&a), 3);
  show(&a, 1, (blis_scale_instance){.kv_utilization = 0.3});
  CHECK_EQ_I64(target_of(&a), 1); // the minimum
  blis_autoscaler_free(&a.policy);

  make(&a, "target-utilization", NULL, 0);
  show(&a, 4, (blis_scale_instance){.kv_utilization = 0.9});
  CHECK_EQ_I64(target_of(&a), 6);
  show(&a, 4, (blis_scale_instance){.kv_utilization = 0.65});
  CHECK_EQ_I64(target_of(&a), 4);
  blis_autoscaler_free(&a.policy);

  make(&a, "queue-depth", NULL, 0);
  show(&a, 4, (blis_scale_instance){.queue_depth = 11});
  CHECK_EQ_I64(target_of(&a), 5);
  show(&a, 4, (blis_scale_instance){.queue_depth = 10});
  CHECK_EQ_I64(target_of(&a), 4);
  show(&a, 4, (blis_scale_instance){.queue_depth = 0.5});
  CHECK_EQ_I64(target_of(&a), 3);
  blis_autoscaler_free(&a.policy);
}

static void test_thresholds_the_wrong_way_round(void) {
  const blis_param given[] = {{.name = "scale_down_threshold", .number = 0.9}};
  const blis_params params = {given, 1};
  const blis_policy_context context = {.instance_count = 1};
  blis_autoscaler policy;
  blis_error error;
  CHECK(blis_autoscaler_create(heap(), "threshold", &params, &context, &policy,
                               &error) == BLIS_ERR_INVALID);
  CHECK_STR(error.message,
            "autoscaler threshold: 0.9 to scale down is not below 0.8 to "
            "scale up");
}

/* To zero at 420 s: 390 is not past the cooldown yet; back at a poll. */
static void test_keda_to_zero(void) {
  const blis_param given[] = {
      {.name = "metrics", .key = "requests_running", .number = 16}};
  asked a;
  make(&a, "keda", given, 1);
  a.context.min = 0;
  show(&a, 1, (blis_scale_instance){0});
  for (int64_t t = 0; t <= 450; t += 15) {
    a.context.now_us = t * 1000000;
    a.context.metrics[BLIS_SCALE_REQUESTS_RUNNING] = t <= 90 || t > 430;
    int64_t replicas = target_of(&a);
    CHECK_EQ_I64(replicas, t < 420 || t >= 450);
    show(&a, (uint32_t)replicas, (blis_scale_instance){0});
  }
  blis_autoscaler_free(&a.policy);
}

static void test_keda_needs_metrics(void) {
  const blis_policy_context context = {.instance_count = 1};
  blis_autoscaler policy;
  blis_error error;
  CHECK(blis_autoscaler_create(heap(), "keda", NULL, &context, &policy,
                               &error) == BLIS_ERR_INVALID);
  const blis_param given[] = {
      {.name = "metrics", .key = "request_running", .number = 16}};
  const blis_params params = {given, 1};
  CHECK(blis_autoscaler_create(heap(), "keda", &params, &context, &policy,
                               &error) == BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "did you mean 'requests_running'?") != NULL);
}

/* The recipe's first look at so much, from so many of which some start. */
static int64_t first_target(const char *name, uint32_t replicas,
                            uint32_t pending, double queue, double running,
                            double saturation) {
  asked a;
  make(&a, name, NULL, 0);
  a.context.max = 8;
  show(&a, replicas, (blis_scale_instance){0});
  a.context.ready -= pending;
  a.context.metrics[BLIS_SCALE_GATEWAY_QUEUE_SIZE] = queue;
  a.context.metrics[BLIS_SCALE_REQUESTS_RUNNING] = running;
  a.context.metrics[BLIS_SCALE_POOL_SATURATION] = saturation;
  int64_t target = target_of(&a);
  blis_autoscaler_free(&a.policy);
  return target;
}

/* The table of the guard variant, by the plain recipe and by the guard. */
static void test_llmd_recipes(void) {
  static const struct {
    double queue;
    double running;
    uint32_t pending;
    uint32_t replicas;
    int64_t plain;
    int64_t guarded;
  } rows[] = {{0, 12, 0, 1, 1, 1}, {3, 32, 0, 2, 3, 3}, {3, 32, 1, 3, 3, 3},
              {8, 64, 2, 4, 8, 6}, {8, 64, 6, 8, 8, 8}, {0, 200, 0, 8, 8, 8}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_EQ_I64(first_target("llm-d.queue", rows[i].replicas, rows[i].pending,
                              rows[i].queue, rows[i].running, 0),
                 rows[i].plain);
    CHECK_EQ_I64(first_target("llm-d.guard", rows[i].replicas, rows[i].pending,
                              rows[i].queue, rows[i].running, 0),
                 rows[i].guarded);
  }
}

/* A ratio that is divided by the replicas never asks for more than itself. */
static void test_llmd_saturation(void) {
  CHECK_EQ_I64(first_target("llm-d.saturation", 1, 0, 0, 0, 1.4), 2);
  CHECK_EQ_I64(first_target("llm-d.saturation", 2, 0, 0, 0, 1.4), 2);
  for (uint32_t replicas = 2; replicas <= 8; replicas++) {
    CHECK(first_target("llm-d.saturation", replicas, 0, 0, 0, 1.0) <=
          (int64_t)replicas);
  }
}

/* Steady loads at 2,696 tokens/s: seconds of prefill that wait, target 1.5. */
static void test_llmd_tokens(void) {
  static const struct {
    double backlog_s;
    uint32_t replicas;
    int64_t wanted;
  } rows[] = {{0.46, 1, 1}, {0.91, 1, 1}, {1.52, 2, 2}, {4.25, 2, 3},
              {4.25, 3, 3}, {1.52, 1, 1} /* within the tolerance of 10 % */};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const blis_param given[] = {
        {.name = "prefill_tokens_per_second", .number = 2696}};
    asked a;
    make(&a, "llm-d.token-aware", given, 1);
    a.context.max = 4;
    a.context.role = BLIS_SCALE_PREFILL;
    show(&a, rows[i].replicas, (blis_scale_instance){0});
    a.context.metrics[BLIS_SCALE_INFLIGHT_TOKENS] = rows[i].backlog_s * 2696;
    a.context.metrics[BLIS_SCALE_KV_UTILIZATION] = 100; // of the other pool
    CHECK_EQ_I64(target_of(&a), rows[i].wanted);
    blis_autoscaler_free(&a.policy);
  }
}

static void test_ray_serve(void) {
  static const struct {
    uint32_t replicas;
    double total;
    const char *factor;
    double value;
    int64_t wanted;
  } rows[] = {{4, 20, "upscaling_factor", 1, 10},
              {4, 20, "upscaling_factor", 0.5, 7},
              {4, 3, "downscaling_factor", 0.2, 3},
              {10, 19, "downscaling_factor", 0.5, 10}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const blis_param given[] = {
        {.name = rows[i].factor, .number = rows[i].value},
        {.name = "upscale_delay_seconds", .number = 0},
        {.name = "downscale_delay_seconds", .number = 0}};
    asked a;
    make(&a, "ray-serve", given, 3);
    show(&a, rows[i].replicas, (blis_scale_instance){0});
    a.context.metrics[BLIS_SCALE_REQUESTS_RUNNING] = rows[i].total;
    CHECK_EQ_I64(target_of(&a), rows[i].wanted);
    blis_autoscaler_free(&a.policy);
  }
  // More than 30 s / 0.1 s decisions in a row; another one begins anew.
  asked a;
  make(&a, "ray-serve", NULL, 0);
  show(&a, 4, (blis_scale_instance){0});
  for (int i = 0; i < 601; i++) {
    a.context.metrics[BLIS_SCALE_REQUESTS_RUNNING] = i == 300 ? 8 : 20;
    CHECK_EQ_I64(target_of(&a), 4);
  }
  CHECK_EQ_I64(target_of(&a), 10);
  blis_autoscaler_free(&a.policy);
}

static void test_planner_rules(void) {
  asked a;
  make(&a, "dynamo.planner", NULL, 0);
  const blis_scale_instance calm = {.kv_capacity_tokens = 1000,
                                    .context_length_tokens = 1000,
                                    .running_kv_tokens = 500};
  show(&a, 3, calm);
  CHECK_EQ_I64(target_of(&a), 2);
  a.instances[1].queued_kv_tokens = 501; // over what it can hold
  CHECK_EQ_I64(target_of(&a), 4);
  a.context.ready = 2; // one is on its way
  CHECK_EQ_I64(target_of(&a), 3);
  a.context.role = BLIS_SCALE_PREFILL;
  show(&a, 3, calm);
  a.instances[2].queued_prefill_tokens = 1000;
  CHECK_EQ_I64(target_of(&a), 4);
  a.instances[2].queued_prefill_tokens = 100;
  CHECK_EQ_I64(target_of(&a), 3);
  blis_autoscaler_free(&a.policy);

  // A predicted load, replanned every 180 s.
  const blis_param given[] = {{.name = "optimization_target", .text = "sla"}};
  const blis_scale_model model = {.step_us = linear_step_us};
  make(&a, "dynamo.planner", given, 1);
  a.context.model = &model;
  a.context.metrics[BLIS_SCALE_REQUEST_RATE] = 100;
  a.context.metrics[BLIS_SCALE_PROMPT_TOKENS_MEAN] = 1900;
  a.context.metrics[BLIS_SCALE_OUTPUT_TOKENS_MEAN] = 200;
  show(&a, 3, (blis_scale_instance){.kv_capacity_tokens = 400000});
  CHECK_EQ_I64(target_of(&a), 10);
  blis_autoscaler_free(&a.policy);
}

/* What both want of a budget, while the other has what it has. */
static int64_t planner_with(blis_scale_role role, int64_t max_gpus,
                            uint32_t replicas, uint32_t others, int64_t wish) {
  const blis_param given[] = {{.name = "max_gpus", .number = (double)max_gpus}};
  const blis_scale_instance busy = {.kv_capacity_tokens = 1000,
                                    .context_length_tokens = 1000,
                                    .queued_prefill_tokens = 1000,
                                    .running_kv_tokens = 1001};
  asked a;
  make(&a, "dynamo.planner", given, 1);
  a.pools[0] = (blis_scale_pool){.replicas = replicas, .min = 1, .gpus = 2};
  a.pools[1] =
      (blis_scale_pool){.replicas = others, .wish = wish, .min = 1, .gpus = 1};
  a.context.role = role;
  a.context.own = &a.pools[0];
  a.context.other = role == BLIS_SCALE_BOTH ? NULL : &a.pools[1];
  show(&a, replicas, busy);
  int64_t target = target_of(&a);
  blis_autoscaler_free(&a.policy);
  return target;
}

static void test_planner_gpus(void) {
  /* One more is wanted, of 2 GPUs; the others have one each. */
  CHECK_EQ_I64(planner_with(BLIS_SCALE_PREFILL, 10, 2, 4, 4), 3);
  CHECK_EQ_I64(planner_with(BLIS_SCALE_PREFILL, 9, 2, 4, 4), 2);
  CHECK_EQ_I64(planner_with(BLIS_SCALE_PREFILL, 0, 2, 4, 4), 3); /* any */
  /* The others want more than they have: 3 of 6 and 8 of 8 on 9 GPUs are
     floor(3 x 9 / 14) = 1 and 7. */
  CHECK_EQ_I64(planner_with(BLIS_SCALE_PREFILL, 9, 2, 1, 8), 1);
  /* They have taken what there is. */
  CHECK_EQ_I64(planner_with(BLIS_SCALE_PREFILL, 9, 2, 5, 1), 2);
  /* Decode has what prefill leaves: (9 - 3) / 2. */
  CHECK_EQ_I64(planner_with(BLIS_SCALE_DECODE, 9, 3, 4, 4), 3);
  CHECK_EQ_I64(planner_with(BLIS_SCALE_DECODE, 9, 2, 3, 3), 3);
  CHECK_EQ_I64(planner_with(BLIS_SCALE_DECODE, 7, 2, 3, 3), 2);
  /* Prefill wants 8 of 9 in all: it gets 5, and 2 of 2 GPUs are left. */
  CHECK_EQ_I64(planner_with(BLIS_SCALE_DECODE, 9, 2, 1, 8), 2);
  /* The others want none, and keep one. */
  CHECK_EQ_I64(planner_with(BLIS_SCALE_PREFILL, 10, 19, 0, 0), 4);
  /* Not even one each. */
  CHECK_EQ_I64(planner_with(BLIS_SCALE_DECODE, 2, 2, 3, 3), 1);
  CHECK_EQ_I64(planner_with(BLIS_SCALE_BOTH, 9, 4, 0, 0), 4);
  CHECK_EQ_I64(planner_with(BLIS_SCALE_BOTH, 10, 4, 0, 0), 5);
  CHECK_EQ_I64(planner_with(BLIS_SCALE_BOTH, 9, 6, 0, 0), 4);
}

static void test_wva(void) {
  asked a;
  make(&a, "llm-d.wva", NULL, 0);
  show(&a, 2, (blis_scale_instance){.kv_utilization = 0.65});
  a.instances[1].kv_utilization = 0.72;
  CHECK_EQ_I64(target_of(&a), 2);
  a.instances[1].kv_utilization = 0.76;
  CHECK_EQ_I64(target_of(&a), 3);
  show(&a, 2, (blis_scale_instance){.kv_utilization = 0.3});
  CHECK_EQ_I64(target_of(&a), 1);
  blis_autoscaler_free(&a.policy);
}

/* Bounds hold whatever a pool looks like (target_of checks), and equal looks
   give equal decisions. */
static blis_scale_instance random_instance(blis_random *random) {
  double capacity = 1 + blis_random_float64(random) * 1e6;
  return (blis_scale_instance){
      .kv_utilization = blis_random_float64(random),
      .queue_depth = blis_random_intn(random, 50),
      .batch_size = blis_random_intn(random, 256),
      .queued_prefill_tokens = blis_random_float64(random) * 1e5,
      .running_kv_tokens = blis_random_float64(random) * capacity,
      .queued_kv_tokens = blis_random_float64(random) * capacity,
      .kv_capacity_tokens = capacity,
      .context_length_tokens = 40960};
}

static blis_scale_pool random_pool(blis_random *random,
                                   const blis_scale_context *context) {
  return (blis_scale_pool){
      .replicas = context->replicas,
      .wish = blis_random_intn(random, 100),
      .min = context->min,
      .max = context->max,
      .gpus = blis_random_intn(random, 9),
      .prefill_watts = blis_random_intn(random, 1000) - 1,
      .decode_watts = blis_random_intn(random, 1000) - 1,
      .model = blis_random_intn(random, 8) == 0 ? NULL : context->model};
}

static void look_at_random(asked *a, blis_random *random, int64_t now_us) {
  static const blis_scale_model model = {.step_us = linear_step_us};
  blis_scale_context *c = &a->context;
  c->now_us = now_us;
  c->role = (blis_scale_role)blis_random_intn(random, 3);
  if (blis_random_intn(random, 4) == 0) { // somebody else's doing
    c->replicas = (uint32_t)blis_random_intn(random, 5);
  }
  c->ready = blis_random_intn(random, 2) == 0
                 ? c->replicas
                 : (uint32_t)blis_random_intn(random, (int32_t)c->replicas + 1);
  c->instance_count = c->ready;
  c->model = &model;
  a->pools[0] = random_pool(random, c);
  a->pools[1] = random_pool(random, c);
  c->own = &a->pools[0];
  c->other = c->role == BLIS_SCALE_BOTH ? NULL : &a->pools[1];
  for (uint32_t i = 0; i < c->ready; i++) {
    a->instances[i] = random_instance(random);
  }
  for (int m = 0; m < BLIS_SCALE_METRIC_COUNT; m++) {
    c->metrics[m] = blis_random_intn(random, 3) == 0
                        ? 0
                        : blis_random_float64(random) * 1000;
  }
}

static void compare_twins(const char *name, const blis_param *items,
                          size_t count) {
  asked twins[2];
  blis_random streams[2];
  for (int t = 0; t < 2; t++) {
    make(&twins[t], name, items, count);
    twins[t].context.min = 0;
    twins[t].context.max = 64;
    twins[t].context.replicas = 3;
    blis_random_init(&streams[t], 7);
  }
  for (int i = 0; i < 3000; i++) {
    int64_t now_us = i * twins[0].policy.interval_us;
    look_at_random(&twins[0], &streams[0], now_us);
    look_at_random(&twins[1], &streams[1], now_us);
    int64_t target = target_of(&twins[0]);
    CHECK_EQ_I64(target, target_of(&twins[1]));
    twins[0].context.replicas = twins[1].context.replicas = (uint32_t)target;
  }
  blis_autoscaler_free(&twins[0].policy);
  blis_autoscaler_free(&twins[1].policy);
}

static void test_random_looks(void) {
  const blis_param metrics = {
      .name = "metrics", .key = "requests_running", .number = 16};
  size_t count = blis_policy_count(BLIS_POLICY_AUTOSCALER);
  CHECK(count >= 14);
  for (size_t p = 0; p < count; p++) {
    const char *name = blis_policy_at(BLIS_POLICY_AUTOSCALER, p)->name;
    compare_twins(name, &metrics, strcmp(name, "keda") == 0);
  }
  const blis_param promised[] = {{.name = "optimization_target", .text = "sla"},
                                 {.name = "load_scaling", .number = 1}};
  compare_twins("dynamo.planner", promised, 2);
  const blis_param budget[] = {{.name = "max_gpus", .number = 40}};
  compare_twins("dynamo.planner", budget, 1);
  const blis_param power[] = {{.name = "budget_watts", .number = 20000},
                              {.name = "prefill_watts", .number = 700},
                              {.name = "decode_watts", .number = 250},
                              {.name = "misses", .number = 1},
                              {.name = "plan_gap_seconds", .number = 0},
                              {.name = "itl_ms", .number = 1000},
                              {.name = "ttft_ms", .number = 1e6}};
  compare_twins("dynamo.power", power, 7);
}

/* An oracle */

static int64_t ask_oracle(asked *a, int64_t now_s, uint32_t replicas,
                          double waiting) {
  show(a, replicas, (blis_scale_instance){0});
  a->context.now_us = now_s * 1000000;
  a->context.startup_us = 20e6;
  a->context.metrics[BLIS_SCALE_QUEUE_DEPTH] = waiting;
  return target_of(a);
}

static void test_oracle(void) {
  /* An instance does 2 requests/s: 1 for the base, 5 for ten a second. */
  const blis_param items[] = {{.name = "requests_per_second", .number = 2},
                              {.name = "utilization", .number = 1},
                              {.name = "slice_seconds", .number = 2}};
  asked a;
  make(&a, "oracle", items, 3);
  CHECK_EQ_I64(ask_oracle(&a, 10, 1, 0), 1);
  CHECK_EQ_I64(ask_oracle(&a, 20, 1, 0), 1); /* up to 45 s */
  CHECK_EQ_I64(ask_oracle(&a, 30, 1, 0), 5); /* ready at 50 s */
  CHECK_EQ_I64(ask_oracle(&a, 35, 5, 0), 5);
  CHECK_EQ_I64(ask_oracle(&a, 45, 5, 0), 5); /* still to come */
  CHECK_EQ_I64(ask_oracle(&a, 64, 5, 0), 1);
  CHECK_EQ_I64(ask_oracle(&a, 64, 5, 3), 5); /* some wait */
  CHECK_EQ_I64(ask_oracle(&a, 45, 2, 0), 2); /* too late for the surge */
  a.context.min = 0;
  CHECK_EQ_I64(ask_oracle(&a, 200, 1, 0), 0);
  blis_autoscaler_free(&a.policy);
  make(&a, "oracle", NULL, 0);
  a.context.model = NULL;
  blis_scale_decision decision;
  int64_t proposed;
  blis_error error;
  CHECK_EQ_I64(blis_autoscaler_decide(&a.policy, &a.context, &decision,
                                      &proposed, &error),
               BLIS_ERR_POLICY);
  CHECK_CONTAINS(error.message, "requests_per_second");
  blis_autoscaler_free(&a.policy);
}

/* The pipeline of BLIS (Go) */

/* Two looks a second over instances of 1000 tokens, of two prices. */
typedef struct fleet {
  blis_autoscaler policy;
  blis_scale_instance instances[4];
  blis_scale_context context;
} fleet;

static fleet fleet_of(const blis_params *params) {
  fleet f = {.context = {.max = 100}};
  blis_error error;
  const blis_policy_context context = {.instance_count = 4};
  CHECK_OK(blis_autoscaler_create(heap(), "saturation-pipeline", params,
                                  &context, &f.policy, &error),
           &error);
  for (uint32_t i = 0; i < 4; i++) {
    f.instances[i] = (blis_scale_instance){.id = i,
                                           .kv_capacity_tokens = 1000,
                                           .gpu = i < 2 ? "H100" : "L40S",
                                           .tp = 1,
                                           .cost_per_hour = i < 2 ? 4 : 1};
  }
  return f;
}

/* The target less what there is; *like is who comes or goes. */
static int64_t ask_fleet(fleet *f, size_t count, double kv_tokens,
                         double starting, int64_t *like) {
  for (size_t i = 0; i < count; i++) {
    f->instances[i].running_kv_tokens = kv_tokens;
  }
  f->context.now_us += 500000;
  f->context.instances = f->instances;
  f->context.instance_count = count;
  f->context.replicas = (uint32_t)count;
  f->context.starting_kv_tokens = starting;
  blis_scale_decision decision;
  int64_t proposed;
  blis_error error;
  CHECK_OK(blis_autoscaler_decide(&f->policy, &f->context, &decision, &proposed,
                                  &error),
           &error);
  *like = decision.like;
  return proposed - (int64_t)count;
}

static void test_pipeline(void) {
  fleet f = fleet_of(NULL);
  int64_t like;
  /* Supply 4 x 800, demand 4 x 900 / 0.8 = 4500: 1300 are missing. */
  CHECK_EQ_I64(ask_fleet(&f, 4, 900, 0, &like), 2);
  CHECK_EQ_I64(like, 2); /* the cheaper kind */
  CHECK_EQ_I64(ask_fleet(&f, 4, 900, 1000, &like), 1);
  CHECK_EQ_I64(ask_fleet(&f, 4, 900, 2000, &like), 0);
  /* Demand 400 / 0.4 = 1000 of 3200: 2200 are spare, two go. */
  CHECK_EQ_I64(ask_fleet(&f, 4, 100, 0, &like), -2);
  CHECK_EQ_I64(like, 0);                           /* the dearer kind */
  CHECK_EQ_I64(ask_fleet(&f, 2, 0, 0, &like), -1); /* one stays */
  CHECK_EQ_I64(ask_fleet(&f, 1, 0, 0, &like), 0);
  CHECK_EQ_I64(ask_fleet(&f, 0, 0, 0, &like), 0);
  f.instances[0].kv_capacity_tokens = 0; /* it has not been read yet */
  CHECK_EQ_I64(ask_fleet(&f, 1, 900, 0, &like), 0);
  blis_autoscaler_free(&f.policy);
}

static void test_pipeline_windows(void) {
  const blis_param items[] = {
      {.name = "scale_up_stabilization_seconds", .number = 1}};
  const blis_params params = {items, 1};
  fleet f = fleet_of(&params);
  int64_t like;
  CHECK_EQ_I64(ask_fleet(&f, 1, 900, 0, &like), 0); /* from 0.5 s on */
  CHECK_EQ_I64(ask_fleet(&f, 1, 900, 0, &like), 0);
  CHECK_EQ_I64(ask_fleet(&f, 1, 900, 0, &like), 1); /* for 1 s */
  CHECK_EQ_I64(ask_fleet(&f, 1, 900, 0, &like), 0); /* anew */
  CHECK_EQ_I64(ask_fleet(&f, 1, 100, 0, &like), 0); /* a pause */
  CHECK_EQ_I64(ask_fleet(&f, 1, 900, 0, &like), 0);
  CHECK_EQ_I64(ask_fleet(&f, 1, 900, 0, &like), 0);
  CHECK_EQ_I64(ask_fleet(&f, 1, 900, 0, &like), 1);
  blis_autoscaler_free(&f.policy);
}

int main(void) {
  RUN(test_hpa_pods);
  RUN(test_hpa_up);
  RUN(test_hpa_down_window);
  RUN(test_hpa_limits);
  RUN(test_hpa_up_window);
  RUN(test_hpa_both_windows);
  RUN(test_hpa_bounds);
  RUN(test_llmd_guard);
  RUN(test_llmd_slo);
  RUN(test_knative);
  RUN(test_planner_budget);
  RUN(test_kalman);
  RUN(test_planner_load);
  RUN(test_planner_with_drafts);
  RUN(test_templates);
  RUN(test_thresholds_the_wrong_way_round);
  RUN(test_keda_to_zero);
  RUN(test_keda_needs_metrics);
  RUN(test_llmd_recipes);
  RUN(test_llmd_saturation);
  RUN(test_llmd_tokens);
  RUN(test_ray_serve);
  RUN(test_planner_rules);
  RUN(test_planner_gpus);
  RUN(test_wva);
  RUN(test_oracle);
  RUN(test_pipeline);
  RUN(test_pipeline_windows);
  RUN(test_random_looks);
  return check_done();
}
