/* prefix-affinity as a policy, weighted-scoring, weighted-v0.4, and the
   routers that draw: their definitions and worked examples. */
#include <math.h>

#include "policy/contract/go_blis.h"
#include "routing_fixture.h"

typedef struct bench {
  blis_alloc alloc;
  blis_router router;
  fixture f;
  blis_block_id ids[8];
  blis_block_chain chain;
  uint32_t asked_block_size;
  blis_ticket ticket;
} bench;

static void bench_init(bench *b, const char *policy, const blis_params *params, bool go_blis,
                       size_t instances) {
  *b = (bench){.alloc = blis_alloc_heap()};
  blis_policy_context context = fixture_context();
  context.profile = go_blis ? &blis_policy_go_blis : NULL;
  context.kv_block_size_tokens = 32;
  b->router = fixture_router(&b->alloc, policy, params, &context);
  fixture_init(&b->f, instances);
}

static void set(bench *b, blis_signal signal, const double *values) {
  fixture_set(&b->f, signal, values);
}

static const blis_block_chain *chain_of(void *ud, uint32_t block_size) {
  bench *b = ud;
  b->asked_block_size = block_size;
  return &b->chain;
}

/* A prompt of these blocks, 0 being one with content of its own. */
static size_t ask(bench *b, int64_t tokens, const char *blocks) {
  static blis_block_id next_private = BLIS_BLOCK_PRIVATE;
  size_t count = strlen(blocks);
  uint32_t shared = 0;
  while (shared < count && blocks[shared] != '0') {
    b->ids[shared] = (blis_block_id)blocks[shared];
    shared++;
  }
  b->chain = (blis_block_chain){b->ids, shared, (uint32_t)count, next_private += 100};
  blis_routing_request request = fixture_request(1, tokens, NULL, &b->ticket);
  request.chain = chain_of;
  request.chain_ud = b;
  return fixture_route(&b->router, &request, &b->f.view).chosen;
}

static void lead(bench *b, size_t instance) {
  double loads[FIXTURE_MAX];
  for (size_t i = 0; i < b->f.view.count; i++) {
    loads[i] = i == instance ? 0 : 5;
  }
  set(b, BLIS_SIGNAL_EFFECTIVE_LOAD, loads);
}

static void equal_prompts_go_to_the_same_instance(void) {
  bench b;
  bench_init(&b, "prefix-affinity", NULL, false, 4);
  lead(&b, 2);
  CHECK_EQ_I64(ask(&b, 40, "AB"), 2);
  CHECK_EQ_I64(b.asked_block_size, 16);
  lead(&b, 1);
  CHECK_EQ_I64(ask(&b, 40, "AB"), 2);  /* the same two full blocks */
  CHECK_EQ_I64(ask(&b, 50, "ABC"), 1); /* a third one */
  CHECK_EQ_I64(ask(&b, 50, "ABD"), 1);
  CHECK_EQ_I64(ask(&b, 50, "A"), 1);
  lead(&b, 3);
  CHECK_EQ_I64(ask(&b, 50, "ABC"), 1);
  CHECK_EQ_I64(ask(&b, 50, "AB0"), 3); /* never again the same */
  CHECK_EQ_I64(ask(&b, 40, "AB"), 2);
  /* An instance that went away is replaced for good. */
  b.f.view.count = 2;
  CHECK_EQ_I64(ask(&b, 40, "AB"), 0);
  b.f.view.count = 4;
  CHECK_EQ_I64(ask(&b, 40, "AB"), 0);
  blis_router_free(&b.router);
}

static void short_prompts_are_known_by_all_their_tokens(void) {
  bench b;
  bench_init(&b, "prefix-affinity", NULL, false, 3);
  lead(&b, 2);
  CHECK_EQ_I64(ask(&b, 7, "x"), 2);
  CHECK_EQ_I64(b.asked_block_size, 7);
  CHECK_EQ_I64(ask(&b, 0, ""), 2);
  lead(&b, 1);
  CHECK_EQ_I64(ask(&b, 7, "x"), 2);
  CHECK_EQ_I64(ask(&b, 7, "y"), 1);
  CHECK_EQ_I64(ask(&b, 0, ""), 2);
  blis_router_free(&b.router);
  bench_init(&b, "prefix-affinity", NULL, true, 3);
  ask(&b, 100, "ABC");
  CHECK_EQ_I64(b.asked_block_size, 32);
  blis_router_free(&b.router);
}

static void entries_may_be_limited(void) {
  blis_param param = {.name = "max_entries", .number = 2};
  blis_params params = {&param, 1};
  bench b;
  bench_init(&b, "prefix-affinity", &params, false, 3);
  lead(&b, 2);
  ask(&b, 16, "A");
  ask(&b, 16, "B");
  ask(&b, 16, "A");
  lead(&b, 0);
  ask(&b, 16, "C"); /* B was not seen for longest */
  CHECK_EQ_I64(ask(&b, 16, "A"), 2);
  CHECK_EQ_I64(ask(&b, 16, "B"), 0);
  blis_router_free(&b.router);
}

static void check_near(double got, double expected) {
  CHECK(fabs(got - expected) < 1e-7);
}

