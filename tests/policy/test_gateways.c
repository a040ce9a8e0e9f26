/* Routing policies of deployed gateways: the worked examples of each. */
#include <math.h>

#include "gateway_fixture.h"

static void smg_cache_aware(void) {
  gateway g;
  open_policy(&g, "smg.cache_aware", 2);
  teach(&g, 0, PROMPT(400, 25, 25));
  loads(&g, (double[]){80, 10}); /* 70 > 64 and 80 > 15 */
  CHECK_EQ_I64(route_one(&g, PROMPT(1000, 62, 25)), 1);
  close_policy(&g);
  open_policy(&g, "smg.cache_aware", 2);
  teach(&g, 0, PROMPT(400, 25, 25));
  loads(&g, (double[]){60, 10});
  blis_decision d = send_to(&g, &g.f.view, PROMPT(1000, 62, 25));
  CHECK_EQ_I64(d.chosen, 0); /* 400 of 1000 */
  CHECK(d.has_belief);
  CHECK_EQ_I64(d.believed_tokens, 400);
  CHECK_EQ_I64(route_one(&g, PROMPT(1000, 62, 18)), 1); /* 288 of 1000 */
  close_policy(&g);
}

/* The second one is less loaded, and the third knows nothing. */
static void smg_cache_aware_miss(void) {
  gateway g;
  const blis_param miss = {.name = "miss", .text = "smallest-tree"};
  for (size_t given = 0; given < 2; given++) {
    open_with(&g, "smg.cache_aware", 3, &miss, given);
    teach(&g, 0, PROMPT(400, 25, 25));
    teach(&g, 1, PROMPT(160, 10, 0));
    loads(&g, (double[]){3, 1, 2});
    CHECK_EQ_I64(route_one(&g, PROMPT(1000, 62, 18)), given == 1 ? 2 : 1);
    close_policy(&g);
  }
}

static void smg_cache_aware_by_events(void) {
  gateway g;
  const blis_param events = {.name = "index", .text = "events"};
  open_with(&g, "smg.cache_aware", 3, &events, 1);
  loads(&g, (double[]){1, 3, 3});
  fixture_set(&g.f, BLIS_SIGNAL_CACHED_TOKENS, (double[]){16, 32, 32});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 2); /* the last */
  fixture_set(&g.f, BLIS_SIGNAL_CACHED_TOKENS, (double[]){0, 0, 0});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 0);
  close_policy(&g);
}

/* Equal loads: the one that got fewest so far. */
static void smg_min_load_ties_by_requests(void) {
  gateway g;
  open_policy(&g, "smg.cache_aware", 3);
  for (size_t i = 0; i < 6; i++) {
    CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), i % 3);
  }
  close_policy(&g);
}

/* Loads 80, 10, 12 with mean 34: 80 <= 34 + 64, so it stays. Loads 160, 10, 12
   with mean 60.67: 160 > 91 and 160 > 124.67. */
static void smg_cache_aware_spills_by_the_mean(void) {
  gateway g;
  const blis_param mean = {.name = "gate", .text = "mean"};
  open_with(&g, "smg.cache_aware", 3, &mean, 1);
  teach(&g, 0, PROMPT(512, 32, 32));
  loads(&g, (double[]){80, 10, 12});
  CHECK_EQ_I64(route_one(&g, PROMPT(512, 32, 32)), 0);
  loads(&g, (double[]){160, 10, 12});
  CHECK_EQ_I64(route_one(&g, PROMPT(512, 32, 32)), 1);
  close_policy(&g);
}

static void smg_power_of_two(void) {
  gateway g;
  open_policy(&g, "smg.power_of_two", 2);
  fixture_set(&g.f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.6, 0.2});
  for (int i = 0; i < 20; i++) {
    CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 1);
  }
  close_policy(&g);
}

