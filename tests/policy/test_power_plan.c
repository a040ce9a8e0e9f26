/*
 * The rules of Dynamo's power planner, with the worked example of its
 * description, and the autoscaler that follows them.
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "policy/autoscale/power_plan.h"
#include "policy/registry.h"

static void check_pools(blis_planner_pools got, int64_t prefill, int64_t decode) {
  CHECK_EQ_I64(got.prefill, prefill);
  CHECK_EQ_I64(got.decode, decode);
}

/* 4 x 700 W for prefill, 8 x 250 W for decode. */
static blis_planner_pools share(double budget_watts, int64_t min, int64_t max) {
  const blis_power_pool prefill = {2800, min, max};
  const blis_power_pool decode = {2000, min, max};
  return blis_power_share(budget_watts, &prefill, &decode);
}

static void test_share(void) {
  check_pools(share(10000, 1, 8), 1, 3);
  check_pools(share(2800, 1, 8), 1, 1); /* as much as the minimum of prefill */
  check_pools(share(2801, 1, 8), 1, 1);
  check_pools(share(4799, 1, 8), 1, 1);
  check_pools(share(6799, 1, 8), 1, 1);
  check_pools(share(6800, 1, 8), 1, 2);
  check_pools(share(1, 2, 8), 2, 2); /* minima are kept, whatever they draw */
  check_pools(share(1e15, 1, 8), 8, 8);
  /* 8 x 2,000 of 30,000 leave five times 2,800. */
  check_pools(share(30000, 1, 8), 5, 8);
  check_pools(share(0, 1, 8), 1, 8); /* no budget */
  /* More than whole numbers hold, of GPUs that draw next to nothing. */
  const blis_power_pool small = {1e-9, 0, 8};
  check_pools(blis_power_share(1e12, &small, &small), 8, 8);
}

static void test_share_of_one_kind(void) {
  const blis_power_pool pool = {1900, 1, 8};
  CHECK_EQ_I64(blis_power_replicas(10000, &pool), 5);
  CHECK_EQ_I64(blis_power_replicas(9499, &pool), 4);
  CHECK_EQ_I64(blis_power_replicas(10, &pool), 1);
  CHECK_EQ_I64(blis_power_replicas(1e9, &pool), 8);
  CHECK_EQ_I64(blis_power_replicas(0, &pool), 8);
}

static void check_near(double got, double expected) {
  CHECK(fabs(got - expected) < 1e-12);
}

static void test_correction(void) {
  double c = blis_power_correct(1, 1.5, 1);
  check_near(c, 1.15);
  check_near(0.3 * 4 + 0.7 * c, 2.005);
  check_near(blis_power_correct(c, 4, 1), 2);
  check_near(blis_power_correct(0.5, 0, 1), 0.5);
  check_near(blis_power_correct(1, 100, 200), 0.85);
  check_near(blis_power_tightening(0.85), 1);
  check_near(blis_power_tightening(1.15), 1.15);
  check_near(blis_power_cap(700, 1.15), 805);
  check_near(blis_power_cap(250.5, 1), 251);
  check_near(blis_power_cap(250, 0.5), 250);
}

/* The autoscaler */

static double linear_step_us(void *ud, double prefill_tokens, double requests, double kv_tokens) {
  (void)ud;
  return 5000 + 50 * prefill_tokens + 10 * requests + 0.01 * kv_tokens;
}

typedef struct asked {
  blis_alloc alloc;
  blis_autoscaler policy;
  blis_scale_model model;
  blis_scale_pool own;
  blis_scale_pool other;
  blis_scale_context context;
  blis_scale_decision last;
} asked;

static const blis_param usual[] = {
    {.name = "budget_watts", .number = 10000}, {.name = "prefill_watts", .number = 700},
    {.name = "decode_watts", .number = 250},   {.name = "ttft_ms", .number = 500},
    {.name = "itl_ms", .number = 10},          {.name = "misses", .number = 2},
    {.name = "plan_gap_seconds", .number = 0},
};
enum { USUAL_COUNT = sizeof usual / sizeof *usual };