static blis_decision decide(bench *b, const blis_routing_view *view, uint32_t blocks,
                            uint32_t shared) {
  for (uint32_t k = 0; k < shared; k++) {
    b->ids[k] = k + 1;
  }
  b->chain =
      (blis_block_chain){b->ids, shared, blocks, BLIS_BLOCK_PRIVATE | (blocks + shared) << 8};
  blis_routing_request request = fixture_request(1, INT64_C(16) * blocks, &b->chain, &b->ticket);
  return fixture_route(&b->router, &request, view);
}

/* Four of five blocks at the first instance, loads 6, 2, 4. */
static void weighted_scoring_example(void) {
  bench b;
  bench_init(&b, "weighted-scoring", NULL, false, 3);
  set(&b, BLIS_SIGNAL_EFFECTIVE_LOAD, (double[]){6, 2, 4});
  blis_routing_view first = fixture_only(&b.f, 0);
  decide(&b, &first, 4, 4);
  blis_decision d = decide(&b, &b.f.view, 5, 4);
  CHECK_EQ_I64(d.chosen, 0);
  check_near(d.scores[0], 0.5228571);
  check_near(d.scores[1], 0.2);
  check_near(d.scores[2], 0.11);
  /* All blocks of the shorter prompt are there. */
  d = decide(&b, &b.f.view, 4, 4);
  check_near(d.scores[0], 0.6 + 0.3 / 7 + 0.5);
  check_near(d.score, d.scores[0]);
  /* A prompt without a full block matches nowhere. */
  d = decide(&b, &b.f.view, 0, 0);
  check_near(d.scores[1], 0.2);
  blis_router_free(&b.router);
}

static void weighted_scoring_checks_its_weights(void) {
  blis_param items[] = {{.name = "cache_affinity_weight"},
                        {.name = "load_balance_weight"},
                        {.name = "queue_depth_weight"}};
  blis_params params = {items, 3};
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_router router = {0};
  blis_error error;
  CHECK_STATUS(blis_router_create(&alloc, "weighted-scoring", &params, &context, &router, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "all weights are 0");
  items[1].number = 7; /* load-balance alone is least-loaded */
  bench b;
  bench_init(&b, "weighted-scoring", &params, false, 3);
  set(&b, BLIS_SIGNAL_EFFECTIVE_LOAD, (double[]){3, 1, 1});
  blis_decision d = decide(&b, &b.f.view, 5, 0);
  CHECK_EQ_I64(d.chosen, 1);
  CHECK_EQ_DOUBLE(d.score, 0.5);
  blis_router_free(&b.router);
}

static void weighted_v04_takes_free_memory(void) {
  bench b;
  bench_init(&b, "weighted-v0.4", NULL, false, 3);
  set(&b, BLIS_SIGNAL_FREE_KV_BLOCKS, (double[]){50, 100, 100});
  set(&b, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 1, 0});
  set(&b, BLIS_SIGNAL_BATCH_SIZE, (double[]){0, 1, 2});
  set(&b, BLIS_SIGNAL_PENDING, (double[]){0, 1, 1});
  /* The signal of the profile in force is another matter. */
  set(&b, BLIS_SIGNAL_EFFECTIVE_LOAD, (double[]){9, 9, 0});
  blis_decision d = decide(&b, &b.f.view, 5, 0);
  check_near(d.scores[0], 0.6 * 0.5 + 0.4);
  check_near(d.scores[1], 0.6 + 0.4 / 4);
  check_near(d.scores[2], 0.6 + 0.4 / 4);
  CHECK_EQ_I64(d.chosen, 0);
  set(&b, BLIS_SIGNAL_FREE_KV_BLOCKS, (double[]){0, 0, 0});
  check_near(decide(&b, &b.f.view, 5, 0).scores[0], 0.4);
  blis_router_free(&b.router);
}

enum { DRAWS = 30000 };

static void check_shares(const char *policy, const double *loads, const double *expected) {
  bench b;
  bench_init(&b, policy, NULL, false, 3);
  set(&b, BLIS_SIGNAL_EFFECTIVE_LOAD, loads);
  int counts[3] = {0};
  for (int i = 0; i < DRAWS; i++) {
    counts[decide(&b, &b.f.view, 5, 0).chosen]++;
  }
  for (int i = 0; i < 3; i++) {
    CHECK(fabs((double)counts[i] / DRAWS - expected[i]) < 0.015);
  }
  blis_routing_view last = fixture_only(&b.f, 2);
  CHECK_EQ_I64(decide(&b, &last, 5, 0).chosen, 0);
  blis_router_free(&b.router);
}

static void random_routers_have_their_shares(void) {
  check_shares("random", (double[]){0, 5, 9}, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
  check_shares("power-of-two", (double[]){5, 9, 0}, (double[]){1.0 / 3, 0, 2.0 / 3});
  check_shares("power-of-two", (double[]){1, 1, 1}, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3});
}

int main(void) {
  RUN(equal_prompts_go_to_the_same_instance);
  RUN(short_prompts_are_known_by_all_their_tokens);
  RUN(entries_may_be_limited);
  RUN(weighted_scoring_example);
  RUN(weighted_scoring_checks_its_weights);
  RUN(weighted_v04_takes_free_memory);
  RUN(random_routers_have_their_shares);
  return check_done();
}