static void smg_manual_remembers_two(void) {
  gateway g;
  const blis_param min_load = {.name = "assignment_mode", .text = "min_load"};
  open_with(&g, "smg.manual", 3, &min_load, 1);
  const given_request turn = TURN(64, 4, 0, 7);
  loads(&g, (double[]){5, 1, 3});
  CHECK_EQ_I64(route_one(&g, turn), 1);
  loads(&g, (double[]){0, 9, 9});
  CHECK_EQ_I64(route_one(&g, turn), 1);
  /* Its instance is away: another one is remembered beside it. */
  blis_routing_view only_last = fixture_only(&g.f, 2);
  CHECK_EQ_I64(send_to(&g, &only_last, turn).chosen, 0);
  CHECK_EQ_I64(route_one(&g, turn), 1);
  /* And a third one pushes the older of them out. */
  blis_routing_view only_first = fixture_only(&g.f, 0);
  send_to(&g, &only_first, turn);
  CHECK_EQ_I64(route_one(&g, turn), 2);
  g.f.view.now_us = INT64_C(14400000001); /* four hours of silence */
  loads(&g, (double[]){9, 2, 9});
  CHECK_EQ_I64(route_one(&g, turn), 1);
  close_policy(&g);
}

static void sglang_lmetric(void) {
  gateway g;
  const blis_param block_size = {.name = "block_size", .number = 1};
  open_with(&g, "sglang.lmetric", 2, &block_size, 1);
  teach(&g, 0, PROMPT(6, 6, 6));
  loads(&g, (double[]){20, 0}); /* 1 x 21 against 7 x 1 */
  CHECK_EQ_I64(route_one(&g, PROMPT(7, 7, 6)), 1);
  close_policy(&g);
  open_with(&g, "sglang.lmetric", 2, &block_size, 1);
  teach(&g, 0, PROMPT(6, 6, 6));
  loads(&g, (double[]){5, 0}); /* 1 x 6 */
  CHECK_EQ_I64(route_one(&g, PROMPT(7, 7, 6)), 0);
  close_policy(&g);
}

static void sglang_workload_aware(void) {
  gateway g;
  open_policy(&g, "sglang.workload_aware", 3);
  fixture_set(&g.f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){11, 10, 12});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 1);
  fixture_set(&g.f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){11, 11, 12});
  CHECK_STR(send_to(&g, &g.f.view, PROMPT(64, 4, 0)).rejected, "no-candidate");
  close_policy(&g);
}

/* 4 instances with 12 requests: the bound is 1.25 x 13 / 4 = 4.0625. */
static void smg_prefix_hash(void) {
  gateway g;
  open_policy(&g, "smg.prefix_hash", 4);
  const given_request given = PROMPT(512, 32, 32);
  size_t home = route_one(&g, given);
  double values[] = {2, 2, 2, 2};
  values[home] = 4;
  values[(home + 1) % 4] = 1;
  values[(home + 2) % 4] = 5;
  loads(&g, values);
  CHECK_EQ_I64(route_one(&g, given), home);
  values[home] = 5;
  values[(home + 2) % 4] = 4;
  loads(&g, values);
  CHECK_EQ_I64(route_one(&g, given), (home + 1) % 4);
  close_policy(&g);
}

/* 12 requests: the bound is 1.5 x 12 / 4 = 4.5. */
static void sglang_bounded_consistent_hashing(void) {
  gateway g;
  open_policy(&g, "sglang.bounded_consistent_hashing", 4);
  const given_request given = TURN(512, 32, 32, 3);
  size_t home = route_one(&g, given);
  double values[] = {2, 2, 2, 2};
  values[home] = 4;
  values[(home + 1) % 4] = 4;
  loads(&g, values);
  CHECK_EQ_I64(route_one(&g, given), home);
  values[home] = 5;
  values[(home + 1) % 4] = 3;
  loads(&g, values);
  CHECK(route_one(&g, given) != home);
  close_policy(&g);
}

/* Without session any instance is as good. */
static void smg_consistent_hashing(void) {
  gateway g;
  open_policy(&g, "smg.consistent_hashing", 4);
  size_t home = route_one(&g, TURN(512, 32, 0, 3));
  size_t others = 0;
  for (int i = 0; i < 40; i++) {
    CHECK_EQ_I64(route_one(&g, TURN(512, 32, 0, 3)), home);
    others += route_one(&g, PROMPT(512, 32, 32)) != home;
  }
  CHECK(others > 15);
  close_policy(&g);
}