/* Prompts of 1,900, a tenth of a second; 200 tokens of output. */
static void make(asked *a, const blis_param *items, size_t count, blis_scale_role role) {
  const blis_params params = {items, count};
  const blis_policy_context context = {.instance_count = 1};
  blis_error error;
  *a = (asked){.alloc = blis_alloc_heap(),
               .model = {.step_us = linear_step_us, .kv_capacity_tokens = 400000}};
  CHECK_OK(blis_autoscaler_create(&a->alloc, "dynamo.power", &params, &context, &a->policy, &error),
           &error);
  bool is_prefill = role == BLIS_SCALE_PREFILL;
  const blis_scale_pool pool = {.replicas = 1,
                                .min = 1,
                                .max = 8,
                                .prefill_watts = -1,
                                .decode_watts = -1,
                                .model = &a->model};
  a->own = a->other = pool;
  a->own.gpus = is_prefill ? 4 : 8;
  a->other.gpus = is_prefill ? 8 : 4;
  a->context = (blis_scale_context){.role = role,
                                    .min = 1,
                                    .max = 8,
                                    .replicas = 1,
                                    .collected = a->policy.needs,
                                    .own = &a->own};
  a->context.other = role == BLIS_SCALE_BOTH ? NULL : &a->other;
  a->context.metrics[BLIS_SCALE_REQUEST_RATE] = 10;
  a->context.metrics[BLIS_SCALE_PROMPT_TOKENS_MEAN] = 1900;
  a->context.metrics[BLIS_SCALE_OUTPUT_TOKENS_MEAN] = 200;
  a->context.metrics[BLIS_SCALE_TTFT_P90] = 100000;
  a->context.metrics[BLIS_SCALE_TPOT_P90] = 9000;
}

static int64_t ask(asked *a) {
  int64_t proposed;
  blis_error error;
  a->context.now_us += 5000000;
  CHECK_OK(blis_autoscaler_decide(&a->policy, &a->context, &a->last, &proposed, &error), &error);
  a->context.replicas = (uint32_t)a->last.target;
  return a->last.target;
}

static int64_t first(const blis_param *items, size_t count, blis_scale_role role) {
  asked a;
  make(&a, items, count, role);
  int64_t target = ask(&a);
  blis_autoscaler_free(&a.policy);
  return target;
}

static void test_first_plan(void) {
  CHECK_EQ_I64(first(usual, USUAL_COUNT, BLIS_SCALE_DECODE), 3);
  CHECK_EQ_I64(first(usual, USUAL_COUNT, BLIS_SCALE_PREFILL), 1);
  /* 8 GPUs of 475 W each. */
  CHECK_EQ_I64(first(usual, USUAL_COUNT, BLIS_SCALE_BOTH), 2);
  CHECK_EQ_I64(first(NULL, 0, BLIS_SCALE_DECODE), 8);
  CHECK_EQ_I64(first(NULL, 0, BLIS_SCALE_PREFILL), 1);
  CHECK_EQ_I64(first(NULL, 0, BLIS_SCALE_BOTH), 8);
  asked a;
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  (void)ask(&a);
  CHECK_STR(a.last.reason, "10000 W allow 1 prefill and 3 decode replicas, of 700 and 250 W "
                           "a GPU");
  blis_autoscaler_free(&a.policy);
}

/* Until some request has ended, nothing is known of what they are like. */
static void test_waits_for_lengths(void) {
  asked a;
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  a.context.metrics[BLIS_SCALE_OUTPUT_TOKENS_MEAN] = 0;
  CHECK_EQ_I64(ask(&a), 1);
  a.context.metrics[BLIS_SCALE_OUTPUT_TOKENS_MEAN] = 200;
  a.context.metrics[BLIS_SCALE_PROMPT_TOKENS_MEAN] = 0; /* none came of late */
  CHECK_EQ_I64(ask(&a), 3);
  blis_autoscaler_free(&a.policy);
}

