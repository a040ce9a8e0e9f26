/* RouteSim's seven algorithms on the examples of its design document. */
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

static void bench_init(bench *b, const char *policy, const blis_params *params, size_t instances) {
  *b = (bench){.alloc = blis_alloc_heap()};
  blis_policy_context context = fixture_context();
  b->router = fixture_router(&b->alloc, policy, params, &context);
  fixture_init(&b->f, instances);
  b->request = fixture_request(1, 128, &b->chain, &b->ticket);
  b->request.wants_parts = true;
}

static void set(bench *b, blis_signal signal, const double *values) {
  fixture_set(&b->f, signal, values);
}

static blis_decision decide(bench *b) {
  return fixture_route(&b->router, &b->request, &b->f.view);
}

static void check_near(double got, double expected) {
  CHECK(fabs(got - expected) < 1e-6);
}

static void round_robin_goes_by_number(void) {
  bench b;
  bench_init(&b, "routesim.round_robin", NULL, 4);
  CHECK_EQ_I64(decide(&b).chosen, 0);
  CHECK_EQ_I64(decide(&b).chosen, 1);
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 0, 256, 255});
  CHECK_EQ_I64(decide(&b).chosen, 3);
  CHECK_EQ_I64(decide(&b).chosen, 0);
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 0, 0, 0});
  int counts[4] = {0};
  for (int i = 0; i < 100; i++) {
    counts[decide(&b).chosen]++;
  }
  for (int i = 0; i < 4; i++) {
    CHECK_EQ_I64(counts[i], 25);
  }
  blis_router_free(&b.router);
}

static void full_queues_reject(void) {
  static const char *const policies[] = {"round_robin",    "least_outstanding", "least_kv",
                                         "prefix_aware",   "prefix_overlap",    "session_affinity",
                                         "cost_escalation"};
  for (size_t p = 0; p < 7; p++) {
    bench b;
    bench_init(&b, policies[p], NULL, 2);
    CHECK_CONTAINS(b.router.name, "routesim.");
    b.request.session = 5;
    b.request.prefix_tokens = 64;
    set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){256, 300});
    CHECK_STR(decide(&b).rejected, "no-candidate");
    set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){256, 255});
    set(&b, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0, 1});
    set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){128, 0});
    set(&b, BLIS_SIGNAL_PREFIX_HIT, (double[]){1, 0});
    blis_decision d = decide(&b);
    CHECK(d.rejected == NULL);
    CHECK_EQ_I64(d.chosen, 1);
    CHECK(d.scores == NULL || isinf(d.scores[0]));
    blis_router_free(&b.router);
  }
}

static void least_outstanding_example(void) {
  bench b;
  bench_init(&b, "routesim.least_outstanding", NULL, 3); /* as documented */
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){3, 2, 0});
  set(&b, BLIS_SIGNAL_BATCH_SIZE, (double[]){5, 4, 6});
  CHECK_EQ_I64(decide(&b).chosen, 1);
  blis_router_free(&b.router);
}

/* Between its prefill and its end a request is part of the load. */
static void decoding_requests_are_load(void) {
  blis_param param = {.name = "count_prefilling", .number = 0};
  blis_params params = {&param, 1};
  bench b;
  bench_init(&b, "routesim.least_outstanding", &params, 2);
  set(&b, BLIS_SIGNAL_BATCH_SIZE, (double[]){9, 0});
  blis_ticket first, second;
  b.request.ticket = &first;
  CHECK_EQ_I64(decide(&b).chosen, 0);
  b.request.ticket = &second;
  CHECK_EQ_I64(decide(&b).chosen, 0); /* the first is being prefilled */
  fixture_first_token(&b.router, &first, 0);
  CHECK_EQ_I64(decide(&b).chosen, 1);
  fixture_first_token(&b.router, &first, 0);
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 1});
  CHECK_EQ_I64(decide(&b).chosen, 0); /* 1 and 1, not 2 and 1 */
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 0});
  fixture_ended(&b.router, &first, 0);
  CHECK_EQ_I64(decide(&b).chosen, 0);
  blis_router_free(&b.router);
}