/* Requests whose prefill is ahead and blocks in decode, of one instance. */
static void load_dynamo(gateway *g, size_t instance, int64_t prefill_tokens,
                        int64_t decode_blocks) {
  teach(g, instance, PROMPT(16 * decode_blocks, 0, 0));
  first_token_of_last(g, (uint32_t)instance);
  if (prefill_tokens > 0) {
    teach(g, instance, PROMPT(prefill_tokens, 0, 0));
  }
}

/* Raw prefill 96, 64, 74 blocks; decode 100, 60, 90. */
static void load_dynamo_example(gateway *g) {
  load_dynamo(g, 0, 512, 68);
  load_dynamo(g, 1, 0, 60);
  load_dynamo(g, 2, 160, 80);
  fixture_set(&g->f, BLIS_SIGNAL_CACHED_TOKENS, (double[]){768, 0, 256});
}

static void dynamo_costs(void) {
  gateway g;
  open_policy(&g, "dynamo.kv", 3);
  load_dynamo_example(&g);
  const given_request given = PROMPT(1024, 64, 0);
  blis_decision d = send_to(&g, &g.f.view, given);
  CHECK_EQ_DOUBLE(d.scores[0], -(96 - 48 + 100.0));
  CHECK_EQ_DOUBLE(d.scores[1], -(64 + 60.0));
  CHECK_EQ_DOUBLE(d.scores[2], -(74 - 16 + 90.0));
  CHECK_EQ_I64(d.chosen, 1);
  close_policy(&g);
  const blis_param decay = {.name = "overlap_score_credit_decay", .number = 1};
  open_with(&g, "dynamo.kv", 3, &decay, 1);
  load_dynamo_example(&g);
  d = send_to(&g, &g.f.view, given); /* excess 32 blocks: decay 2/3 */
  CHECK(fabs(d.scores[0] + (96 - 32 + 100)) < 1e-9);
  close_policy(&g);
  open_policy(&g, "dynamo.lmetric", 3);
  load_dynamo_example(&g);
  d = send_to(&g, &g.f.view, given);
  CHECK_EQ_DOUBLE(d.scores[0], -(48 * 101.0));
  CHECK_EQ_DOUBLE(d.scores[1], -(64 * 61.0));
  CHECK_EQ_I64(d.chosen, 1);
  close_policy(&g);
}

static void dynamo_forgets_what_has_ended(void) {
  gateway g;
  open_policy(&g, "dynamo.kv", 2);
  const given_request given = PROMPT(1024, 64, 0);
  size_t first = route_one(&g, given);
  fixture_ended(&g.router, &g.tickets[0], (uint32_t)first);
  blis_decision d = send_to(&g, &g.f.view, given);
  CHECK_EQ_DOUBLE(d.scores[0], -64.0);
  CHECK_EQ_DOUBLE(d.scores[1], -64.0);
  close_policy(&g);
}

/* Mean 4.5 + sample deviation 3.1091 = 7.6091 in the first case. */
static void aibrix_prefix_cache(void) {
  static const struct {
    double loads[4];
    size_t chosen;
  } cases[] = {
      {{2, 3, 9, 4}, 3},  /* the full match is over the bound */
      {{4, 4, 5, 4}, 3},  /* 5 is over 4.75 */
      {{4, 3, 5, 6}, 2},  /* 5 is within 5.79 */
      {{2, 3, 12, 4}, 0}, /* more than 8 apart: the least alone count */
  };
  for (size_t k = 0; k < 4; k++) {
    gateway g;
    open_policy(&g, "aibrix.prefix-cache", 4);
    teach(&g, 2, PROMPT(160, 10, 10));
    teach(&g, 3, PROMPT(96, 6, 6));
    loads(&g, cases[k].loads);
    CHECK_EQ_I64(route_one(&g, PROMPT(160, 10, 10)), cases[k].chosen);
    close_policy(&g);
  }
}