/* The bounds of the other pool are in the plan. */
static void test_bounds_of_both(void) {
  asked a;
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  a.other.min = 3; /* 1,600 W are left */
  CHECK_EQ_I64(ask(&a), 1);
  blis_autoscaler_free(&a.policy);
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_PREFILL);
  a.other.max = 2; /* 6,000 W are left */
  CHECK_EQ_I64(ask(&a), 2);
  blis_autoscaler_free(&a.policy);
}

/* Two replicas of prefill leave 4,400 W, room for two of decode; one leaves
   what is planned, and four leave nothing. What there is stays. */
static void test_takes_what_is_left(void) {
  asked a;
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  a.other.replicas = 4;
  CHECK_EQ_I64(ask(&a), 1);
  CHECK_STR(a.last.reason, "budget_watts allows no more instances next to the second pool");
  a.other.replicas = 2;
  CHECK_EQ_I64(ask(&a), 2);
  a.other.replicas = 1;
  CHECK_EQ_I64(ask(&a), 3);
  CHECK_CONTAINS(a.last.reason, "10000 W allow 1 prefill and 3 decode");
  a.other.replicas = 8;
  CHECK_EQ_I64(ask(&a), 3);
  blis_autoscaler_free(&a.policy);
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_PREFILL);
  a.other.max = 1; /* the plan is two of prefill beside one of decode */
  a.other.replicas = 3;
  CHECK_EQ_I64(ask(&a), 1); /* 4,000 W are left, room for one */
  a.other.replicas = 2;
  CHECK_EQ_I64(ask(&a), 2);
  blis_autoscaler_free(&a.policy);
}

/* What is left is left by estimates as of now: 288 W and then 322 W a GPU, of
   which two have room in 7,200 W, though three were planned. */
static void test_grows_by_estimates_of_now(void) {
  asked a;
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  a.other.replicas = 2;
  a.own.decode_watts = 375;
  CHECK_EQ_I64(ask(&a), 1);
  a.other.replicas = 1;
  a.own.decode_watts = 430;
  CHECK_EQ_I64(ask(&a), 2);
  blis_autoscaler_free(&a.policy);
}

/* Budgets are told as they were given. */
static void test_tells_fractions_of_watts(void) {
  blis_param items[USUAL_COUNT];
  memcpy(items, usual, sizeof usual);
  items[0].number = 1.5;
  asked a;
  make(&a, items, USUAL_COUNT, BLIS_SCALE_DECODE);
  (void)ask(&a);
  CHECK_CONTAINS(a.last.reason, "1.5 W allow 1 prefill and 1 decode replicas");
  blis_autoscaler_free(&a.policy);
}

/* One and a half times the draw of decode is 1.15 times after one look: 288 W
   a GPU, and at the second one 2.005, which is 500 W. */
static void test_power_is_corrected(void) {
  asked a;
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  a.own.decode_watts = 375;
  CHECK_EQ_I64(ask(&a), 3); /* floor(7,200 / 2,304) */
  CHECK_CONTAINS(a.last.reason, "of 700 and 288 W");
  a.own.decode_watts = 1000;
  a.context.metrics[BLIS_SCALE_REQUEST_RATE] = 1e6;
  CHECK_EQ_I64(ask(&a), 3); /* too many requests, once */
  CHECK_CONTAINS(a.last.reason, "of 700 and 288 W");
  a.own.decode_watts = -1;  /* nothing was decoded */
  CHECK_EQ_I64(ask(&a), 1); /* floor(7,200 / 4,000) */
  CHECK_CONTAINS(a.last.reason, "of 700 and 500 W");
  blis_autoscaler_free(&a.policy);
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  a.other.prefill_watts = 1050;
  (void)ask(&a);
  CHECK_CONTAINS(a.last.reason, "of 805 and 250 W");
  blis_autoscaler_free(&a.policy);
}

