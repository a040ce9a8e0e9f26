/*
 * Routing policies of deployed gateways that remember what happened of late:
 * the worked examples of each.
 */
#include <math.h>

#include "gateway_fixture.h"

static void at(gateway *g, double seconds) {
  g->f.view.now_us = (int64_t)(seconds * 1e6);
}

/* 2.225 s, 2.35 s and 3.0375 s of work. */
static void smg_least_load(void) {
  gateway g;
  open_policy(&g, "smg.least_load", 3);
  loads(&g, (double[]){2, 1, 3}); /* nobody was polled: the load alone */
  CHECK_EQ_I64(route_one(&g, PROMPT(500, 0, 0)), 1);
  at(&g, 10);
  fixture_set(&g.f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){4000, 1000, 0});
  fixture_set(&g.f, BLIS_SIGNAL_OUTPUT_TOKENS, (double[]){25000, 10000, 0});
  fixture_set(&g.f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.6, 0.9, 0.2});
  send_to(&g, &g.f.view, PROMPT(0, 0, 0)); /* polls; 2000 tokens/s unknown */
  teach(&g, 0, PROMPT(1000, 0, 0));
  teach(&g, 2, PROMPT(6000, 0, 0));
  CHECK_EQ_I64(route_one(&g, PROMPT(400, 0, 0)), 0);
  /* 2.385 s now, so the second is next. */
  CHECK_EQ_I64(route_one(&g, PROMPT(400, 0, 0)), 1);
  at(&g, 20); /* polled anew, what was sent is in the figures */
  fixture_set(&g.f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){9, 9, 0});
  CHECK_EQ_I64(route_one(&g, PROMPT(400, 0, 0)), 2);
  close_policy(&g);
}

/* One that was not polled yet among others: load x 1024 / 2500 tokens/s. */
static void smg_least_load_of_a_new_instance(void) {
  for (int load = 5; load <= 6; load++) {
    gateway g;
    open_policy(&g, "smg.least_load", 2);
    at(&g, 10);
    fixture_set(&g.f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){5300, 0});
    fixture_set(&g.f, BLIS_SIGNAL_OUTPUT_TOKENS, (double[]){25000, 0});
    teach(&g, 0, PROMPT(0, 0, 0));
    loads(&g, (double[]){0, load}); /* 2.12 s against 2.048 s or 2.4576 s */
    CHECK_EQ_I64(route_one(&g, PROMPT(400, 0, 0)), load == 5 ? 1 : 0);
    close_policy(&g);
  }
}

/* 4 instances share 4096 characters, 4 to a token. */
static void smg_bucket_by_length(void) {
  static const int64_t lengths[] = {255, 256, 511, 512, 767, 768, 9999};
  static const size_t chosen[] = {0, 1, 1, 2, 2, 3, 3};
  for (size_t k = 0; k < 7; k++) {
    gateway g;
    open_policy(&g, "smg.bucket", 4);
    CHECK_EQ_I64(route_one(&g, PROMPT(lengths[k], 0, 0)), chosen[k]);
    close_policy(&g);
  }
}

static void smg_bucket_balances(void) {
  gateway g;
  open_policy(&g, "smg.bucket", 2);
  CHECK_EQ_I64(route_one(&g, PROMPT(16, 0, 0)), 0); /* 64 and 0 */
  CHECK_EQ_I64(route_one(&g, PROMPT(1, 0, 0)), 0);  /* not more than 64 */
  CHECK_EQ_I64(route_one(&g, PROMPT(1, 0, 0)), 1);  /* 68 are */
  at(&g, 5.1);                                      /* all of it is too long ago */
  CHECK_EQ_I64(route_one(&g, PROMPT(1, 0, 0)), 0);
  close_policy(&g);
}

/*
 * Two instances with ranges to 2047 characters and above. Lengths 400, 400,
 * 400, 1200 in the first period: half of them end with the third, so the first
 * range ends at 400 characters.
 */