static void aibrix_single_metrics(void) {
  gateway g;
  open_policy(&g, "aibrix.least-kv-cache", 3);
  fixture_set(&g.f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.2, 0.5, 0.2});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 2);
  close_policy(&g);
  open_policy(&g, "aibrix.least-gpu-cache", 3);
  fixture_set(&g.f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.5, 0.2, 0.2});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 1);
  close_policy(&g);
  open_policy(&g, "aibrix.power-of-two", 2);
  loads(&g, (double[]){4, 3});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 1);
  close_policy(&g);
  size_t picked[3] = {0};
  open_policy(&g, "aibrix.least-request", 3);
  loads(&g, (double[]){1, 2, 1});
  for (int i = 0; i < 100; i++) {
    picked[route_one(&g, PROMPT(64, 4, 0))]++;
  }
  CHECK(picked[0] > 30 && picked[2] > 30 && picked[1] == 0);
  close_policy(&g);
}

static void ray_prefix_cache_affinity(void) {
  gateway g;
  const blis_param block_size = {.name = "block_size", .number = 20};
  open_with(&g, "ray.prefix-cache-affinity", 2, &block_size, 1);
  teach(&g, 0, PROMPT(100, 5, 5));
  CHECK_EQ_I64(route_one(&g, PROMPT(1000, 50, 4)), 1); /* 80: too few */
  close_policy(&g);
  open_with(&g, "ray.prefix-cache-affinity", 2, &block_size, 1);
  teach(&g, 0, PROMPT(100, 5, 5));
  CHECK_EQ_I64(route_one(&g, PROMPT(1000, 50, 5)), 0); /* 100 */
  close_policy(&g);
}

static void vllm_routers(void) {
  gateway g;
  open_policy(&g, "vllm-stack.prefixaware", 3);
  teach(&g, 1, PROMPT(320, 10, 10));
  teach(&g, 2, PROMPT(160, 5, 5));
  CHECK_EQ_I64(route_one(&g, PROMPT(320, 10, 10)), 1);
  close_policy(&g);
  open_policy(&g, "vllm-router.kv_aware", 3);
  loads(&g, (double[]){3, 1, 1});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 1);
  fixture_set(&g.f, BLIS_SIGNAL_CACHED_TOKENS, (double[]){32, 64, 64});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 2);
  close_policy(&g);
  open_policy(&g, "vllm-router.least_conn_sticky", 2);
  CHECK_EQ_I64(route_one(&g, TURN(64, 4, 0, 1)), 0);
  CHECK_EQ_I64(route_one(&g, TURN(64, 4, 0, 2)), 1);
  loads(&g, (double[]){40, 0});
  CHECK_EQ_I64(route_one(&g, TURN(64, 4, 0, 1)), 0);
  CHECK_EQ_I64(route_one(&g, TURN(64, 4, 0, 3)), 1);
  close_policy(&g);
}

/* One that goes away takes only its own keys along. */
static void vllm_rendezvous_hash(void) {
  gateway g;
  open_policy(&g, "vllm-router.rendezvous_hash", 4);
  blis_routing_view three = g.f.view;
  three.count = 3;
  for (uint32_t k = 1; k <= 100; k++) {
    const given_request given = PROMPT(16 * k, k, k);
    size_t chosen = route_one(&g, given);
    size_t without = send_to(&g, &three, given).chosen;
    CHECK(chosen == 3 || without == chosen);
  }
  close_policy(&g);
}

static void comparison_set(void) {
  gateway g;
  open_policy(&g, "blitz.join-shortest-weight", 2);
  fixture_set(&g.f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){3, 0});
  fixture_set(&g.f, BLIS_SIGNAL_BATCH_SIZE, (double[]){5, 12});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 1); /* 20 and 12 */
  close_policy(&g);
  open_policy(&g, "blitz.least-bs", 2);
  fixture_set(&g.f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){3, 0});
  fixture_set(&g.f, BLIS_SIGNAL_BATCH_SIZE, (double[]){5, 12});
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 0);
  close_policy(&g);
  open_policy(&g, "blitz.least-wait-token", 2);
  fixture_set(&g.f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){500, 0});
  fixture_set(&g.f, BLIS_SIGNAL_CACHED_TOKENS, (double[]){512, 0});
  CHECK_EQ_I64(route_one(&g, PROMPT(1024, 64, 0)), 0); /* 1012 and 1024 */
  close_policy(&g);
  open_policy(&g, "blitz.bounded-most-hit", 3);
  fixture_set(&g.f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){0, 2048, 2047});
  fixture_set(&g.f, BLIS_SIGNAL_CACHED_TOKENS, (double[]){16, 64, 16});
  CHECK_EQ_I64(route_one(&g, PROMPT(1024, 64, 0)), 2);
  close_policy(&g);
  open_policy(&g, "infera.kv", 2);
  fixture_set(&g.f, BLIS_SIGNAL_CACHED_TOKENS, (double[]){64, 0});
  loads(&g, (double[]){5, 0}); /* 0 + 5 against 4 + 0 */
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 1);
  close_policy(&g);
}

