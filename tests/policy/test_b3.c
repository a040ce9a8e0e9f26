/* lmetric, load_only, sticky, unified, capped as the B3 pseudocode has them. */
#include "routing_fixture.h"

enum { BLOCKS = 20, TICKETS = 16 };

static blis_block_id shared_ids[BLOCKS] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                           11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

/* A router and the requests it has in flight. */
typedef struct bench {
  blis_alloc alloc;
  blis_router router;
  fixture f;
  blis_block_chain chains[TICKETS];
  blis_ticket tickets[TICKETS];
  uint32_t instances[TICKETS];
  size_t count;
} bench;

static void bench_init(bench *b, const char *policy, const blis_params *params, size_t instances) {
  *b = (bench){.alloc = blis_alloc_heap()};
  blis_policy_context context = fixture_context();
  context.kv_blocks = 100000;
  b->router = fixture_router(&b->alloc, policy, params, &context);
  fixture_init(&b->f, instances);
}

static blis_decision send(bench *b, const blis_routing_view *view, uint32_t session, int32_t turn,
                          int64_t tokens, uint32_t shared_blocks) {
  CHECK(b->count < TICKETS);
  blis_block_chain *chain = &b->chains[b->count];
  *chain = (blis_block_chain){shared_ids, shared_blocks, (uint32_t)(tokens / 512),
                              BLIS_BLOCK_PRIVATE | (b->count + 1) << 32};
  blis_routing_request request =
      fixture_request((int64_t)b->count, tokens, chain, &b->tickets[b->count]);
  request.session = session;
  request.round_index = turn;
  request.wants_parts = true;
  blis_decision d = fixture_route(&b->router, &request, view);
  if (d.rejected == NULL) {
    b->instances[b->count++] = view->instances[d.chosen];
  }
  return d;
}

/* Sends requests of no tokens to an instance until it has so many. */
static void load(bench *b, size_t instance, int requests) {
  blis_routing_view view = fixture_only(&b->f, instance);
  while (requests-- > 0) {
    send(b, &view, 0, 0, 0, 0);
  }
}

static void end(bench *b, size_t k) {
  fixture_ended(&b->router, &b->tickets[k], b->instances[k]);
  b->instances[k] = UINT32_MAX;
}

static void bench_deinit(bench *b) {
  for (size_t k = 0; k < b->count; k++) {
    if (b->instances[k] != UINT32_MAX) {
      end(b, k);
    }
  }
  blis_router_free(&b->router);
}

/* Checks the scores of a request, which are of three instances; where it goes.
 */
static void check_lmetric(bench *b, int64_t tokens, uint32_t shared_blocks,
                          const double expected[3], size_t chosen) {
  blis_decision d = send(b, &b->f.view, 0, 0, tokens, shared_blocks);
  for (size_t i = 0; i < 3; i++) {
    CHECK_EQ_DOUBLE(d.scores[i], 0 - expected[i]);
  }
  CHECK_EQ_I64(d.chosen, chosen);
}

/* (pending prefill + what is not cached of it) x requests; ties to the first.
 */
static void lmetric_takes_the_least_work_times_requests(void) {
  bench b;
  bench_init(&b, "lmetric", NULL, 3);
  check_lmetric(&b, 1000, 0, (double[]){0, 0, 0}, 0);
  check_lmetric(&b, 512, 0, (double[]){1512, 0, 0}, 1);
  check_lmetric(&b, 600, 0, (double[]){1600, 1112, 0}, 2);
  check_lmetric(&b, 100, 0, (double[]){1100, 612, 700}, 1);
  check_lmetric(&b, 100, 0, (double[]){1100, 2 * 712, 700}, 2);
  fixture_first_token(&b.router, &b.tickets[0], 0); /* nothing is pending */
  check_lmetric(&b, 100, 0, (double[]){100, 2 * 712, 2 * 800}, 0);
  bench_deinit(&b);
  /* 12 of 20 blocks of 512 tokens are on instance 1, with two requests. */
  bench_init(&b, "lmetric", NULL, 3);
  load(&b, 0, 1);
  blis_routing_view warm = fixture_only(&b.f, 1);
  send(&b, &warm, 0, 0, INT64_C(12) * 512, 12);
  fixture_first_token(&b.router, &b.tickets[1], 1);
  load(&b, 1, 1);
  load(&b, 2, 1);
  check_lmetric(&b, INT64_C(20) * 512, 20, (double[]){20 * 512, 2 * 8 * 512, 20 * 512}, 1);
  bench_deinit(&b);
}

static void load_only_takes_the_first_of_the_least_loaded(void) {
  bench b;
  bench_init(&b, "load_only", NULL, 3);
  CHECK_EQ_I64(send(&b, &b.f.view, 1, 0, 100, 0).chosen, 0);
  load(&b, 0, 1);
  load(&b, 1, 1);
  load(&b, 2, 1); /* 2, 1, 1 */
  CHECK_EQ_I64(send(&b, &b.f.view, 1, 0, 100, 0).chosen, 1);
  CHECK_EQ_I64(send(&b, &b.f.view, 1, 0, 100, 0).chosen, 2);
  end(&b, 0);
  end(&b, 1);
  CHECK_EQ_I64(send(&b, &b.f.view, 1, 0, 100, 0).chosen, 0);
  bench_deinit(&b);
}