static void least_kv_example(void) {
  bench b;
  bench_init(&b, "routesim.least_kv", NULL, 3);
  set(&b, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.62, 0.35, 0.35});
  CHECK_EQ_I64(decide(&b).chosen, 1);
  blis_router_free(&b.router);
}

static void bench_init_profile(bench *b, const char *policy, const char *profile,
                               size_t instances) {
  blis_param param = {.name = "profile", .text = profile};
  blis_params params = {&param, 1};
  bench_init(b, policy, &params, instances);
}

/* The formula as it is printed, without a limit of the load. */
static void prefix_aware_example(void) {
  for (int is_code = 0; is_code <= 1; is_code++) {
    bench b;
    blis_param design = {.name = "imbalance", .number = 0};
    blis_param code = {.name = "profile", .text = "routesim"};
    blis_params params = {is_code ? &code : &design, 1};
    bench_init(&b, "routesim.prefix_aware", &params, 4);
    b.request.prefix_tokens = 64;
    set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){64, 0, 80, 64});
    set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){30, 4, 244, 205});
    blis_decision d = decide(&b);
    CHECK_EQ_I64(d.chosen, 0);
    CHECK_EQ_DOUBLE(d.scores[0], 0.9765625);
    check_near(d.scores[1], 0.196875);
    check_near(d.scores[2], is_code ? 0.009375 : 0.809375);
    check_near(d.scores[3], 0.83984375);
    blis_router_free(&b.router);
  }
}

/* Above 1.5 times 1 + the mean load, which is 16 here, a prefix does not count.
 */
static void prefix_aware_gives_way(void) {
  bench b;
  bench_init(&b, "routesim.prefix_aware", NULL, 4);
  b.request.prefix_tokens = 64;
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){64, 0, 0, 0});
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){20, 8, 20, 12});
  set(&b, BLIS_SIGNAL_BATCH_SIZE, (double[]){4, 0, 0, 0}); /* part of it */
  CHECK_EQ_I64(decide(&b).chosen, 0);                      /* the limit is 25.5 */
  set(&b, BLIS_SIGNAL_BATCH_SIZE, (double[]){6, 0, 0, 0});
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){20, 7, 20, 12});
  CHECK_EQ_I64(decide(&b).chosen, 1);
  blis_router_free(&b.router);
}

/* A prompt whose first four blocks are known. */
static void know_blocks(bench *b) {
  static blis_block_id ids[] = {1, 2, 3, 4};
  b->chain = (blis_block_chain){ids, 4, 8, BLIS_BLOCK_PRIVATE};
}

/* What counts as having the prefix. */
static void prefix_aware_finds_prefixes(void) {
  bench b;
  bench_init(&b, "routesim.prefix_aware", NULL, 3);
  set(&b, BLIS_SIGNAL_CACHED_TOKENS, (double[]){0, 32, 64});
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){1, 2, 3});
  b.request.prefix_tokens = 64; /* all of it */
  CHECK_EQ_I64(decide(&b).chosen, 2);
  b.request.prefix_tokens = 47; /* its full blocks */
  CHECK_EQ_I64(decide(&b).chosen, 1);
  b.request.prefix_tokens = 15; /* none: least outstanding */
  CHECK_EQ_I64(decide(&b).chosen, 0);
  CHECK(decide(&b).scores == NULL);
  b.request.prefix_tokens = 0;
  CHECK_EQ_I64(decide(&b).chosen, 0);
  know_blocks(&b);
  CHECK_EQ_I64(decide(&b).chosen, 1); /* shared content: its first block */
  blis_router_free(&b.router);
}

