/* cognitora.score on the examples of its design document. */
#include <math.h>

#include "routing_fixture.h"

typedef struct bench {
  blis_alloc alloc;
  blis_router router;
  fixture f;
  blis_block_chain chain;
  blis_ticket ticket;
  blis_routing_request request;
} bench;

static void bench_init(bench *b, const blis_params *params, size_t nodes) {
  *b = (bench){.alloc = blis_alloc_heap()};
  blis_policy_context context = fixture_context();
  b->router = fixture_router(&b->alloc, "cognitora.score", params, &context);
  fixture_init(&b->f, nodes);
  b->request = fixture_request(1, 100, &b->chain, &b->ticket);
  for (size_t i = 0; i < nodes; i++) {
    snprintf(b->f.id_texts[i], sizeof b->f.id_texts[i], "node-%c", 'a' + (int)i);
    b->f.columns[BLIS_SIGNAL_MAX_NUM_SEQS][i] = 32;
    b->f.columns[BLIS_SIGNAL_CAPACITY][i] = 1;
    b->f.columns[BLIS_SIGNAL_KV_BLOCKS][i] = 100;
  }
}

static void set(bench *b, blis_signal signal, const double *values) {
  fixture_set(&b->f, signal, values);
}

static blis_decision decide(bench *b) {
  return fixture_route(&b->router, &b->request, &b->f.view);
}

static void check_near(double got, double expected) {
  CHECK(fabs(got - expected) < 1e-9);
}

static void four_terms_are_added_up(void) {
  bench b;
  bench_init(&b, NULL, 3);
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){32, 96, 15});
  set(&b, BLIS_SIGNAL_IN_FLIGHT, (double[]){16, 28, 1.6});
  set(&b, BLIS_SIGNAL_WATTS, (double[]){300, 600, 150});
  set(&b, BLIS_SIGNAL_CAPACITY, (double[]){0.5, 0.5, 1});
  blis_decision d = decide(&b);
  CHECK_EQ_I64(d.chosen, 1);
  check_near(d.scores[0], 0.5);
  check_near(d.scores[1], 0.63125);
  check_near(d.scores[2], 0.4125);
  blis_router_free(&b.router);
}

/* An idle node with the whole prefix beats a busy one and a cold one. */
static void a_full_hit_outweighs_the_rest(void) {
  bench b;
  bench_init(&b, NULL, 3);
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){64, 64, 0});
  set(&b, BLIS_SIGNAL_IN_FLIGHT, (double[]){0, 60, 0});
  CHECK_EQ_I64(decide(&b).chosen, 0);
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){0, 64, 0});
  b.f.view.now_us = 5000000;
  blis_decision d = decide(&b);
  CHECK_EQ_I64(d.chosen, 1); /* 60 in flight count as 32 */
  check_near(d.scores[1], 0.75);
  check_near(d.scores[0], 0.45);
  blis_router_free(&b.router);
}

static void short_prompts_have_no_overlap(void) {
  bench b;
  bench_init(&b, NULL, 2);
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){16, 0});
  b.request.prompt_tokens = 15;
  check_near(decide(&b).scores[0], 0.45);
  b.request.prompt_tokens = 47; /* two full blocks, one of them there */
  check_near(decide(&b).scores[0], 0.45 + 0.55 / 2);
  blis_router_free(&b.router);
}

/* 0.775, 0.770 and 0.700: the first two tie, and the prefix decides. */
static void near_ties_go_by_the_stable_hash(void) {
  blis_param param = {.name = "epsilon", .number = 0};
  blis_params params = {&param, 1};
  for (int is_exact = 0; is_exact <= 1; is_exact++) {
    bench b;
    bench_init(&b, is_exact ? &params : NULL, 3);
    set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){64, 64, 64});
    set(&b, BLIS_SIGNAL_IN_FLIGHT, (double[]){16, 16.64, 25.6});
    set(&b, BLIS_SIGNAL_WATTS, (double[]){300, 300, 600});
    set(&b, BLIS_SIGNAL_CAPACITY, (double[]){0.5, 0.5, 1});
    int counts[3] = {0};
    for (uint64_t stream = 1; stream <= 100; stream++) {
      const blis_segment prefix = {.stream = stream, .length_tokens = 100};
      b.request.segments = &prefix;
      b.request.segment_count = 1;
      blis_decision d = decide(&b);
      check_near(d.scores[0], 0.775);
      check_near(d.scores[1], 0.770);
      check_near(d.scores[2], 0.700);
      counts[d.chosen]++;
      CHECK_EQ_I64(decide(&b).chosen, d.chosen);
    }
    CHECK_EQ_I64(counts[2], 0);
    CHECK(is_exact ? counts[0] == 100 : counts[0] > 30 && counts[1] > 30);
    blis_router_free(&b.router);
  }
}

