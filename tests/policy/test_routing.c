/* Simple routers, lmetric, tie rules, parameters, the registry, signals. */
#include "policy/contract/go_blis.h"
#include "routing_fixture.h"

static blis_decision decide(const blis_router *router, const blis_routing_view *view) {
  blis_block_chain chain = {0};
  blis_ticket ticket;
  blis_routing_request request = fixture_request(1, 100, &chain, &ticket);
  return fixture_route(router, &request, view);
}

static void round_robin_counts_on_when_the_candidates_change(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_router router = fixture_router(&alloc, "round-robin", NULL, &context);
  fixture f;
  fixture_init(&f, 3);
  static const size_t expected[] = {0, 1, 2, 0};
  for (size_t i = 0; i < 4; i++) {
    CHECK_EQ_I64(decide(&router, &f.view).chosen, expected[i]);
  }
  f.view.count = 2;
  CHECK_EQ_I64(decide(&router, &f.view).chosen, 0);
  blis_router_free(&router);
}

/* Chosen candidates of several decisions as digits. */
static void check_choices(const char *name, const char *tie, bool go_blis, const double *loads,
                          size_t count, const char *expected) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  context.profile = go_blis ? &blis_policy_go_blis : NULL;
  blis_param param = {.name = "tie", .text = tie};
  blis_params params = {&param, tie != NULL};
  blis_router router = fixture_router(&alloc, name, &params, &context);
  fixture f;
  fixture_init(&f, count);
  fixture_set(&f, BLIS_SIGNAL_EFFECTIVE_LOAD, loads);
  char choices[16] = "";
  for (size_t i = 0; expected[i] != '\0'; i++) {
    choices[i] = "0123456789ab"[decide(&router, &f.view).chosen];
  }
  CHECK_STR(choices, expected);
  blis_router_free(&router);
}

static void ties_go_by_the_named_rule(void) {
  static const double equal[12] = {0};
  static const double two_low[] = {3, 1, 1};
  static const double two_high[] = {3, 5, 5};
  static const double late[12] = {5, 5, 0, 5, 5, 5, 5, 5, 5, 5, 0, 5};
  check_choices("least-loaded", NULL, false, two_low, 3, "111");
  check_choices("least-loaded", "first", false, two_low, 3, "111");
  check_choices("least-loaded", "last", false, two_low, 3, "222");
  check_choices("least-loaded", "rotate", false, two_low, 3, "12121");
  /* Stream router of seed 42: Intn(2) is 0 0 1 0 1 1, Intn(3) is 0 1 2 0 2. */
  check_choices("least-loaded", "random", false, two_low, 3, "112122");
  check_choices("least-loaded", NULL, true, equal, 3, "01202");
  check_choices("always-busiest", NULL, false, two_high, 3, "111");
  /* instance_10 is before instance_2 in byte order. */
  check_choices("least-loaded", NULL, false, late, 12, "aa");
  check_choices("least-loaded", "first", false, late, 12, "22");
}

/* A random tie draws once; a decision without a tie does not draw. */
static void only_ties_draw(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  context.profile = &blis_policy_go_blis;
  blis_router router = fixture_router(&alloc, "least-loaded", NULL, &context);
  fixture f;
  fixture_init(&f, 3);
  CHECK_EQ_I64(decide(&router, &f.view).chosen, 0);
  f.columns[BLIS_SIGNAL_EFFECTIVE_LOAD][0] = 1;
  f.columns[BLIS_SIGNAL_EFFECTIVE_LOAD][2] = 1;
  CHECK_EQ_I64(decide(&router, &f.view).chosen, 1);
  f.columns[BLIS_SIGNAL_EFFECTIVE_LOAD][1] = 1;
  CHECK_EQ_I64(decide(&router, &f.view).chosen, 1);
  CHECK_EQ_I64(decide(&router, &f.view).chosen, 2);
  blis_router_free(&router);
}

/* Sends a request to one instance; done = its first token is out. */
static void load(const blis_router *router, const fixture *f, size_t instance, int64_t tokens,
                 blis_block_chain *chain, bool is_prefilled, blis_ticket *ticket) {
  blis_routing_request request = fixture_request(1, tokens, chain, ticket);
  blis_routing_view view = fixture_only(f, instance);
  fixture_route(router, &request, &view);
  if (is_prefilled) {
    fixture_first_token(router, ticket, (uint32_t)instance);
  }
}

