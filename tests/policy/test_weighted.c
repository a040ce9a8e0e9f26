/* Weighted routing: published examples, ties, bad scorers, the list syntax. */
#include "policy/contract/go_blis.h"
#include "policy/pipeline/weighted.h"

#include <math.h>

#include "policy/pipeline/scorer_list.h"
#include "routing_fixture.h"

static blis_block_id shared_ids[] = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                     21, 22, 23, 24, 25, 26, 27, 28, 29, 30};

static bool is_near(double got, double expected, double tolerance) {
  return fabs(got - expected) <= tolerance;
}

static blis_router router_of(const blis_alloc *alloc, const char *scorers, const char *tie,
                             const blis_policy_context *context) {
  blis_error error;
  blis_param param = {.name = "tie", .text = tie};
  blis_params params = {&param, 1};
  blis_scorer_list list;
  blis_router router = {0};
  CHECK_OK(blis_scorer_list_parse(&list, scorers, "scorers", &error), &error);
  CHECK_OK(blis_scorer_list_router(alloc, &list, &params, context, &router, &error), &error);
  return router;
}

/* Sends the first matched blocks of shared_ids to one instance. */
static void teach(const blis_router *router, const fixture *f, size_t instance, uint32_t blocks) {
  blis_block_chain chain = {shared_ids, blocks, blocks, BLIS_BLOCK_PRIVATE};
  blis_ticket ticket;
  blis_routing_request request = fixture_request(1, (int64_t)blocks * 16, &chain, &ticket);
  blis_routing_view view = fixture_only(f, instance);
  fixture_route(router, &request, &view);
}

static blis_decision decide(const blis_router *router, const fixture *f, uint32_t shared_blocks,
                            uint32_t blocks) {
  static blis_block_chain chain;
  static blis_ticket ticket;
  chain = (blis_block_chain){shared_ids, shared_blocks, blocks, BLIS_BLOCK_PRIVATE | 1000};
  blis_routing_request request = fixture_request(2, (int64_t)blocks * 16, &chain, &ticket);
  return fixture_route(router, &request, &f->view);
}

#define DESIGN_PROFILE "prefix-affinity:3,queue-depth:2,kv-utilization:2"

/* Composable Scorer Framework, example of the final default profile. */
static void design_profile_example(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  fixture f;
  fixture_init(&f, 3);
  fixture_set(&f, BLIS_SIGNAL_EFFECTIVE_LOAD, (double[]){6, 2, 4});
  fixture_set(&f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){2, 0, 3});
  fixture_set(&f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.6, 0.3, 0.1});

  blis_router router = fixture_router(&alloc, "weighted", NULL, &context);
  teach(&router, &f, 0, 4);
  blis_decision d = decide(&router, &f, 4, 5);
  CHECK_EQ_I64(d.chosen, 1);
  CHECK(is_near(d.scores[0], 0.4571428571, 1e-10));
  CHECK(is_near(d.scores[1], 0.4857142857, 1e-10));
  CHECK(is_near(d.scores[2], 0.4, 1e-10));
  CHECK_EQ_DOUBLE(d.score, d.scores[1]);
  blis_router_free(&router);

  context.profile = &blis_policy_go_blis; /* queue-depth looks at the wait queue alone */
  router = router_of(&alloc, DESIGN_PROFILE, "random", &context);
  teach(&router, &f, 0, 4);
  d = decide(&router, &f, 4, 5);
  CHECK_EQ_I64(d.chosen, 0);
  CHECK(is_near(d.scores[0], 0.5523809524, 1e-10));
  CHECK(is_near(d.scores[1], 0.4857142857, 1e-10));
  CHECK(is_near(d.scores[2], 0.2571428571, 1e-10));
  blis_router_free(&router);
  context.profile = NULL;

  router =
      router_of(&alloc, "queue-depth:2,kv-utilization:2,load-balance:1", "lowest-id", &context);
  d = decide(&router, &f, 4, 5);
  CHECK_EQ_I64(d.chosen, 1);
  CHECK(is_near(d.scores[0], 0.1885714286, 1e-10));
  CHECK(is_near(d.scores[1], 0.7466666667, 1e-10));
  CHECK(is_near(d.scores[2], 0.6, 1e-10));
  blis_router_free(&router);
}

/* A run of BLIS (Go) f90a1e3a, to the last bit. */
static void design_profile_in_go_blis(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  context.profile = &blis_policy_go_blis;
  fixture f;
  fixture_init(&f, 3);
  blis_router router = router_of(&alloc, DESIGN_PROFILE, "random", &context);
  blis_decision d = decide(&router, &f, 0, 0);
  CHECK_EQ_DOUBLE(d.score, 0.5714285714285714);
  CHECK_EQ_I64(d.chosen, 0); /* draws of stream router, seed 42: 0 1 2 */
  CHECK_EQ_I64(decide(&router, &f, 0, 0).chosen, 1);
  CHECK_EQ_I64(decide(&router, &f, 0, 0).chosen, 2);
  teach(&router, &f, 0, 4);
  fixture_set(&f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){8.0 / 15909, 11.0 / 15909, 1.0 / 15909});
  d = decide(&router, &f, 4, 5);
  CHECK_EQ_I64(d.chosen, 0);
  CHECK_EQ_DOUBLE(d.scores[0], 0.9141420399953306);
  CHECK_EQ_DOUBLE(d.scores[1], 0.5712310192792938);
  CHECK_EQ_DOUBLE(d.scores[2], 0.5714106121422735);
  blis_router_free(&router);
}