static void prefix_overlap_example(void) {
  for (int is_code = 0; is_code <= 1; is_code++) {
    bench b;
    bench_init_profile(&b, "routesim.prefix_overlap", is_code ? "routesim" : "design", 5);
    know_blocks(&b);
    set(&b, BLIS_SIGNAL_PREFIX_HIT, (double[]){0.75, 0.25, 1, 1, 0});
    set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){32, 2, 240, 0, 0});
    set(&b, BLIS_SIGNAL_BATCH_SIZE, (double[]){0, 0, 0, 300, 300});
    for (int i = 0; i < 600; i++) { /* decoding: load above the depth */
      blis_routing_view view = fixture_only(&b.f, i < 300 ? 3 : 4);
      blis_ticket ticket;
      b.request.ticket = &ticket;
      fixture_route(&b.router, &b.request, &view);
      fixture_first_token(&b.router, &ticket, i < 300 ? 3 : 4);
    }
    b.request.ticket = &b.ticket;
    blis_decision d = decide(&b);
    CHECK_EQ_I64(d.chosen, 0);
    check_near(d.scores[0], 0.7875);
    check_near(d.scores[1], 0.47265625);
    check_near(d.scores[2], 0.01875);
    check_near(d.scores[3], is_code ? 0 : 0.3 * (1 - 300.0 / 256));
    check_near(d.scores[4], is_code ? 0 : 0.3 * (1 - 300.0 / 256));
    b.request.prompt_tokens = 15; /* no block at all: least outstanding */
    CHECK_EQ_I64(decide(&b).chosen, 1);
    blis_router_free(&b.router);
  }
}

/* Prompts of which a prefix is known at most go to the least outstanding. */
static void prefix_overlap_needs_block_ids(void) {
  for (int takes_all = 0; takes_all <= 1; takes_all++) {
    blis_param param = {.name = "blocks", .text = takes_all ? "all" : "named"};
    blis_params params = {&param, 1};
    bench b;
    bench_init(&b, "routesim.prefix_overlap", &params, 2);
    set(&b, BLIS_SIGNAL_PREFIX_HIT, (double[]){0, 0.5});
    set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){1, 2});
    CHECK_EQ_I64(decide(&b).chosen, takes_all ? 1 : 0);
    CHECK((decide(&b).scores != NULL) == takes_all);
    know_blocks(&b);
    b.request.prefix_tokens = 64; /* the four blocks and nothing else */
    CHECK_EQ_I64(decide(&b).chosen, takes_all ? 1 : 0);
    b.request.prefix_tokens = 63; /* one of them is known otherwise */
    CHECK_EQ_I64(decide(&b).chosen, 1);
    blis_router_free(&b.router);
  }
}

/* At exactly 0.9 of the depth the code breaks, the document does not yet. */
static void profiles_differ_at_the_limit_and_in_ties(void) {
  blis_param items[] = {{.name = "max_queue_depth", .number = 10},
                        {.name = "profile", .text = "design"}};
  blis_params params = {items, 2};
  for (int is_code = 0; is_code <= 1; is_code++) {
    items[1].text = is_code ? "routesim" : "design";
    bench b;
    bench_init(&b, "routesim.prefix_overlap", &params, 3);
    know_blocks(&b);
    set(&b, BLIS_SIGNAL_PREFIX_HIT, (double[]){1, 0, 0});
    set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){9, 5, 5});
    blis_decision d = decide(&b);
    CHECK_EQ_I64(d.chosen, is_code ? 2 : 0);
    check_near(d.scores[0], is_code ? 0.03 : 0.73);
    set(&b, BLIS_SIGNAL_PREFIX_HIT, (double[]){0, 0, 0});
    set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){5, 5, 5});
    CHECK_EQ_I64(decide(&b).chosen, is_code ? 2 : 0);
    blis_router_free(&b.router);
  }
}

static size_t ask(bench *b, uint32_t session, const blis_routing_view *view) {
  b->request.session = session;
  return fixture_route(&b->router, &b->request, view).chosen;
}