static void b3_least_work(void) {
  gateway g;
  const blis_param block_size = {.name = "block_size", .number = 16};
  open_with(&g, "b3.lpwl", 3, &block_size, 1);
  for (size_t i = 0; i < 4; i++) { /* equal ones each in turn */
    blis_decision d = send_to(&g, &g.f.view, PROMPT(160, 10, 0));
    CHECK_EQ_I64(d.chosen, i % 3);
    fixture_ended(&g.router, &g.tickets[i], (uint32_t)d.chosen);
  }
  teach(&g, 2, PROMPT(160, 10, 10));
  first_token_of_last(&g, 2);
  blis_decision d = send_to(&g, &g.f.view, PROMPT(320, 20, 10));
  CHECK_EQ_I64(d.chosen, 2);
  CHECK_EQ_DOUBLE(d.scores[2], -160.0);
  close_policy(&g);
  const blis_param kappa[] = {block_size, {.name = "kappa", .number = 0.01}};
  open_with(&g, "b3.leastwork_kappa", 2, kappa, 2);
  teach(&g, 0, PROMPT(160, 10, 10));
  first_token_of_last(&g, 0);
  d = send_to(&g, &g.f.view, PROMPT(320, 20, 10));
  CHECK_EQ_DOUBLE(d.scores[0], -(160 * (1 + 0.01 * 160)));
  CHECK_EQ_I64(d.chosen, 1);
  close_policy(&g);
}

static void b3_linear(void) {
  gateway g;
  const blis_param block_size = {.name = "block_size", .number = 16};
  open_with(&g, "b3.linear", 2, &block_size, 1);
  const given_request turn = TURN(160, 10, 10, 5);
  CHECK_EQ_I64(route_one(&g, turn), 0);
  teach(&g, 1, PROMPT(320, 20, 0));
  CHECK_EQ_I64(route_one(&g, turn), 0); /* 160 <= 2 x 240 */
  teach(&g, 0, PROMPT(1600, 0, 0));
  teach(&g, 0, PROMPT(1600, 0, 0)); /* 3520 > 2 x 1920 is not */
  CHECK_EQ_I64(route_one(&g, turn), 0);
  close_policy(&g);
  const blis_param strict[] = {block_size, {.name = "overload_factor", .number = 1}};
  open_with(&g, "b3.linear", 2, strict, 2);
  CHECK_EQ_I64(route_one(&g, turn), 0);
  CHECK_EQ_I64(route_one(&g, turn), 0); /* ongoing 160 - cached 160, a tie */
  CHECK_EQ_I64(route_one(&g, turn), 1); /* 320 - 160 against 0 */
  close_policy(&g);
}

static void scores_of(const char *name, const blis_param *params, size_t param_count, fixture *f,
                      const blis_routing_request *request, double *scores) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_error error;
  blis_scorer scorer = {0};
  const blis_params given = {params, param_count};
  CHECK_OK(blis_scorer_create(&alloc, name, &given, &context, &scorer, &error), &error);
  if (scorer.ops->observe != NULL) { /* the first instance gets it before */
    blis_routing_request before = *request;
    CHECK_OK(scorer.ops->observe(&(blis_question){scorer.state, &before, &f->view, &error}, 0),
             &error);
  }
  CHECK_OK(scorer.ops->score(&(blis_question){scorer.state, request, &f->view, &error}, scores),
           &error);
  blis_scorer_free(&scorer);
}