/* What happens between two heartbeats is not known; caches are. */
static void load_is_as_of_the_last_heartbeat(void) {
  bench b;
  bench_init(&b, NULL, 2);
  set(&b, BLIS_SIGNAL_IN_FLIGHT, (double[]){32, 0});
  CHECK_EQ_I64(decide(&b).chosen, 1);
  set(&b, BLIS_SIGNAL_IN_FLIGHT, (double[]){0, 32});
  b.f.view.now_us = 4999999;
  CHECK_EQ_I64(decide(&b).chosen, 1);
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){64, 0});
  CHECK_EQ_I64(decide(&b).chosen, 0);
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){0, 0});
  b.f.view.now_us = 5000000;
  CHECK_EQ_I64(decide(&b).chosen, 0);
  blis_router_free(&b.router);
}

/* 0.25 (1 - max(4 / 32, 0.5)) + 0.10 (1 - 200 / 400) + 0.10 (0.5 + 0.25) / 2 */
static void terms_may_be_measured(void) {
  blis_param items[] = {{.name = "utilization", .text = "max"},
                        {.name = "capacity_from", .text = "hardware"},
                        {.name = "power_from", .text = "rolling"}};
  blis_params params = {items, 3};
  bench b;
  bench_init(&b, &params, 2);
  CHECK((b.router.needs & BLIS_SIGNAL_BIT(BLIS_SIGNAL_UTILIZATION)) != 0);
  CHECK((b.router.needs & BLIS_SIGNAL_BIT(BLIS_SIGNAL_ROLLING_WATTS)) != 0);
  set(&b, BLIS_SIGNAL_IN_FLIGHT, (double[]){4, 16});
  set(&b, BLIS_SIGNAL_UTILIZATION, (double[]){0.5, 0.25});
  set(&b, BLIS_SIGNAL_WATTS, (double[]){700, 1});
  set(&b, BLIS_SIGNAL_ROLLING_WATTS, (double[]){200, 400});
  set(&b, BLIS_SIGNAL_TP, (double[]){1, 2});
  set(&b, BLIS_SIGNAL_KV_BLOCKS, (double[]){100, 400});
  blis_decision d = decide(&b);
  check_near(d.scores[0], 0.125 + 0.05 + 0.0375);
  check_near(d.scores[1], 0.125 + 0 + 0.1);
  set(&b, BLIS_SIGNAL_ROLLING_WATTS, (double[]){400, 100});
  b.f.view.now_us = 4999999; /* watts come with the heartbeat */
  check_near(decide(&b).scores[0], 0.125 + 0.05 + 0.0375);
  b.f.view.now_us = 5000000;
  check_near(decide(&b).scores[0], 0.125 + 0 + 0.0375);
  blis_router_free(&b.router);
}

static void a_heartbeat_of_zero_is_live(void) {
  blis_param items[] = {{.name = "heartbeat_us", .number = 0},
                        {.name = "max_concurrent", .number = 16}};
  blis_params params = {items, 2};
  bench b;
  bench_init(&b, &params, 2);
  set(&b, BLIS_SIGNAL_IN_FLIGHT, (double[]){8, 4});
  blis_decision d = decide(&b);
  check_near(d.scores[0], 0.25 * 0.5 + 0.2);
  check_near(d.scores[1], 0.25 * 0.75 + 0.2);
  set(&b, BLIS_SIGNAL_IN_FLIGHT, (double[]){0, 16});
  CHECK_EQ_I64(decide(&b).chosen, 0);
  blis_router_free(&b.router);
}