/* The default scorers of BLIS (Go), nothing cached anywhere. */
static void default_of_go_blis(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  context.profile = &blis_policy_go_blis;
  fixture f;
  fixture_init(&f, 3);
  fixture_set(&f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){0, 0, 1});
  fixture_set(&f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){12.0 / 15909, 31.0 / 15909, 41.0 / 15909});
  blis_router router = fixture_router(&alloc, "weighted", NULL, &context);
  blis_decision d = decide(&router, &f, 0, 0);
  CHECK_EQ_I64(d.chosen, 0);
  CHECK_EQ_DOUBLE(d.scores[0], 0.9998114274938714);
  CHECK_EQ_DOUBLE(d.scores[1], 0.9995128543591678);
  CHECK_EQ_DOUBLE(d.scores[2], 0.7493557106040606);
  blis_router_free(&router);
}

static void affinity_and_load_balance(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  fixture f;
  fixture_init(&f, 3);
  fixture_set(&f, BLIS_SIGNAL_EFFECTIVE_LOAD, (double[]){3, 4, 5});
  blis_router router = router_of(&alloc, "prefix-affinity:1,load-balance:1", "lowest-id", &context);
  blis_decision d = decide(&router, &f, 0, 9);
  CHECK_EQ_I64(d.chosen, 0);
  CHECK_EQ_DOUBLE(d.scores[0], 0.125);
  CHECK_EQ_DOUBLE(d.scores[1], 0.1);
  CHECK_EQ_DOUBLE(d.scores[2], 0.5 / 6);
  blis_router_free(&router);
}

/* The same profile under the rules of v0.6.0: load is the effective load. */
static void affinity_beats_load(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  fixture f;
  fixture_init(&f, 5);
  fixture_set(&f, BLIS_SIGNAL_EFFECTIVE_LOAD, (double[]){3, 11, 3, 2, 4});
  fixture_set(&f, BLIS_SIGNAL_KV_UTILIZATION,
              (double[]){0.00065083, 0.00064326, 0.00038596, 0.0002119, 0.00047677});
  blis_router router = router_of(&alloc, DESIGN_PROFILE, "first", &context);
  teach(&router, &f, 1, 16);
  blis_decision d = decide(&router, &f, 16, 20);
  CHECK_EQ_I64(d.chosen, 1);
  static const double expected[] = {0.539497, 0.628388, 0.539572, 0.571368, 0.5078};
  for (size_t i = 0; i < 5; i++) {
    CHECK(is_near(d.scores[i], expected[i], 1e-6));
  }
  blis_router_free(&router);
}

/* Multiples of the weights decide the same. */
static void only_ratios_of_weights_matter(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_router a = router_of(&alloc, DESIGN_PROFILE, "first", &context);
  blis_router b =
      router_of(&alloc, "prefix-affinity:12,queue-depth:8,kv-utilization:8", "first", &context);
  blis_random random;
  blis_random_init(&random, 5);
  fixture f;
  fixture_init(&f, 8);
  for (int round = 0; round < 500; round++) {
    for (int i = 0; i < 8; i++) {
      f.columns[BLIS_SIGNAL_EFFECTIVE_LOAD][i] = blis_random_intn(&random, 9);
      f.columns[BLIS_SIGNAL_KV_UTILIZATION][i] = blis_random_float64(&random);
    }
    uint32_t shared = (uint32_t)blis_random_intn(&random, 21);
    blis_decision da = decide(&a, &f, shared, 20);
    blis_decision db = decide(&b, &f, shared, 20);
    CHECK_EQ_I64(da.chosen, db.chosen);
    for (int i = 0; i < 8; i++) {
      CHECK(da.scores[i] >= 0 && da.scores[i] <= 1);
    }
  }
  blis_router_free(&a);
  blis_router_free(&b);
}

static blis_status score_from_state(const blis_question *q, double *scores) {
  memcpy(scores, q->state, q->view->count * sizeof *scores);
  return BLIS_OK;
}

static const blis_scorer_ops given_ops = {.score = score_from_state};

static blis_scorer given_scorer(const char *name, double *scores) {
  return (blis_scorer){.ops = &given_ops, .state = scores, .name = name};
}