static void smg_bucket_adjusts(void) {
  gateway g;
  const blis_param never = {.name = "balance_abs_threshold", .number = 1e15};
  open_with(&g, "smg.bucket", 2, &never, 1);
  at(&g, 1);
  for (int i = 0; i < 3; i++) {
    CHECK_EQ_I64(route_one(&g, PROMPT(100, 0, 0)), 0);
  }
  CHECK_EQ_I64(route_one(&g, PROMPT(300, 0, 0)), 0);
  at(&g, 5);
  CHECK_EQ_I64(route_one(&g, PROMPT(100, 0, 0)), 0);
  CHECK_EQ_I64(route_one(&g, PROMPT(101, 0, 0)), 1);
  CHECK_EQ_I64(route_one(&g, PROMPT(199, 0, 0)), 1);
  /* 800 characters per range are within a factor of 2 of 1200. */
  at(&g, 10);
  CHECK_EQ_I64(route_one(&g, PROMPT(101, 0, 0)), 1);
  /* 202 are not: half of all end with the only prompt. */
  at(&g, 15);
  CHECK_EQ_I64(route_one(&g, PROMPT(101, 0, 0)), 0);
  close_policy(&g);
}

static void aibrix_vtc_basic(void) {
  gateway g;
  const blis_param quiet = {.name = "noise", .number = 0};
  open_with(&g, "aibrix.vtc-basic", 4, &quiet, 1);
  given_request given = PROMPT(1300, 0, 0); /* 1300 + 2 x 1950 = 5200 tokens */
  given.tenant = 3;
  loads(&g, (double[]){10, 4, 30, 0});
  CHECK_EQ_I64(route_one(&g, given), 0); /* 0.1 of tokens 0 */
  /* Alone it sets the bucket itself, 5200, and stands at place 1. */
  loads(&g, (double[]){0, 99, 0, 0});
  CHECK_EQ_I64(route_one(&g, given), 1);
  /* Another one without tokens begins at the first. */
  given.tenant = 4;
  loads(&g, (double[]){99, 0, 0, 0});
  CHECK_EQ_I64(route_one(&g, given), 0);
  at(&g, 301); /* all is forgotten */
  given.tenant = 3;
  loads(&g, (double[]){0, 0, 0, 0});
  CHECK_EQ_I64(route_one(&g, given), 0);
  close_policy(&g);
}

/* Tokens 5200 of a bucket of 4500: place 1.15556. */
static void aibrix_vtc_example(void) {
  gateway g;
  const blis_param quiet = {.name = "noise", .number = 0};
  open_with(&g, "aibrix.vtc-basic", 4, &quiet, 1);
  given_request small = PROMPT(950, 0, 0); /* 3800 */
  small.tenant = 1;
  given_request large = PROMPT(1300, 0, 0); /* 5200 */
  large.tenant = 2;
  teach(&g, 0, small);
  teach(&g, 0, large);
  loads(&g, (double[]){10, 4, 30, 0});
  CHECK_EQ_I64(route_one(&g, large), 1); /* 0.19556 of 1.25556 1.14444 1.84 */
  close_policy(&g);
}

static void aibrix_session_affinity(void) {
  gateway g;
  open_policy(&g, "aibrix.session-affinity", 4);
  blis_routing_view three = g.f.view;
  three.count = 3;
  size_t chosen[4] = {0};
  for (uint32_t session = 1; session <= SESSIONS; session++) {
    size_t home = route_one(&g, TURN(64, 4, 0, session));
    CHECK_EQ_I64(route_one(&g, TURN(640, 40, 0, session)), home);
    size_t without = send_to(&g, &three, TURN(64, 4, 0, session)).chosen;
    CHECK(home == 3 || without == home);
    /* FNV-1a of "s<k>", a zero byte, "instance_<i>". */
    uint64_t highest = 0;
    size_t best = 0;
    for (size_t i = 0; i < 4; i++) {
      char key[32];
      int length = snprintf(key, sizeof key, "s%u%cinstance_%zu", session, 0, i);
      uint64_t hash = UINT64_C(14695981039346656037);
      for (int k = 0; k < length; k++) {
        hash = (hash ^ (unsigned char)key[k]) * UINT64_C(1099511628211);
      }
      best = hash > highest ? i : best;
      highest = hash > highest ? hash : highest;
    }
    CHECK_EQ_I64(home, best);
  }
  for (int i = 0; i < 100; i++) {
    chosen[route_one(&g, PROMPT(64, 4, 0))]++;
  }
  CHECK(chosen[0] > 10 && chosen[1] > 10 && chosen[2] > 10 && chosen[3] > 10);
  close_policy(&g);
}

static void vllm_stack_kvaware(void) {
  gateway g;
  open_policy(&g, "vllm-stack.kvaware", 2);
  teach(&g, 0, PROMPT(64, 4, 0));
  fixture_set(&g.f, BLIS_SIGNAL_CACHED_TOKENS, (double[]){2900, 0});
  /* 2900 < 3000, no session: the one that never had a request. */
  CHECK_EQ_I64(route_one(&g, PROMPT(5000, 312, 0)), 1);
  fixture_set(&g.f, BLIS_SIGNAL_CACHED_TOKENS, (double[]){3000, 0});
  CHECK_EQ_I64(route_one(&g, PROMPT(5000, 312, 0)), 0);
  close_policy(&g);
}

