/* Autoscalers: the worked sequences and tables of their sources. */
#include "autoscaler_fixture.h"
#include "policy/autoscale/knative.h"
#include "policy/autoscale/llmd_demand.h"

/* llm-d */

static void test_llmd_guard(void) {
  static const double rows[][5] = {{0, 12, 0, 1, 0.75}, {3, 32, 0, 2, 3}, {3, 32, 1, 3, 3},
                                   {8, 64, 2, 4, 6},    {8, 64, 6, 8, 8}, {0, 200, 0, 8, 12.5}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double demand = fmax(rows[i][0], rows[i][1] / 16);
    CHECK_EQ_DOUBLE(blis_llmd_guarded_demand(demand, rows[i][3], rows[i][3] - rows[i][2]),
                    rows[i][4]);
  }
}

static void test_llmd_slo(void) {
  static const double rows[][4] = {
      {0.50, 4, 4, 4}, {0.80, 4, 4, 6}, {2.00, 4, 4, 15}, {2.00, 8, 4, 15}, {1.10, 2, 2, 4},
      {0.80, 6, 4, 6}, {0.20, 4, 4, 2}, {0.35, 4, 4, 4},  {0.00, 4, 4, 0},  {0.90, 10, 5, 9}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_EQ_DOUBLE(blis_llmd_slo_demand(rows[i][0], rows[i][1], rows[i][2]), rows[i][3]);
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
    blis_knative_scale scale =
        blis_knative_step(&rules, &panic, 0, rows[i].stable, rows[i].panic, rows[i].ready);
    CHECK_EQ_I64(scale.target, rows[i].wanted);
    CHECK(scale.is_panic == rows[i].is_panic);
  }
  // In a panic it never goes down; it ends one stable window after its cause.
  blis_knative_panic panic = {0};
  CHECK_EQ_I64(blis_knative_step(&rules, &panic, 0, 30, 90, 4).target, 9);
  CHECK_EQ_I64(blis_knative_step(&rules, &panic, 59000000, 10, 10, 9).target, 9);
  CHECK_EQ_I64(blis_knative_step(&rules, &panic, 60000000, 10, 10, 9).target, 4);
}

/* Policies as the cluster asks them */

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
  CHECK(blis_autoscaler_create(heap(), "threshold", &params, &context, &policy, &error) ==
        BLIS_ERR_INVALID);
  CHECK_STR(error.message, "autoscaler threshold: 0.9 to scale down is not below 0.8 to "
                           "scale up");
}

/* To zero at 420 s: 390 is not past the cooldown yet; back at a poll. */
static void test_keda_to_zero(void) {
  const blis_param given[] = {{.name = "metrics", .key = "requests_running", .number = 16}};
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

/* Activity at time 0 is activity: the cooldown counts from there, not the initial one. */
static void test_keda_active_at_the_start(void) {
  const blis_param given[] = {{.name = "metrics", .key = "requests_running", .number = 16},
                              {.name = "cooldown_seconds", .number = 100},
                              {.name = "initial_cooldown_seconds", .number = 1000}};
  for (int was_active = 0; was_active <= 1; was_active++) {
    asked a;
    make(&a, "keda", given, 3);
    a.context.min = 0;
    show(&a, 1, (blis_scale_instance){0});
    a.context.now_us = 0;
    a.context.metrics[BLIS_SCALE_REQUESTS_RUNNING] = was_active;
    CHECK_EQ_I64(target_of(&a), 1);
    a.context.metrics[BLIS_SCALE_REQUESTS_RUNNING] = 0;
    a.context.now_us = 500000000;
    CHECK_EQ_I64(target_of(&a), was_active ? 0 : 1);
    blis_autoscaler_free(&a.policy);
  }
}

static void test_keda_needs_metrics(void) {
  const blis_policy_context context = {.instance_count = 1};
  blis_autoscaler policy;
  blis_error error;
  CHECK(blis_autoscaler_create(heap(), "keda", NULL, &context, &policy, &error) ==
        BLIS_ERR_INVALID);
  const blis_param given[] = {{.name = "metrics", .key = "request_running", .number = 16}};
  const blis_params params = {given, 1};
  CHECK(blis_autoscaler_create(heap(), "keda", &params, &context, &policy, &error) ==
        BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "did you mean 'requests_running'?") != NULL);
}