static void sticky_stays_whatever_the_load(void) {
  bench b;
  bench_init(&b, "sticky", NULL, 3);
  blis_routing_view last = fixture_only(&b.f, 2);
  send(&b, &last, 77, 0, 100, 0);
  load(&b, 2, 10);
  CHECK_EQ_I64(send(&b, &b.f.view, 77, 1, 100, 0).chosen, 2);
  /* Others go where little is; those without a session bind nothing. */
  CHECK_EQ_I64(send(&b, &b.f.view, 78, 0, 100, 0).chosen, 0);
  CHECK_EQ_I64(send(&b, &b.f.view, 0, 0, 100, 0).chosen, 1);
  /* An instance that is no longer there is replaced for good. */
  b.f.view.count = 2;
  CHECK_EQ_I64(send(&b, &b.f.view, 77, 2, 100, 0).chosen, 0);
  b.f.view.count = 3;
  CHECK_EQ_I64(send(&b, &b.f.view, 77, 3, 100, 0).chosen, 0);
  bench_deinit(&b);
}

static void sticky_forgets_sessions_after_their_time(void) {
  blis_param param = {.name = "session_ttl_us", .number = 1000};
  blis_params params = {&param, 1};
  bench b;
  bench_init(&b, "sticky", &params, 2);
  blis_routing_view last = fixture_only(&b.f, 1);
  send(&b, &last, 77, 0, 100, 0);
  b.f.view.now_us = 1000;
  CHECK_EQ_I64(send(&b, &b.f.view, 77, 1, 100, 0).chosen, 1);
  b.f.view.now_us = 2001;
  CHECK_EQ_I64(send(&b, &b.f.view, 77, 2, 100, 0).chosen, 0);
  bench_deinit(&b);
}

/*
 * A session bound to instance 0, which holds 6144 of the 10240 tokens, and
 * requests of (first, 1, second, 1).
 */
static void unified_init(bench *b, const blis_params *params, uint32_t hit, int first, int second) {
  bench_init(b, "unified", params, 4);
  blis_routing_view home = fixture_only(&b->f, 0);
  send(b, &home, 77, 0, INT64_C(512) * hit, hit);
  fixture_first_token(&b->router, &b->tickets[0], 0);
  load(b, 0, first - 1);
  load(b, 1, 1);
  load(b, 2, second);
  load(b, 3, 1);
}

static blis_decision next_turn(bench *b) {
  return send(b, &b->f.view, 77, 1, 10240, BLOCKS);
}

static void unified_sticks_while_it_pays(void) {
  bench b;
  unified_init(&b, NULL, 12, 4, 2); /* 4 <= 2 x mean 2 */
  blis_decision d = next_turn(&b);
  CHECK_EQ_I64(d.chosen, 0);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "is_affinity"), 1);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "affinity_instance"), 0);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "cached_tokens"), 6144);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "cache_ratio"), 0.6);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "mean_requests"), 2);
  CHECK(isnan(fixture_fact(&d, "fallback_score")));
  bench_deinit(&b);
  unified_init(&b, NULL, 12, 5, 1); /* 5 > 4 */
  CHECK(next_turn(&b).chosen != 0);
  bench_deinit(&b);
  unified_init(&b, NULL, 10, 4, 2); /* ratio exactly 0.5 */
  CHECK(next_turn(&b).chosen != 0);
  bench_deinit(&b);
}

/* The example: pending 2048, 0, 512, 0 and requests 5, 1, 1, 1. */
static blis_decision unified_falls_back(bool after_a_tie) {
  bench b;
  bench_init(&b, "unified", NULL, 4);
  if (after_a_tie) {
    blis_routing_view view = b.f.view;
    view.count = 2;
    CHECK_EQ_I64(send(&b, &view, 0, 0, 100, 0).chosen, 0);
    end(&b, 0);
  }
  size_t bound = b.count;
  blis_routing_view home = fixture_only(&b.f, 0);
  send(&b, &home, 77, 0, INT64_C(12) * 512, 12);
  fixture_first_token(&b.router, &b.tickets[bound], 0);
  send(&b, &home, 0, 0, 2048, 0);
  load(&b, 0, 3);
  load(&b, 1, 1);
  blis_routing_view third = fixture_only(&b.f, 2);
  send(&b, &third, 0, 0, 512, 0);
  load(&b, 3, 1);
  blis_decision d = next_turn(&b);
  static const double expected[] = {30720, 10240, 10752, 10240};
  for (size_t i = 0; i < 4; i++) {
    CHECK_EQ_DOUBLE(d.scores[i], -expected[i]);
  }
  CHECK_EQ_DOUBLE(fixture_fact(&d, "is_affinity"), 0);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "affinity_instance"), 0);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "affinity_cache_ratio"), 0.6);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "cache_ratio"), 0);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "fallback_score"), 10240);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "broke_tie"), 1);
  bench_deinit(&b);
  return d;
}