/* Requests of the last minute count, and the ring for those with a session. */
static void vllm_stack_session(void) {
  gateway g;
  open_policy(&g, "vllm-stack.session", 3);
  size_t home = route_one(&g, TURN(64, 4, 0, 1));
  CHECK_EQ_I64(route_one(&g, TURN(64, 4, 0, 1)), home);
  close_policy(&g);
  open_policy(&g, "vllm-stack.session", 3);
  for (size_t i = 0; i < 3; i++) { /* those without statistics at first */
    CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), i);
  }
  at(&g, 30);
  teach(&g, 1, PROMPT(64, 4, 0));
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 0);
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 2);
  at(&g, 61); /* the first three have left the window: 1, 1, 1 */
  teach(&g, 0, PROMPT(64, 4, 0));
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 1);
  close_policy(&g);
}

/* 3 and 1 in the window; then the 3 have left it, and the 1 has not. */
static void vllm_stack_counts_a_window(void) {
  gateway g;
  open_policy(&g, "vllm-stack.session", 2);
  for (int i = 0; i < 3; i++) {
    teach(&g, 0, PROMPT(64, 4, 0));
  }
  at(&g, 30);
  teach(&g, 1, PROMPT(64, 4, 0));
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 1);
  at(&g, 61);
  CHECK_EQ_I64(route_one(&g, PROMPT(64, 4, 0)), 0);
  close_policy(&g);
}

static void vllm_stack_prefixaware_minimum(void) {
  gateway g;
  const blis_param minimum = {.name = "prefix_min_match_tokens", .number = 320};
  open_with(&g, "vllm-stack.prefixaware", 2, &minimum, 1);
  teach(&g, 0, PROMPT(320, 10, 10));
  CHECK_EQ_I64(route_one(&g, PROMPT(320, 10, 10)), 0);
  CHECK_EQ_I64(route_one(&g, PROMPT(320, 10, 9)), 1);
  close_policy(&g);
}

static void vllm_router_ttft_aware(void) {
  gateway g;
  open_policy(&g, "vllm-router.ttft_aware", 3);
  loads(&g, (double[]){4, 2, 2});
  CHECK_EQ_I64(route_one(&g, PROMPT(1000, 0, 0)), 1);
  close_policy(&g);
}

/* Rate 1 per second, 20 s in time, nothing for attention. */
static void open_smetric(gateway *g, double rate) {
  const blis_param params[] = {
      {.name = "prefill_rate", .number = rate},
      {.name = "slo_base_us", .number = 20e6},
      {.name = "slo_per_token_us", .number = 0},
      {.name = "block_size", .number = 1},
  };
  open_with(g, "vllm-router.smetric", 2, params, 4);
  loads(g, (double[]){1, 1});
}

static void smetric_leaves_when_it_is_late(void) {
  gateway g;
  open_smetric(&g, 1);
  CHECK_EQ_I64(route_one(&g, TURN(10, 10, 10, 1)), 0);
  first_token_of_last(&g, 0);
  CHECK_EQ_I64(route_one(&g, TURN(12, 12, 12, 1)), 0);
  first_token_of_last(&g, 0);
  teach(&g, 0, PROMPT(100, 0, 0)); /* 100 pending: 102 s */
  CHECK_EQ_I64(route_one(&g, TURN(14, 14, 14, 1)), 1);
  close_policy(&g);
  /* Nobody is in time: the longest match wins. */
  open_smetric(&g, 1);
  CHECK_EQ_I64(route_one(&g, TURN(10, 10, 10, 1)), 0);
  first_token_of_last(&g, 0);
  teach(&g, 0, PROMPT(100, 0, 0));
  teach(&g, 1, PROMPT(50, 0, 0));
  CHECK_EQ_I64(route_one(&g, TURN(12, 12, 12, 1)), 0);
  close_policy(&g);
}

