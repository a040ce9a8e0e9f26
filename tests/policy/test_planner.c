/* Dynamo's planner: its formulas, and the policy that follows them. */
#include "autoscaler_fixture.h"
#include "policy/autoscale/forecast.h"
#include "policy/autoscale/planner.h"

static void test_planner_budget(void) {
  static const int64_t rows[][6] = {{6, 6, 1, 1, 4, 4}, {3, 4, 2, 1, 2, 4}, {10, 1, 1, 4, 4, 1}};
  for (size_t i = 0; i < 3; i++) {
    blis_planner_pools shared = blis_planner_share_budget(
        (blis_planner_pools){rows[i][0], rows[i][1]}, (blis_planner_pools){rows[i][2], rows[i][3]},
        (blis_planner_pools){1, 1}, 8);
    CHECK_EQ_I64(shared.prefill, rows[i][4]);
    CHECK_EQ_I64(shared.decode, rows[i][5]);
  }
  blis_planner_pools none = blis_planner_share_budget(
      (blis_planner_pools){2, 2}, (blis_planner_pools){8, 8}, (blis_planner_pools){1, 1}, 8);
  CHECK(none.prefill == 0 && none.decode == 0);
}

static void test_kalman(void) {
  static const double seen[] = {100, 110, 120, 130, 140, 100};
  static const double wanted[] = {100, 114.9229, 129.7080, 139.8977, 149.9478, 118.4918};
  blis_forecast forecast = {.kind = BLIS_FORECAST_KALMAN};
  blis_forecast_add(&forecast, 0);
  CHECK_EQ_DOUBLE(blis_forecast_next(&forecast), 0);
  for (size_t i = 0; i < 6; i++) {
    blis_forecast_add(&forecast, seen[i]);
    CHECK(fabs(blis_forecast_next(&forecast) - wanted[i]) < 5e-5);
  }
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

static double even_step_us(void *ud, double prefill, double decodes, double context) {
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

static void test_planner_rules(void) {
  asked a;
  make(&a, "dynamo.planner", NULL, 0);
  const blis_scale_instance calm = {
      .kv_capacity_tokens = 1000, .context_length_tokens = 1000, .running_kv_tokens = 500};
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
static int64_t planner_with(blis_scale_role role, int64_t max_gpus, uint32_t replicas,
                            uint32_t others, int64_t wish) {
  const blis_param given[] = {{.name = "max_gpus", .number = (double)max_gpus}};
  const blis_scale_instance busy = {.kv_capacity_tokens = 1000,
                                    .context_length_tokens = 1000,
                                    .queued_prefill_tokens = 1000,
                                    .running_kv_tokens = 1001};
  asked a;
  make(&a, "dynamo.planner", given, 1);
  a.pools[0] = (blis_scale_pool){.replicas = replicas, .min = 1, .gpus = 2};
  a.pools[1] = (blis_scale_pool){.replicas = others, .wish = wish, .min = 1, .gpus = 1};
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

int main(void) {
  RUN(test_planner_budget);
  RUN(test_kalman);
  RUN(test_planner_load);
  RUN(test_planner_with_drafts);
  RUN(test_planner_rules);
  RUN(test_planner_gpus);
  return check_done();
}