static void scores_are_clamped_and_nan_is_named(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_error error;
  fixture f;
  fixture_init(&f, 3);
  double scores[] = {7, -2, 0.5};
  blis_weighted_item item = {given_scorer("mine", scores), 2};
  blis_router router = {0};
  const blis_weighted_parts parts = {.items = &item, .count = 1};
  CHECK_OK(blis_weighted_new(&alloc, &parts, NULL, &context, &router, &error), &error);
  blis_decision d = decide(&router, &f, 0, 1);
  CHECK_EQ_DOUBLE(d.scores[0], 1.0);
  CHECK_EQ_DOUBLE(d.scores[1], 0.0);
  CHECK_EQ_DOUBLE(d.scores[2], 0.5);
  scores[1] = (double)NAN;
  blis_ticket ticket;
  blis_routing_request request = fixture_request(-2, 16, NULL, &ticket);
  blis_intern *strings = blis_intern_new(&alloc);
  CHECK(blis_intern_add(strings, "talk", 4, &request.session) == BLIS_OK);
  request.strings = strings;
  request.round_index = 1;
  CHECK_STATUS(router.ops->route(&(blis_question){router.state, &request, &f.view, &error}, &d),
               BLIS_ERR_POLICY);
  CHECK_CONTAINS(error.message, "scorer mine");
  CHECK_CONTAINS(error.message, "instance_1");
  CHECK_CONTAINS(error.message, "session_talk_round_1_2");
  blis_intern_free(strings);
  blis_router_free(&router);
}

static void bad_weights_are_refused(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  static const double bad[] = {0, -1, INFINITY, NAN};
  double scores[3] = {0};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    blis_weighted_item items[] = {{given_scorer("a", scores), 1},
                                  {given_scorer("b", scores), bad[i]}};
    blis_router router = {0};
    blis_error error;
    const blis_weighted_parts parts = {.items = items, .count = 2};
    CHECK_STATUS(blis_weighted_new(&alloc, &parts, NULL, &context, &router, &error),
                 BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, "scorer b");
  }
  blis_weighted_item twice[] = {{given_scorer("a", scores), 1}, {given_scorer("a", scores), 1}};
  blis_router router = {0};
  blis_error error;
  const blis_weighted_parts parts = {.items = twice, .count = 2};
  CHECK_STATUS(blis_weighted_new(&alloc, &parts, NULL, &context, &router, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "listed twice");
}

static void list_syntax(void) {
  static const struct {
    const char *text;
    const char *part; /* of the message; NULL = it is right */
  } cases[] = {
      {"", NULL},
      {"  ", NULL},
      {"queue-depth:1", NULL},
      {" queue-depth : 1.5e-1 , kv-utilization:2", NULL},
      {"queue-depth", "not name:weight"},
      {"queue-depth:1,", "not name:weight"},
      {"queue-dept:1", "did you mean 'queue-depth'"},
      {"Queue-Depth:1", "did you mean 'queue-depth'"},
      {"zzzzzzzz:1", "prefix-affinity, queue-depth"},
      {"queue-depth:1,queue-depth:2", "listed twice"},
      {"queue-depth:x", "the weight of queue-depth, 'x'"},
      {"queue-depth:", "the weight of queue-depth"},
      {"queue-depth:1e999", "the weight of queue-depth"},
      {"queue-depth:nan", "the weight of queue-depth"},
      {"queue-depth:0", "finite number > 0"},
      {"queue-depth:-3", "finite number > 0"},
      /* Checks go in this order: the name comes before the weight. */
      {"queue-dept:x", "did you mean"},
      {"queue-depth:1,queue-depth:x", "listed twice"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    blis_scorer_list list;
    blis_error error = {0};
    blis_status status = blis_scorer_list_parse(&list, cases[i].text, "--scorers", &error);
    if (cases[i].part == NULL) {
      CHECK_OK(status, &error);
      continue;
    }
    CHECK_STATUS(status, BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, "--scorers: ");
    CHECK_CONTAINS(error.message, cases[i].part);
  }
}

static bool make_and_decide(long fail_at) {
  blis_alloc_probe memory = {.fail_at = fail_at};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_policy_context context = fixture_context();
  fixture f;
  fixture_init(&f, 3);
  blis_router router = {0};
  blis_error error;
  bool done = blis_router_create(&alloc, "weighted", NULL, &context, &router, &error) == BLIS_OK;
  if (done) {
    blis_block_chain chain = {shared_ids, 4, 9, BLIS_BLOCK_PRIVATE | 1000};
    blis_ticket ticket;
    blis_routing_request request = fixture_request(2, 144, &chain, &ticket);
    blis_decision d;
    done =
        router.ops->route(&(blis_question){router.state, &request, &f.view, &error}, &d) == BLIS_OK;
  }
  CHECK(done || error.status == BLIS_ERR_NOMEM);
  blis_router_free(&router);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return done;
}

static void no_memory_is_an_error(void) {
  long request = 1;
  while (!make_and_decide(request)) {
    request++;
  }
  CHECK(request > 5);
}

int main(void) {
  RUN(design_profile_example);
  RUN(design_profile_in_go_blis);
  RUN(default_of_go_blis);
  RUN(affinity_and_load_balance);
  RUN(affinity_beats_load);
  RUN(only_ratios_of_weights_matter);
  RUN(scores_are_clamped_and_nan_is_named);
  RUN(bad_weights_are_refused);
  RUN(list_syntax);
  RUN(no_memory_is_an_error);
  return check_done();
}