/* 166 decodes at once keep 10 ms: 83 requests/s each, 249 of three. */
static void test_plans_anew(void) {
  asked a;
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  CHECK_EQ_I64(ask(&a), 3);
  a.own.max = 2; /* what a new plan would see */
  double *rate = &a.context.metrics[BLIS_SCALE_REQUEST_RATE];
  *rate = 298;
  for (int i = 0; i < 4; i++) { /* not 1.2 times */
    CHECK_EQ_I64(ask(&a), 3);
  }
  *rate = 300;
  CHECK_EQ_I64(ask(&a), 3);
  *rate = 1; /* not in a row; fewer never count */
  CHECK_EQ_I64(ask(&a), 3);
  *rate = 300;
  CHECK_EQ_I64(ask(&a), 3);
  CHECK_EQ_I64(ask(&a), 2);
  blis_autoscaler_free(&a.policy);
}

static void test_broken_promises(void) {
  static const blis_scale_metric late[] = {BLIS_SCALE_TTFT_P90, BLIS_SCALE_TPOT_P90};
  for (size_t i = 0; i < 2; i++) {
    asked a;
    make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
    CHECK_EQ_I64(ask(&a), 3);
    a.own.max = 2;
    a.context.metrics[late[i]] = i == 0 ? 500001 : 10001;
    CHECK_EQ_I64(ask(&a), 3);
    a.context.metrics[BLIS_SCALE_REQUEST_RATE] = 0; /* nobody came */
    CHECK_EQ_I64(ask(&a), 3);
    a.context.metrics[BLIS_SCALE_REQUEST_RATE] = 10;
    CHECK_EQ_I64(ask(&a), 3);
    CHECK_EQ_I64(ask(&a), 2);
    blis_autoscaler_free(&a.policy);
  }
}

static void test_gap_between_plans(void) {
  blis_param items[USUAL_COUNT];
  memcpy(items, usual, sizeof usual);
  items[USUAL_COUNT - 1].number = 20;
  asked a;
  make(&a, items, USUAL_COUNT, BLIS_SCALE_DECODE);
  CHECK_EQ_I64(ask(&a), 3);
  a.own.max = 2;
  a.context.metrics[BLIS_SCALE_TPOT_P90] = 10001;
  for (int i = 0; i < 3; i++) {
    CHECK_EQ_I64(ask(&a), 3);
  }
  CHECK_EQ_I64(ask(&a), 2);
  blis_autoscaler_free(&a.policy);
}

/* Prompts that take longer than promised: no plan, now and later. After a plan,
   it stays. */
static void test_targets_out_of_reach(void) {
  asked a;
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  double *prompt = &a.context.metrics[BLIS_SCALE_PROMPT_TOKENS_MEAN];
  *prompt = 9901; /* 500,050 us */
  CHECK_EQ_I64(ask(&a), 1);
  *prompt = 1900;
  CHECK_EQ_I64(ask(&a), 1);
  blis_autoscaler_free(&a.policy);

  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  CHECK_EQ_I64(ask(&a), 3);
  a.own.max = 2;
  *prompt = 9901;
  a.context.metrics[BLIS_SCALE_TTFT_P90] = 600000;
  for (int i = 0; i < 4; i++) {
    CHECK_EQ_I64(ask(&a), 3);
  }
  *prompt = 1900; /* 100 ms, and twice that as corrected */
  CHECK_EQ_I64(ask(&a), 3);
  CHECK_EQ_I64(ask(&a), 2);
  blis_autoscaler_free(&a.policy);
}

/* What takes twice as long as estimated keeps a promise of four times that, and
   none of 1.5 times. */