/* The recipe's first look at so much, from so many of which some start. */
static int64_t first_target(const char *name, uint32_t replicas, uint32_t pending, double queue,
                            double running, double saturation) {
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
    CHECK_EQ_I64(first_target("llm-d.queue", rows[i].replicas, rows[i].pending, rows[i].queue,
                              rows[i].running, 0),
                 rows[i].plain);
    CHECK_EQ_I64(first_target("llm-d.guard", rows[i].replicas, rows[i].pending, rows[i].queue,
                              rows[i].running, 0),
                 rows[i].guarded);
  }
}

/* A ratio that is divided by the replicas never asks for more than itself. */
static void test_llmd_saturation(void) {
  CHECK_EQ_I64(first_target("llm-d.saturation", 1, 0, 0, 0, 1.4), 2);
  CHECK_EQ_I64(first_target("llm-d.saturation", 2, 0, 0, 0, 1.4), 2);
  for (uint32_t replicas = 2; replicas <= 8; replicas++) {
    CHECK(first_target("llm-d.saturation", replicas, 0, 0, 0, 1.0) <= (int64_t)replicas);
  }
}

/* Steady loads at 2,696 tokens/s: seconds of prefill that wait, target 1.5. */
static void test_llmd_tokens(void) {
  static const struct {
    double backlog_s;
    uint32_t replicas;
    int64_t wanted;
  } rows[] = {{0.46, 1, 1}, {0.91, 1, 1}, {1.52, 2, 2},
              {4.25, 2, 3}, {4.25, 3, 3}, {1.52, 1, 1} /* within the tolerance of 10 % */};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const blis_param given[] = {{.name = "prefill_tokens_per_second", .number = 2696}};
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
    const blis_param given[] = {{.name = rows[i].factor, .number = rows[i].value},
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

/* A decision in the other direction begins a new row, in both directions. */
static void test_ray_serve_turns(void) {
  const blis_param given[] = {{.name = "upscale_delay_seconds", .number = 0.5},
                              {.name = "downscale_delay_seconds", .number = 0.5}};
  for (int is_up = 0; is_up <= 1; is_up++) {
    asked a;
    make(&a, "ray-serve", given, 2);
    show(&a, 4, (blis_scale_instance){0});
    for (int i = 0; i < 5; i++) {
      a.context.metrics[BLIS_SCALE_REQUESTS_RUNNING] = is_up ? 2 : 20;
      CHECK_EQ_I64(target_of(&a), 4);
    }
    for (int i = 0; i < 5; i++) {
      a.context.metrics[BLIS_SCALE_REQUESTS_RUNNING] = is_up ? 20 : 2;
      CHECK_EQ_I64(target_of(&a), 4);
    }
    CHECK_EQ_I64(target_of(&a), is_up ? 10 : 1);
    blis_autoscaler_free(&a.policy);
  }
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

/* An oracle */

static int64_t ask_oracle(asked *a, int64_t now_s, uint32_t replicas, double waiting) {
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
  CHECK_EQ_I64(blis_autoscaler_decide(&a.policy, &a.context, &decision, &proposed, &error),
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
  CHECK_OK(
      blis_autoscaler_create(heap(), "saturation-pipeline", params, &context, &f.policy, &error),
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
static int64_t ask_fleet(fleet *f, size_t count, double kv_tokens, double starting, int64_t *like) {
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
  CHECK_OK(blis_autoscaler_decide(&f->policy, &f->context, &decision, &proposed, &error), &error);
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
  const blis_param items[] = {{.name = "scale_up_stabilization_seconds", .number = 1}};
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
  RUN(test_llmd_guard);
  RUN(test_llmd_slo);
  RUN(test_knative);
  RUN(test_templates);
  RUN(test_thresholds_the_wrong_way_round);
  RUN(test_keda_to_zero);
  RUN(test_keda_active_at_the_start);
  RUN(test_keda_needs_metrics);
  RUN(test_llmd_recipes);
  RUN(test_llmd_saturation);
  RUN(test_llmd_tokens);
  RUN(test_ray_serve);
  RUN(test_ray_serve_turns);
  RUN(test_wva);
  RUN(test_oracle);
  RUN(test_pipeline);
  RUN(test_pipeline_windows);
  return check_done();
}