/* The formula of the code, 89f555a. */
static void the_profile_of_the_code(void) {
  blis_param param = {.name = "profile", .text = "cognitora"};
  blis_params params = {&param, 1};
  bench b;
  bench_init(&b, &params, 3);
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){128, 0, 64});
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 60, 0});
  set(&b, BLIS_SIGNAL_WATTS, (double[]){200, 200, 200});
  set(&b, BLIS_SIGNAL_FREE_KV_BLOCKS, (double[]){100, 100, 100});
  b.request.prompt_tokens = 128;
  blis_decision d = decide(&b);
  CHECK_EQ_I64(d.chosen, 0);
  check_near(d.scores[0], 0.9);
  check_near(d.scores[1], 0.115625);
  check_near(d.scores[2], 0.55 / 2 + 0.25 + 0.1);
  /* With nothing but power to tell them apart, the lowest power wins. */
  bench cold;
  bench_init(&cold, &params, 3);
  set(&cold, BLIS_SIGNAL_WATTS, (double[]){300, 150, 600});
  d = decide(&cold);
  CHECK_EQ_I64(d.chosen, 1);
  check_near(d.scores[1], 0.25 + 0.1 * 0.75);
  set(&cold, BLIS_SIGNAL_WATTS, (double[]){300, 300, 300});
  CHECK_EQ_I64(decide(&cold).chosen, 0);
  blis_router_free(&b.router);
  blis_router_free(&cold.router);
}

static blis_status create_of(const blis_params *params, blis_error *error) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_router router = {0};
  blis_status status =
      blis_router_create(&alloc, "cognitora.score", params, &context, &router, error);
  blis_router_free(&router);
  return status;
}

static blis_status create_with(double kv, blis_error *error) {
  blis_param param = {.name = "kv", .number = kv};
  return create_of(&(blis_params){&param, 1}, error);
}

static void weights_need_not_sum_to_one(void) {
  blis_error error;
  CHECK_OK(create_with(0.55, &error), &error);
  CHECK_OK(create_with(0.6, &error), &error);
  CHECK_OK(create_with(0, &error), &error);
  CHECK_STATUS(create_with(-1, &error), BLIS_ERR_INVALID);
  const char *const names[] = {"kv", "load", "power", "capacity"};
  blis_param zeros[4];
  for (size_t i = 0; i < 4; i++) {
    zeros[i] = (blis_param){.name = names[i], .number = 0};
  }
  CHECK_STATUS(create_of(&(blis_params){zeros, 4}, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "kv, load, power, and capacity are all 0");
}

static blis_status change(bench *b, const char *name, double value, blis_error *error) {
  blis_param param = {.name = name, .number = value};
  blis_params params = {&param, 1};
  return blis_router_change(&b->router, &params, error);
}

/* From one decision to the next, and whatever they sum to. */
static void weights_change_during_a_run(void) {
  bench b;
  bench_init(&b, NULL, 2);
  blis_error error;
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){64, 0});
  set(&b, BLIS_SIGNAL_IN_FLIGHT, (double[]){32, 0});
  CHECK_EQ_I64(decide(&b).chosen, 0);
  CHECK_OK(change(&b, "kv", 0, &error), &error);
  blis_decision d = decide(&b);
  CHECK_EQ_I64(d.chosen, 1);
  check_near(d.scores[1], 0.45);
  CHECK_STATUS(change(&b, "kv", 2, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "kv is 2; expected a number from 0 to 1");
  CHECK_STATUS(change(&b, "epsilon", 0.5, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "epsilon is fixed for the run; only kv, load, "
                                "power, capacity can change");
  CHECK_STATUS(change(&b, "kvv", 0.5, &error), BLIS_ERR_INVALID);
  check_near(decide(&b).scores[1], 0.45);
  blis_router_free(&b.router);

  blis_policy_context context = fixture_context();
  b.router = fixture_router(&b.alloc, "round-robin", NULL, &context);
  CHECK_STATUS(change(&b, "kv", 1, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "round-robin: it has no parameters that can change");
  blis_router_free(&b.router);
}

int main(void) {
  RUN(four_terms_are_added_up);
  RUN(a_full_hit_outweighs_the_rest);
  RUN(short_prompts_have_no_overlap);
  RUN(near_ties_go_by_the_stable_hash);
  RUN(load_is_as_of_the_last_heartbeat);
  RUN(terms_may_be_measured);
  RUN(a_heartbeat_of_zero_is_live);
  RUN(the_profile_of_the_code);
  RUN(weights_need_not_sum_to_one);
  RUN(weights_change_during_a_run);
  return check_done();
}