static void test_latency_is_corrected(void) {
  blis_param items[USUAL_COUNT];
  memcpy(items, usual, sizeof usual);
  for (int is_tight = 0; is_tight < 2; is_tight++) {
    items[3].number = is_tight ? 150 : 400;
    asked a;
    make(&a, items, USUAL_COUNT, BLIS_SCALE_DECODE);
    CHECK_EQ_I64(ask(&a), 3);
    a.own.max = 2;
    a.context.metrics[BLIS_SCALE_TTFT_P90] = 1e6;
    for (int i = 0; i < 6; i++) {
      (void)ask(&a);
    }
    CHECK_EQ_I64(a.last.target, is_tight ? 3 : 2);
    blis_autoscaler_free(&a.policy);
  }
}

/* Decodes that take 1.255 times as long leave room for a batch, a smaller one;
   of those that take twice as long, not even one keeps 10 ms. */
static void test_itl_is_corrected(void) {
  for (int is_slow = 0; is_slow < 2; is_slow++) {
    asked a;
    make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
    CHECK_EQ_I64(ask(&a), 3);
    a.own.max = 2;
    a.context.metrics[BLIS_SCALE_TPOT_P90] = is_slow ? 100000 : 15000;
    (void)ask(&a);
    CHECK_EQ_I64(ask(&a), is_slow ? 3 : 2);
    blis_autoscaler_free(&a.policy);
  }
}

/* What was seen of the last minute is no news while nobody comes: prompts of
   100 ms keep 120. */
static void test_corrects_while_requests_come(void) {
  blis_param items[USUAL_COUNT];
  memcpy(items, usual, sizeof usual);
  items[3].number = 120;
  asked a;
  make(&a, items, USUAL_COUNT, BLIS_SCALE_DECODE);
  CHECK_EQ_I64(ask(&a), 3);
  a.own.max = 2;
  a.context.metrics[BLIS_SCALE_TTFT_P90] = 1e6;
  a.context.metrics[BLIS_SCALE_REQUEST_RATE] = 0;
  (void)ask(&a);
  a.context.metrics[BLIS_SCALE_TTFT_P90] = 100000;
  a.context.metrics[BLIS_SCALE_TPOT_P90] = 10001;
  a.context.metrics[BLIS_SCALE_REQUEST_RATE] = 10;
  (void)ask(&a);
  CHECK_EQ_I64(ask(&a), 2);
  blis_autoscaler_free(&a.policy);
}

/* Nothing to plan with. */
static void test_what_is_not_known(void) {
  asked a;
  make(&a, usual, USUAL_COUNT, BLIS_SCALE_DECODE);
  a.other.model = NULL;
  CHECK_EQ_I64(ask(&a), 1);
  a.context.other = NULL;
  CHECK_EQ_I64(ask(&a), 1);
  a.context.own = NULL;
  CHECK_EQ_I64(ask(&a), 1);
  blis_autoscaler_free(&a.policy);
  const blis_params params = {usual, 2};
  const blis_policy_context context = {.instance_count = 1};
  blis_error error;
  CHECK(blis_autoscaler_create(&a.alloc, "dynamo.power", &params, &context, &a.policy, &error) ==
        BLIS_ERR_INVALID);
  CHECK_STR(error.message, "autoscaler dynamo.power: budget_watts needs prefill_watts and "
                           "decode_watts, what a GPU is expected to draw");
}

int main(void) {
  RUN(test_share);
  RUN(test_share_of_one_kind);
  RUN(test_correction);
  RUN(test_first_plan);
  RUN(test_waits_for_lengths);
  RUN(test_bounds_of_both);
  RUN(test_takes_what_is_left);
  RUN(test_grows_by_estimates_of_now);
  RUN(test_tells_fractions_of_watts);
  RUN(test_power_is_corrected);
  RUN(test_plans_anew);
  RUN(test_broken_promises);
  RUN(test_gap_between_plans);
  RUN(test_targets_out_of_reach);
  RUN(test_latency_is_corrected);
  RUN(test_itl_is_corrected);
  RUN(test_corrects_while_requests_come);
  RUN(test_what_is_not_known);
  return check_done();
}