static blis_block_id ids[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

/*
 * The example of the B3 pseudocode: a prompt of 8192 tokens, and instances of
 * (pending, cached, requests) = (0, 0, 3), (4096, 6144, 2), (1024, 0, 1).
 */
static void check_lmetric_example(double bs_offset, size_t expected, const double *scores) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  context.kv_blocks = 100000;
  blis_param param = {.name = "bs_offset", .number = bs_offset};
  blis_params params = {&param, 1};
  blis_router router = fixture_router(&alloc, "lmetric", &params, &context);
  fixture f;
  fixture_init(&f, 3);
  blis_ticket tickets[6];
  blis_block_chain none = {0};
  blis_block_chain prefix = {ids, 12, 12, BLIS_BLOCK_PRIVATE};
  for (int i = 0; i < 3; i++) {
    load(&router, &f, 0, 500, &none, true, &tickets[i]);
  }
  load(&router, &f, 1, 6144, &prefix, true, &tickets[3]);
  load(&router, &f, 1, 4096, &none, false, &tickets[4]);
  load(&router, &f, 2, 1024, &none, false, &tickets[5]);

  blis_block_chain chain = {ids, 12, 16, BLIS_BLOCK_PRIVATE | 100};
  blis_ticket ticket;
  blis_routing_request request = fixture_request(9, 8192, &chain, &ticket);
  blis_decision d = fixture_route(&router, &request, &f.view);
  CHECK_EQ_I64(d.chosen, expected);
  for (size_t i = 0; i < 3; i++) {
    CHECK_EQ_DOUBLE(d.scores[i], -scores[i]);
  }
  /* Once everything has ended, all instances are idle again: index 0. */
  fixture_ended(&router, &ticket, (uint32_t)expected);
  for (int i = 0; i < 6; i++) {
    fixture_ended(&router, &tickets[i], i < 3 ? 0 : i < 5 ? 1 : 2);
  }
  blis_block_chain other = {0};
  request = fixture_request(10, 0, &other, &ticket);
  d = fixture_route(&router, &request, &f.view);
  CHECK(d.scores[0] == 0 && d.scores[1] == 0 && d.scores[2] == 0);
  blis_router_free(&router);
}

static void lmetric_example(void) {
  check_lmetric_example(0, 2, (double[]){24576, 12288, 9216});
  check_lmetric_example(1, 1, (double[]){32768, 18432, 18432});
}

/* Two idle instances, the second one warm. */
static void lmetric_sees_a_warm_idle_instance_only_with_an_offset(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  context.kv_blocks = 100000;
  for (int offset = 0; offset <= 1; offset++) {
    blis_param param = {.name = "bs_offset", .number = offset};
    blis_params params = {&param, 1};
    blis_router router = fixture_router(&alloc, "lmetric", &params, &context);
    fixture f;
    fixture_init(&f, 2);
    blis_ticket ticket;
    blis_block_chain prefix = {ids, 12, 12, BLIS_BLOCK_PRIVATE};
    load(&router, &f, 1, 6144, &prefix, true, &ticket);
    fixture_ended(&router, &ticket, 1);
    blis_block_chain chain = {ids, 12, 16, BLIS_BLOCK_PRIVATE | 100};
    blis_routing_request request = fixture_request(9, 8192, &chain, &ticket);
    CHECK_EQ_I64(fixture_route(&router, &request, &f.view).chosen, offset);
    blis_router_free(&router);
  }
}

/* A preempted request gets a first token twice. */
static void lmetric_counts_a_first_token_once(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_router router = fixture_router(&alloc, "lmetric", NULL, &context);
  fixture f;
  fixture_init(&f, 1);
  blis_ticket first, second;
  blis_block_chain none = {0};
  load(&router, &f, 0, 100, &none, true, &first);
  fixture_first_token(&router, &first, 0);
  load(&router, &f, 0, 30, &none, false, &second);
  blis_ticket ticket;
  blis_routing_request request = fixture_request(9, 70, &none, &ticket);
  blis_decision d = fixture_route(&router, &request, &f.view);
  CHECK_EQ_DOUBLE(d.score, -(30.0 + 70.0) * 2);
  blis_router_free(&router);
}