static void session_affinity_example(void) {
  blis_param param = {.name = "max_sessions", .number = 5};
  blis_params params = {&param, 1};
  bench b;
  bench_init(&b, "routesim.session_affinity", &params, 3);
  blis_routing_view last = fixture_only(&b.f, 2);
  for (uint32_t session = 1; session <= 7; session++) {
    ask(&b, session, &last);
  }
  /* The seventh found six known and made the router forget three. */
  for (uint32_t session = 4; session <= 7; session++) {
    CHECK_EQ_I64(ask(&b, session, &b.f.view), 2);
  }
  CHECK_EQ_I64(ask(&b, 1, &b.f.view), 0);
  CHECK_EQ_I64(ask(&b, 2, &b.f.view), 0);
  blis_decision d = fixture_route(&b.router, &b.request, &b.f.view);
  CHECK_EQ_DOUBLE(fixture_fact(&d, "active_sessions"), 6);
  blis_router_free(&b.router);
}

/* Use makes young, and a full queue unbinds. */
static void session_affinity_keeps_what_is_used(void) {
  blis_param param = {.name = "max_sessions", .number = 3};
  blis_params params = {&param, 1};
  bench b;
  bench_init(&b, "routesim.session_affinity", &params, 3);
  blis_routing_view last = fixture_only(&b.f, 2);
  for (uint32_t session = 1; session <= 4; session++) {
    ask(&b, session, &last);
  }
  ask(&b, 1, &last);
  ask(&b, 5, &last); /* 2 and 3 go */
  CHECK_EQ_I64(ask(&b, 1, &b.f.view), 2);
  CHECK_EQ_I64(ask(&b, 2, &b.f.view), 0);
  CHECK_EQ_I64(ask(&b, 0, &b.f.view), 0);
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){9, 1, 256});
  CHECK_EQ_I64(ask(&b, 1, &b.f.view), 1);
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 0, 0});
  CHECK_EQ_I64(ask(&b, 1, &b.f.view), 1);
  blis_router_free(&b.router);
}

static void cost_escalation_example(void) {
  bench b;
  bench_init(&b, "routesim.cost_escalation", NULL, 2);
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 4});
  set(&b, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.1, 0.5});
  CHECK_EQ_I64(decide(&b).chosen, 0);
  b.f.view.now_us = 2000000;
  blis_decision d = decide(&b);
  CHECK_EQ_I64(d.chosen, 1);
  check_near(d.scores[0], -0.982477);
  check_near(d.scores[1], 0);
  b.f.view.now_us = 7000000;
  d = decide(&b);
  CHECK_EQ_I64(d.chosen, 0);
  check_near(d.scores[0], -0.595902);
  check_near(d.scores[1], -2.426123);
  /* The decision adds 1 + 0.1 x 2 to the first. */
  check_near(fixture_fact(&d, "max_backend_cost"), 2.426123);
  check_near(fixture_fact(&d, "min_backend_cost"), 1.795902);
  check_near(fixture_fact(&d, "cost_spread"), 0.630221);
  blis_router_free(&b.router);
}

static void cost_escalation_spreads(void) {
  blis_param param = {.name = "decay", .number = 0};
  blis_params params = {&param, 1};
  bench b;
  bench_init(&b, "routesim.cost_escalation", &params, 4);
  int counts[4] = {0};
  for (int i = 0; i < 100; i++) {
    b.f.view.now_us += 1000000;
    counts[decide(&b).chosen]++;
  }
  for (int i = 0; i < 4; i++) {
    CHECK(counts[i] >= 15);
  }
  blis_router_free(&b.router);
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_router router = {0};
  blis_error error;
  param.number = -0.1;
  CHECK_STATUS(blis_router_create(&alloc, "cost_escalation", &params, &context, &router, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "routesim.cost_escalation: decay is -0.1");
}

int main(void) {
  RUN(round_robin_goes_by_number);
  RUN(full_queues_reject);
  RUN(least_outstanding_example);
  RUN(decoding_requests_are_load);
  RUN(least_kv_example);
  RUN(prefix_aware_example);
  RUN(prefix_aware_gives_way);
  RUN(prefix_aware_finds_prefixes);
  RUN(prefix_overlap_example);
  RUN(prefix_overlap_needs_block_ids);
  RUN(profiles_differ_at_the_limit_and_in_ties);
  RUN(session_affinity_example);
  RUN(session_affinity_keeps_what_is_used);
  RUN(cost_escalation_example);
  RUN(cost_escalation_spreads);
  return check_done();
}