static void smetric_learns_rates(void) {
  gateway g;
  open_smetric(&g, 0);
  CHECK_EQ_I64(route_one(&g, TURN(10, 10, 10, 1)), 0);
  tell_first_token(&g, 0, 10000000);
  for (int i = 0; i < 7; i++) { /* 1 per second, 8 samples in all */
    teach(&g, 0, PROMPT(5, 0, 0));
    tell_first_token(&g, 0, 5000000);
  }
  teach(&g, 0, PROMPT(100, 0, 0));
  CHECK_EQ_I64(route_one(&g, TURN(12, 12, 12, 1)), 1);
  close_policy(&g);
  open_smetric(&g, 0); /* 7 are too few to be late */
  CHECK_EQ_I64(route_one(&g, TURN(10, 10, 10, 1)), 0);
  tell_first_token(&g, 0, 10000000);
  teach(&g, 0, PROMPT(100, 0, 0));
  CHECK_EQ_I64(route_one(&g, TURN(12, 12, 12, 1)), 0);
  close_policy(&g);
}

static void smetric_scores(void) {
  gateway g;
  open_smetric(&g, 1);
  loads(&g, (double[]){3, 1});
  CHECK_EQ_I64(route_one(&g, PROMPT(10, 0, 0)), 1);
  close_policy(&g);
  /* What has ended without a first token is not pending any more. */
  open_smetric(&g, 1);
  teach(&g, 0, PROMPT(100, 0, 0));
  fixture_ended(&g.router, &g.tickets[0], 0);
  teach(&g, 1, PROMPT(1, 0, 0));
  CHECK_EQ_I64(route_one(&g, PROMPT(10, 0, 0)), 0);
  close_policy(&g);
}

/* 8000 tokens: 2700 with 6000 of them cached, 9600 with none. */
static void smetric_costs(void) {
  for (int pending = 6890; pending <= 6910; pending += 20) {
    gateway g;
    const blis_param params[] = {
        {.name = "crossover_tokens", .number = 20000},
        {.name = "block_size", .number = 16},
    };
    open_with(&g, "vllm-router.smetric", 2, params, 2);
    loads(&g, (double[]){1, 1});
    teach(&g, 0, PROMPT(6000, 375, 375));
    first_token_of_last(&g, 0);
    /* n (1 + n / 40000) = cost of so many tokens of its own */
    double n = 20000 * (sqrt(1 + (double)pending / 10000) - 1);
    teach(&g, 0, PROMPT((int64_t)floor(n), 0, 0));
    CHECK_EQ_I64(route_one(&g, PROMPT(8000, 500, 375)), pending < 6900 ? 0 : 1);
    close_policy(&g);
  }
}

static void preble_e2(void) {
  gateway g;
  open_policy(&g, "preble.e2", 3);
  CHECK_EQ_I64(route_one(&g, PROMPT(1600, 100, 100)), 0);
  CHECK_EQ_I64(route_one(&g, PROMPT(1600, 100, 0)), 1); /* 0 is charged */
  /* 100 of 150 blocks are known, so where they are; of 250 they are not most,
     so the idle one. */
  CHECK_EQ_I64(route_one(&g, PROMPT(2400, 150, 100)), 0);
  CHECK_EQ_I64(route_one(&g, PROMPT(4000, 250, 100)), 2);
  /* Now two have the first 100 blocks. The first one decodes for 3 requests
     at nodes, 45 x 0.15 s each, and the third for 2. */
  CHECK_EQ_I64(route_one(&g, PROMPT(2400, 150, 100)), 2);
  CHECK_EQ_I64(route_one(&g, PROMPT(2400, 150, 100)), 0);
  close_policy(&g);
}

/* What is expected to be decoded counts until it ends. */
static void preble_e2_counts_decode(void) {
  gateway g;
  open_policy(&g, "preble.e2", 2);
  teach(&g, 0, PROMPT(160, 10, 0));
  teach(&g, 1, PROMPT(176, 11, 0)); /* 45 x 0.15 s each, and more prefill? */
  /* Both below 192 tokens: equal prefill, so the first of two equal ones. */
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 10, 0)), 0);
  fixture_ended(&g.router, &g.tickets[0], 0);
  fixture_ended(&g.router, &g.tickets[2], 0);
  /* Prefill alone is left at the first: 2 x 24.8 ms against 6.77 s. */
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 10, 0)), 0);
  /* 20 ms per token make the second one the cheaper one of two. */
  const blis_request_times slow = {.itl_sum_us = 400000, .itl_count = 1};
  const blis_request_times fast = {.itl_sum_us = 20000, .itl_count = 1};
  g.router.ops->ended(g.router.state, &g.tickets[3], 0, &slow);
  g.router.ops->ended(g.router.state, &g.tickets[1], 1, &fast);
  teach(&g, 0, PROMPT(160, 10, 0));
  teach(&g, 1, PROMPT(160, 10, 0));
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 10, 0)), 1);
  at(&g, 181); /* prefill is forgotten, 3 x 45 tokens are not */
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 10, 0)), 1);
  close_policy(&g);
}