static void unified_rotates_among_equals(void) {
  CHECK_EQ_I64(unified_falls_back(false).chosen, 1);
  CHECK_EQ_I64(unified_falls_back(true).chosen, 3);
}

/* Equal scores of 0: more cached tokens first, then fewer requests. */
static void unified_breaks_ties_by_further_keys(void) {
  bench b;
  bench_init(&b, "unified", NULL, 3);
  blis_routing_view warm = fixture_only(&b.f, 2);
  send(&b, &warm, 0, 0, INT64_C(4) * 512, 4);
  end(&b, 0);
  CHECK_EQ_I64(send(&b, &b.f.view, 0, 0, 10240, BLOCKS).chosen, 2);
  bench_deinit(&b);
  bench_init(&b, "unified", NULL, 3);
  load(&b, 0, 2); /* no tokens anywhere: all scores are 0 */
  load(&b, 1, 1);
  load(&b, 2, 2);
  CHECK_EQ_I64(send(&b, &b.f.view, 0, 0, 0, 0).chosen, 1);
  bench_deinit(&b);
}

/* Where the third turn goes after the second had to leave instance 0. */
static size_t third_turn(const char *bind) {
  blis_param param = {.name = "bind", .text = bind};
  blis_params params = {&param, 1};
  bench b;
  unified_init(&b, &params, 12, 5, 1);
  CHECK_EQ_I64(next_turn(&b).chosen, 1);
  size_t second = b.count - 1;
  fixture_first_token(&b.router, &b.tickets[second], 1);
  for (size_t k = 0; k < 5; k++) {
    end(&b, k); /* instance 0 is idle again */
  }
  size_t chosen = next_turn(&b).chosen;
  bench_deinit(&b);
  return chosen;
}

static void unified_binds_by_rule(void) {
  CHECK_EQ_I64(third_turn("every-pick"), 1);
  CHECK_EQ_I64(third_turn("first"), 0);
  /* Never bound, a session that would stay goes by LMetric. */
  blis_param param = {.name = "bind", .text = "never"};
  blis_params params = {&param, 1};
  bench b;
  unified_init(&b, &params, 12, 4, 2);
  CHECK_EQ_I64(next_turn(&b).chosen, 1);
  bench_deinit(&b);
}

static void capped_serves_the_first_turns(void) {
  bench b;
  bench_init(&b, "capped", NULL, 2);
  for (int32_t turn = 0; turn < 8; turn++) {
    CHECK(send(&b, &b.f.view, 77, turn, 100, 0).rejected == NULL);
  }
  CHECK_STR(send(&b, &b.f.view, 77, 8, 100, 0).rejected, "turn-cap");
  CHECK_STR(send(&b, &b.f.view, 77, 9, 100, 0).rejected, "turn-cap");
  CHECK(send(&b, &b.f.view, 78, 0, 100, 0).rejected == NULL);
  bench_deinit(&b);
  blis_param param = {.name = "max_turns", .number = 1};
  blis_params params = {&param, 1};
  bench_init(&b, "b3.capped", &params, 2);
  CHECK(send(&b, &b.f.view, 77, 0, 100, 0).rejected == NULL);
  CHECK(send(&b, &b.f.view, 77, 1, 100, 0).rejected != NULL);
  bench_deinit(&b);
}

/* When everybody has left, a decision is like the very first one. */
static void counters_come_back_to_zero(void) {
  static const char *const policies[] = {"lmetric", "load_only", "unified", "sticky"};
  for (size_t p = 0; p < 4; p++) {
    bench b;
    bench_init(&b, policies[p], NULL, 3);
    for (int round = 0; round < 50; round++) {
      for (int i = 0; i < 6; i++) {
        send(&b, &b.f.view, 0, 0, 700, 0);
      }
      for (size_t k = b.count; k-- > 0;) {
        if (k % 2 == 0 && b.router.ops->first_token != NULL) {
          fixture_first_token(&b.router, &b.tickets[k], b.instances[k]);
        }
        end(&b, k);
      }
      b.count = 0;
    }
    blis_decision d = send(&b, &b.f.view, 0, 0, 700, 0);
    CHECK(d.scores == NULL || d.scores[0] == 0);
    CHECK(p == 2 || d.chosen == 0); /* unified takes turns */
    bench_deinit(&b);
  }
}

int main(void) {
  RUN(lmetric_takes_the_least_work_times_requests);
  RUN(load_only_takes_the_first_of_the_least_loaded);
  RUN(sticky_stays_whatever_the_load);
  RUN(sticky_forgets_sessions_after_their_time);
  RUN(unified_sticks_while_it_pays);
  RUN(unified_rotates_among_equals);
  RUN(unified_breaks_ties_by_further_keys);
  RUN(unified_binds_by_rule);
  RUN(capped_serves_the_first_turns);
  RUN(counters_come_back_to_zero);
  return check_done();
}
