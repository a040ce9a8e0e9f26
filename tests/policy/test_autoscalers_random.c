/* Whatever autoscalers the registry has, with looks at pools made at random. */
#include "autoscaler_fixture.h"
#include "base/random.h"

/* Bounds hold whatever a pool looks like (target_of checks), and equal looks
   give equal decisions. */
static blis_scale_instance random_instance(blis_random *random) {
  double capacity = 1 + blis_random_float64(random) * 1e6;
  return (blis_scale_instance){.kv_utilization = blis_random_float64(random),
                               .queue_depth = blis_random_intn(random, 50),
                               .batch_size = blis_random_intn(random, 256),
                               .queued_prefill_tokens = blis_random_float64(random) * 1e5,
                               .running_kv_tokens = blis_random_float64(random) * capacity,
                               .queued_kv_tokens = blis_random_float64(random) * capacity,
                               .kv_capacity_tokens = capacity,
                               .context_length_tokens = 40960};
}

static blis_scale_pool random_pool(blis_random *random, const blis_scale_context *context) {
  return (blis_scale_pool){.replicas = context->replicas,
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
    c->metrics[m] = blis_random_intn(random, 3) == 0 ? 0 : blis_random_float64(random) * 1000;
  }
}

static void compare_twins(const char *name, const blis_param *items, size_t count) {
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
  const blis_param metrics = {.name = "metrics", .key = "requests_running", .number = 16};
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
  const blis_param power[] = {
      {.name = "budget_watts", .number = 20000}, {.name = "prefill_watts", .number = 700},
      {.name = "decode_watts", .number = 250},   {.name = "misses", .number = 1},
      {.name = "plan_gap_seconds", .number = 0}, {.name = "itl_ms", .number = 1000},
      {.name = "ttft_ms", .number = 1e6}};
  compare_twins("dynamo.power", power, 7);
}

int main(void) {
  RUN(test_random_looks);
  return check_done();
}