static void aibrix_prefix_cache_preble(void) {
  gateway g;
  open_policy(&g, "aibrix.prefix-cache-preble", 3);
  teach(&g, 1, PROMPT(1600, 100, 100));
  CHECK_EQ_I64(route_one(&g, PROMPT(3184, 199, 100)), 1); /* just over half */
  /* Exactly half is not: the least cost, which is of those without any. */
  CHECK_EQ_I64(route_one(&g, PROMPT(3200, 200, 100)), 0);
  /* 0 and 1 have the first 100 blocks; 0 has had one request, 1 two. */
  CHECK_EQ_I64(route_one(&g, PROMPT(1600, 100, 100)), 0);
  /* Far apart, only the least busy one counts. */
  loads(&g, (double[]){9, 9, 0});
  CHECK_EQ_I64(route_one(&g, PROMPT(1600, 100, 100)), 2);
  loads(&g, (double[]){8, 8, 0});
  at(&g, 181);
  CHECK_EQ_I64(route_one(&g, PROMPT(1600, 100, 100)), 0); /* all forgotten */
  close_policy(&g);
}

static void set_blitz(gateway *g, const double *waiting, const double *running, const double *hit,
                      const double *decoded) {
  fixture_set(&g->f, BLIS_SIGNAL_QUEUE_DEPTH, waiting);
  fixture_set(&g->f, BLIS_SIGNAL_BATCH_SIZE, running);
  fixture_set(&g->f, BLIS_SIGNAL_CACHED_TOKENS, hit);
  fixture_set(&g->f, BLIS_SIGNAL_DECODED_TOKENS, decoded);
}

static void blitz_tokens(void) {
  gateway g;
  const double none[] = {0, 0, 0};
  open_policy(&g, "blitz.least-active", 3);
  teach(&g, 0, PROMPT(100, 0, 0));
  teach(&g, 1, PROMPT(90, 0, 0));
  set_blitz(&g, none, none, none, (double[]){0, 20, 101});
  CHECK_EQ_I64(route_one(&g, PROMPT(50, 0, 0)), 0); /* 100, 110, 101 */
  CHECK_EQ_I64(route_one(&g, PROMPT(50, 0, 0)), 2); /* 150, 110, 101 */
  fixture_ended(&g.router, &g.tickets[0], 0);
  CHECK_EQ_I64(route_one(&g, PROMPT(50, 0, 0)), 0); /* 50 */
  close_policy(&g);
  open_policy(&g, "blitz.least-token-load", 2);
  teach(&g, 0, PROMPT(100, 0, 0));
  fixture_set(&g.f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){10, 111});
  CHECK_EQ_I64(route_one(&g, PROMPT(50, 0, 0)), 0); /* 110 and 111 */
  close_policy(&g);
}

static void blitz_lmetric(void) {
  gateway g;
  const double none[] = {0, 0, 0};
  open_policy(&g, "blitz.lmetric", 3);
  set_blitz(&g, none, (double[]){3, 2, 1}, (double[]){0, 6144, 0}, none);
  fixture_set(&g.f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){0, 4096, 1024});
  CHECK_EQ_I64(route_one(&g, PROMPT(8192, 0, 0)), 1); /* 32768 18432 18432 */
  close_policy(&g);
}

/* Blocks of 16: 64 - 48 = 16 twice, and 100 in decode, against 128 + 0. */
static void blitz_dynamo(void) {
  for (int variant = 0; variant < 2; variant++) {
    gateway g;
    const blis_param prefill = {.name = "count", .text = "prefill"};
    const double none[] = {0, 0};
    open_with(&g, "blitz.dynamo", 2, &prefill, (size_t)variant);
    set_blitz(&g, none, none, (double[]){768, 0}, (double[]){1600, 0});
    CHECK_EQ_I64(route_one(&g, PROMPT(1024, 64, 0)), variant == 0 ? 1 : 0);
    close_policy(&g);
  }
}