static void llmd_scorers(void) {
  fixture f;
  fixture_init(&f, 3);
  blis_ticket ticket;
  blis_block_chain chain = {0};
  blis_routing_request request = fixture_request(1, 12000, &chain, &ticket);
  double scores[3];
  fixture_set(&f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 3, 6});
  scores_of("llm-d.queue-scorer", NULL, 0, &f, &request, scores);
  CHECK(scores[0] == 1 && scores[1] == 0.5 && scores[2] == 0);
  fixture_set(&f, BLIS_SIGNAL_IN_FLIGHT, (double[]){0, 2, 4});
  scores_of("llm-d.active-request-scorer", NULL, 0, &f, &request, scores);
  CHECK(scores[0] == 1 && scores[1] == 0.5 && scores[2] == 0);
  fixture_set(&f, BLIS_SIGNAL_IN_FLIGHT, (double[]){2, 2, 2});
  scores_of("llm-d.active-request-scorer", NULL, 0, &f, &request, scores);
  CHECK(scores[0] == 0 && scores[1] == 0 && scores[2] == 0);
  fixture_set(&f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){900000, 0, 5e6});
  scores_of("llm-d.token-load-scorer", NULL, 0, &f, &request, scores);
  CHECK(fabs(scores[0] - 0.7825622559) < 1e-10);
  CHECK_EQ_DOUBLE(scores[2], 0.0);
}

/* 10 of 20 blocks of 64 tokens. */
static void llmd_prefix_cache_scorer(void) {
  fixture f;
  fixture_init(&f, 2);
  blis_ticket ticket;
  blis_block_id ids[10] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  blis_block_chain chain = {ids, 10, 20, BLIS_BLOCK_PRIVATE};
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  const blis_param half = {.name = "match_length_weight", .number = 0.5};
  for (size_t count = 0; count < 2; count++) {
    blis_error error;
    blis_scorer scorer = {0};
    const blis_params given = {&half, count};
    CHECK_OK(
        blis_scorer_create(&alloc, "llm-d.prefix-cache-scorer", &given, &context, &scorer, &error),
        &error);
    blis_routing_request request = fixture_request(1, 1280, &chain, &ticket);
    CHECK_OK(scorer.ops->observe(&(blis_question){scorer.state, &request, &f.view, &error}, 0),
             &error);
    chain.private_base += 100;
    double scores[2];
    CHECK_OK(scorer.ops->score(&(blis_question){scorer.state, &request, &f.view, &error}, scores),
             &error);
    CHECK(fabs(scores[0] - (count == 0 ? 0.5 : 0.2530517578)) < 1e-10);
    CHECK_EQ_DOUBLE(scores[1], 0.0);
    CHECK_EQ_I64(scorer.ops->believed_tokens(scorer.state, &f.view, 0), 640);
    blis_scorer_free(&scorer);
  }
}

static void llmd_session_affinity_scorer(void) {
  fixture f;
  fixture_init(&f, 3);
  blis_ticket ticket;
  blis_block_chain chain = {0};
  blis_routing_request request = fixture_request(1, 64, &chain, &ticket);
  request.session = 9;
  double scores[3];
  scores_of("llm-d.session-affinity-scorer", NULL, 0, &f, &request, scores);
  CHECK(scores[0] == 1 && scores[1] == 0 && scores[2] == 0);
  request.session = 0;
  scores_of("llm-d.session-affinity-scorer", NULL, 0, &f, &request, scores);
  CHECK(scores[0] == 0);
}

int main(void) {
  RUN(smg_cache_aware);
  RUN(smg_cache_aware_miss);
  RUN(smg_cache_aware_by_events);
  RUN(smg_min_load_ties_by_requests);
  RUN(smg_cache_aware_spills_by_the_mean);
  RUN(smg_power_of_two);
  RUN(smg_manual_remembers_two);
  RUN(sglang_lmetric);
  RUN(sglang_workload_aware);
  RUN(smg_prefix_hash);
  RUN(sglang_bounded_consistent_hashing);
  RUN(smg_consistent_hashing);
  RUN(dynamo_costs);
  RUN(dynamo_forgets_what_has_ended);
  RUN(aibrix_prefix_cache);
  RUN(aibrix_single_metrics);
  RUN(ray_prefix_cache_affinity);
  RUN(vllm_routers);
  RUN(vllm_rendezvous_hash);
  RUN(comparison_set);
  RUN(b3_least_work);
  RUN(b3_linear);
  RUN(llmd_scorers);
  RUN(llmd_prefix_cache_scorer);
  RUN(llmd_session_affinity_scorer);
  return check_done();
}