static void names_are_found_and_wrong_ones_explained(void) {
  blis_error error;
  for (size_t i = 0; i < blis_policy_count(BLIS_POLICY_ROUTER); i++) {
    const blis_policy_entry *entry = blis_policy_at(BLIS_POLICY_ROUTER, i);
    CHECK(blis_policy_find(BLIS_POLICY_ROUTER, entry->name, &error) == entry);
    CHECK(entry->summary[0] != '\0' && entry->source[0] != '\0');
  }
  for (size_t i = 0; i < blis_policy_count(BLIS_POLICY_SCORER); i++) {
    const blis_policy_entry *entry = blis_policy_at(BLIS_POLICY_SCORER, i);
    CHECK(blis_policy_find(BLIS_POLICY_SCORER, entry->name, &error) == entry);
    CHECK(entry->summary[0] != '\0' && entry->source[0] != '\0');
  }
  CHECK(blis_policy_find(BLIS_POLICY_ROUTER, "b3.lmetric", &error) ==
        blis_policy_find(BLIS_POLICY_ROUTER, "lmetric", &error));
  CHECK(blis_policy_find(BLIS_POLICY_ROUTER, "least_loaded", &error) == NULL);
  CHECK_CONTAINS(error.message, "did you mean 'least-loaded'?");
  CHECK(blis_policy_find(BLIS_POLICY_ROUTER, "magic", &error) == NULL);
  CHECK_CONTAINS(error.message, "round-robin, least-loaded, weighted");
  CHECK(blis_policy_find(BLIS_POLICY_SCORER, "", &error) == NULL);
  CHECK_STATUS(error.status, BLIS_ERR_INVALID);
}

static void bad_parameters_are_refused(void) {
  static const struct {
    blis_param param;
    const char *part; /* NULL = allowed */
  } cases[] = {
      {{.name = "capacity", .number = 100, .text = NULL}, NULL},
      {{.name = "capacity", .number = 1.5, .text = NULL}, "expected an integer from 1 to"},
      {{.name = "capacity", .number = 0, .text = NULL}, "capacity is 0"},
      {{.name = "capacity", .number = -1, .text = NULL}, "capacity is -1"},
      {{.name = "capacity", .number = 1e300, .text = NULL}, "expected an integer"},
      {{.name = "capacity", .number = 0, .text = "many"}, "must be a number"},
      {{.name = "capasity", .number = 1, .text = NULL}, "did you mean 'capacity'?"},
      {{.name = "zzzz", .number = 1, .text = NULL}, "known are block_size, capacity"},
  };
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    blis_params params = {&cases[i].param, 1};
    blis_scorer scorer = {0};
    blis_error error = {0};
    blis_status status =
        blis_scorer_create(&alloc, "prefix-affinity", &params, &context, &scorer, &error);
    if (cases[i].part == NULL) {
      CHECK_OK(status, &error);
    } else {
      CHECK_STATUS(status, BLIS_ERR_INVALID);
      CHECK_CONTAINS(error.message, "scorer prefix-affinity: ");
      CHECK_CONTAINS(error.message, cases[i].part);
    }
    blis_scorer_free(&scorer);
  }
  blis_param tie = {.name = "tie", .text = "lowest"};
  blis_params params = {&tie, 1};
  blis_router router = {0};
  blis_error error;
  CHECK_STATUS(blis_router_create(&alloc, "least-loaded", &params, &context, &router, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "lowest-id|random|first|last|rotate");
  blis_param twice[] = {{.name = "tie", .text = "first"}, {.name = "tie", .text = "last"}};
  params = (blis_params){twice, 2};
  CHECK_STATUS(blis_router_create(&alloc, "least-loaded", &params, &context, &router, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "given twice");
}

static void signals_are_found_by_name(void) {
  for (int i = 0; i < BLIS_SIGNAL_COUNT; i++) {
    CHECK_EQ_I64(blis_signal_find(blis_signal_name((blis_signal)i)), i);
    CHECK(blis_signal_unit((blis_signal)i)[0] != '\0');
    CHECK(blis_signal_summary((blis_signal)i)[0] != '\0');
  }
  CHECK_EQ_I64(blis_signal_find("queue"), BLIS_SIGNAL_COUNT);
}

int main(void) {
  RUN(round_robin_counts_on_when_the_candidates_change);
  RUN(ties_go_by_the_named_rule);
  RUN(only_ties_draw);
  RUN(lmetric_example);
  RUN(lmetric_sees_a_warm_idle_instance_only_with_an_offset);
  RUN(lmetric_counts_a_first_token_once);
  RUN(names_are_found_and_wrong_ones_explained);
  RUN(bad_parameters_are_refused);
  RUN(signals_are_found_by_name);
  return check_done();
}