/* Sums 0.7 + 0.15, 0.35 + 0.075 + 0.15, 0.15: 0.85, 0.575, 0.15 of 1.575. */
static void blitz_bailian(void) {
  gateway g;
  size_t picked[3] = {0};
  const double none[] = {0, 0, 0};
  for (int64_t seed = 0; seed < 3; seed++) {
    open_policy(&g, "blitz.bailian", 3);
    for (int i = 0; i < 4000; i++) {
      set_blitz(&g, none, (double[]){4, 2, 0}, (double[]){64, 32, 0}, (double[]){10, 10, 20});
      size_t chosen = route_one(&g, PROMPT(0, 0, 0));
      /* decoded tokens: (20 - 10) / 10 = 1 for two of them */
      picked[chosen]++;
    }
    close_policy(&g);
  }
  double sums[] = {0.7 + 0.15, 0.35 + 0.075 + 0.15, 0.15};
  for (size_t i = 0; i < 3; i++) {
    CHECK(fabs((double)picked[i] / 12000 - sums[i] / 1.575) < 0.02);
  }
}

static void blitz_aibrix(void) {
  gateway g;
  const double none[] = {0, 0, 0, 0};
  const double hit[] = {0, 0, 160, 96};
  open_policy(&g, "blitz.aibrix", 4);
  set_blitz(&g, none, (double[]){2, 3, 9, 4}, hit, none);
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 0, 0)), 3); /* 9 is over 7.61 */
  set_blitz(&g, none, (double[]){4, 3, 5, 6}, hit, none);
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 0, 0)), 2);
  set_blitz(&g, none, (double[]){2, 3, 12, 2}, hit, none);
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 0, 0)), 3); /* of the least two */
  close_policy(&g);
}

/* 10 x share + 0.5 (1 - waiting / 128); the last of equal ones. */
static void blitz_llmd(void) {
  gateway g;
  const double none[] = {0, 0, 0};
  open_policy(&g, "blitz.llm-d", 3);
  set_blitz(&g, (double[]){0, 0, 64}, none, none, none);
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 0, 0)), 1);
  set_blitz(&g, (double[]){128, 0, 64}, none, (double[]){160, 150, 0}, none);
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 0, 0)), 0); /* 10, 9.875, 0.25 */
  set_blitz(&g, (double[]){128, 0, 64}, none, (double[]){160, 153, 0}, none);
  CHECK_EQ_I64(route_one(&g, PROMPT(160, 0, 0)), 1); /* 10, 10.0625, 0.25 */
  close_policy(&g);
}

/* lmetric would go to 0, with 160 x 1 against 320 x 1; decode weighs 200. */
static void b3_unified_ab(void) {
  for (int variant = 0; variant < 2; variant++) {
    gateway g;
    const blis_param params[] = {{.name = "block_size", .number = 16},
                                 {.name = "decode_weight", .number = 1}};
    open_with(&g, "b3.unified_ab", 2, params, variant == 0 ? 1 : 2);
    teach(&g, 0, PROMPT(200, 10, 10));
    first_token_of_last(&g, 0);
    teach(&g, 1, PROMPT(16, 1, 0));
    first_token_of_last(&g, 1);
    blis_decision d = send_to(&g, &g.f.view, PROMPT(320, 20, 10));
    double weight = variant == 0 ? 0.01 : 1;
    CHECK_EQ_DOUBLE(d.scores[0], -160.0 - weight * 200);
    CHECK_EQ_DOUBLE(d.scores[1], -320.0 - weight * 16);
    CHECK_EQ_I64(d.chosen, variant);
    close_policy(&g);
  }
}

int main(void) {
  RUN(smg_least_load);
  RUN(smg_least_load_of_a_new_instance);
  RUN(smg_bucket_by_length);
  RUN(smg_bucket_balances);
  RUN(smg_bucket_adjusts);
  RUN(aibrix_vtc_basic);
  RUN(aibrix_vtc_example);
  RUN(aibrix_session_affinity);
  RUN(vllm_stack_kvaware);
  RUN(vllm_stack_session);
  RUN(vllm_stack_counts_a_window);
  RUN(vllm_stack_prefixaware_minimum);
  RUN(vllm_router_ttft_aware);
  RUN(smetric_leaves_when_it_is_late);
  RUN(smetric_learns_rates);
  RUN(smetric_scores);
  RUN(smetric_costs);
  RUN(preble_e2);
  RUN(preble_e2_counts_decode);
  RUN(aibrix_prefix_cache_preble);
  RUN(blitz_tokens);
  RUN(blitz_lmetric);
  RUN(blitz_dynamo);
  RUN(blitz_bailian);
  RUN(blitz_aibrix);
  RUN(blitz_llmd);
  RUN(b3_unified_ab);
  return check_done();
}
