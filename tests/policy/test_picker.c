/* Pickers and the stable tie: vectors, shares, and what is drawn when. */
#include "policy/pickers/pick_rules.h"

#include <math.h>

#include "policy/contract/stable_hash.h"
#include "routing_fixture.h"

static uint64_t hash_of_tokens(const char *model, uint32_t first, uint32_t last) {
  uint64_t hash = blis_stable_hash_start(model);
  unsigned char block[64];
  size_t size = 0;
  for (uint32_t token = first; token <= last; token++) {
    for (int i = 0; i < 4; i++) {
      block[size++] = (unsigned char)(token >> 8 * i);
    }
    if (size == sizeof block) {
      hash = blis_stable_hash_next(hash, block, size);
      size = 0;
    }
  }
  return hash;
}

/* Model "m", tokens 1 to 70 in blocks of 16, made with xxHash 0.8. */
static void stable_hash_vectors(void) {
  static const uint64_t chain[] = {UINT64_C(0xba2e567083a2b2e8), UINT64_C(0x634cc9dba5a2f7c6),
                                   UINT64_C(0x6da19ff51d217947), UINT64_C(0x46e32b569ffb5fae),
                                   UINT64_C(0x3c1f55b06ec6c865)};
  for (uint32_t k = 0; k < 5; k++) {
    CHECK(hash_of_tokens("m", 1, 16 * k + 6) == chain[k]);
  }
  static const struct {
    const char *id;
    uint64_t last; /* with the last hash of the chain */
    uint64_t first;
  } weights[] = {
      {"node-a", UINT64_C(0xb03363882d509e39), UINT64_C(0x92d58408fc7dc88a)},
      {"node-b", UINT64_C(0x871df9d18769121a), UINT64_C(0x5d2a906bfffb85fa)},
      {"node-c", UINT64_C(0x8eef4c7beb7f67b0), UINT64_C(0x15c5295a3b3ec165)},
  };
  for (size_t i = 0; i < 3; i++) {
    CHECK(blis_stable_hash_weight(weights[i].id, chain[4]) == weights[i].last);
    CHECK(blis_stable_hash_weight(weights[i].id, chain[0]) == weights[i].first);
  }
}

/* node-a, node-b, node-c. */
static void name_nodes(fixture *f) {
  for (size_t i = 0; i < f->view.count; i++) {
    snprintf(f->id_texts[i], sizeof f->id_texts[i], "node-%c", 'a' + (int)i);
  }
}

static size_t stable_pick(const blis_routing_view *view, double epsilon, const blis_segment *prefix,
                          const double *scores) {
  blis_stable_hash rule = BLIS_STABLE_HASH_DEFAULT;
  rule.epsilon = epsilon;
  const blis_routing_request request = {
      .number = 1, .prompt_tokens = 64, .segments = prefix, .segment_count = 1};
  size_t chosen = blis_stable_hash_pick(&rule, &request, view, scores);
  CHECK(chosen < view->count);
  return chosen;
}

static void only_what_is_within_epsilon_of_the_best_ties(void) {
  fixture f;
  fixture_init(&f, 3);
  name_nodes(&f);
  const blis_segment prefix = {.length_tokens = 64};
  /* Steps of 0.009: the first and the last are not tied by the one between. */
  double steps[] = {0.482, 0.491, 0.5};
  double far[] = {0.9, 0.5, 0.49};
  CHECK_EQ_I64(stable_pick(&f.view, 0.01, &prefix, far), 0);
  CHECK(stable_pick(&f.view, 0.01, &prefix, steps) != 0);
  CHECK_EQ_I64(stable_pick(&f.view, 0, &prefix, steps), 2);
}

/* Every prefix keeps its node, unless that node goes away. */
static void a_prefix_keeps_its_node(void) {
  fixture f;
  fixture_init(&f, 4);
  name_nodes(&f);
  static const double equal[4] = {0};
  blis_routing_view three = f.view;
  three.count = 3;
  int per_node[4] = {0};
  for (uint64_t stream = 1; stream <= 400; stream++) {
    const blis_segment prefix = {.stream = stream, .length_tokens = 64};
    size_t chosen = stable_pick(&f.view, 0.01, &prefix, equal);
    CHECK_EQ_I64(stable_pick(&f.view, 0.01, &prefix, equal), chosen);
    per_node[chosen]++;
    size_t without = stable_pick(&three, 0.01, &prefix, equal);
    CHECK(chosen == 3 || without == chosen);
  }
  for (int i = 0; i < 4; i++) {
    CHECK(per_node[i] > 60 && per_node[i] < 140);
  }
}

static uint64_t hash_of_content(int64_t number, const blis_segment *segments, uint32_t count,
                                int64_t window_tokens) {
  const blis_routing_request request = {
      .number = number, .prompt_tokens = 90, .segments = segments, .segment_count = count};
  return blis_stable_hash_of(&request, 16, window_tokens);
}

/* What lies behind the first 64 tokens does not matter. */
static void the_window_of_the_prefix_is_bounded(void) {
  const blis_segment prefix[] = {{1, 0, 64}, {2, 0, 8}};
  const blis_segment longer[] = {{1, 0, 80}};
  const blis_segment shorter[] = {{1, 0, 63}};
  uint64_t hash = hash_of_content(1, prefix, 1, 64);
  CHECK(hash == hash_of_content(2, prefix, 1, 64));
  CHECK(hash == hash_of_content(2, prefix, 2, 79)); /* full blocks alone */
  CHECK(hash == hash_of_content(3, longer, 1, 64));
  CHECK(hash != hash_of_content(1, shorter, 1, 64));
  CHECK(hash != hash_of_content(1, prefix, 1, 80));
  CHECK(hash_of_content(1, prefix, 1, 0) != hash_of_content(2, prefix, 1, 0));
  CHECK(hash_of_content(1, prefix, 1, 0) == hash_of_content(1, prefix, 1, 90));
}

/* However the same content is cut into segments, its hash is the same. */
static void the_hash_is_that_of_the_content(void) {
  const blis_segment whole[] = {{7, 5, 60}, {8, 0, 20}};
  const blis_segment cut[] = {{7, 5, 1}, {7, 6, 0},  {7, 6, 40}, {7, 46, 19},
                              {9, 0, 0}, {8, 0, 16}, {8, 16, 4}};
  const blis_segment gap[] = {{7, 5, 30}, {7, 36, 30}, {8, 0, 20}};
  const blis_segment later[] = {{7, 6, 60}, {8, 0, 20}};
  uint64_t hash = hash_of_content(1, whole, 2, 0);
  CHECK(hash == hash_of_content(1, cut, 7, 0));
  CHECK(hash != hash_of_content(1, gap, 3, 0));
  CHECK(hash != hash_of_content(1, later, 2, 0));
  CHECK(hash_of_content(1, NULL, 0, 64) != hash_of_content(2, NULL, 0, 64));
}

static void one_candidate_draws_nothing(void) {
  blis_random random, untouched;
  blis_random_init(&random, 7);
  untouched = random;
  const double score = 1;
  CHECK_EQ_I64(blis_pick_random(&random, 1), 0);
  CHECK_EQ_I64(blis_pick_power_of_two(&random, &score, 1), 0);
  CHECK_EQ_I64(blis_pick_softmax(&random, &score, 1, 1), 0);
  CHECK(random.next == untouched.next);
}

enum { DRAWS = 40000 };

static void check_shares(const size_t *picked, const double *shares, size_t count) {
  for (size_t i = 0; i < count; i++) {
    double share = (double)picked[i] / DRAWS;
    CHECK(fabs(share - shares[i]) < 0.012); /* 5 standard deviations */
  }
}

static void power_of_two_takes_the_better_of_two(void) {
  blis_random random;
  blis_random_init(&random, 11);
  const double scores[] = {1, 4, 2, 3};
  size_t picked[4] = {0};
  for (int i = 0; i < DRAWS; i++) {
    picked[blis_pick_power_of_two(&random, scores, 4)]++;
  }
  CHECK_EQ_I64(picked[0], 0); /* the worst of four loses every pair */
  check_shares(picked, (double[]){0, 0.5, 1.0 / 6, 1.0 / 3}, 4);
  const double equal[] = {1, 1, 1};
  size_t first[3] = {0};
  for (int i = 0; i < DRAWS; i++) {
    first[blis_pick_power_of_two(&random, equal, 3)]++;
  }
  check_shares(first, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3}, 3);
}

static void softmax_follows_its_formula(void) {
  blis_random random;
  blis_random_init(&random, 12);
  const double scores[] = {0, 1, 0.5};
  size_t picked[3] = {0};
  for (int i = 0; i < DRAWS; i++) {
    picked[blis_pick_softmax(&random, scores, 3, 0.5)]++;
  }
  double sum = exp(-2) + 1 + exp(-1);
  check_shares(picked, (double[]){exp(-2) / sum, 1 / sum, exp(-1) / sum}, 3);
  CHECK_EQ_I64(blis_pick_softmax(&random, scores, 3, 0), 1);
  const double equal[] = {2, 2, 2};
  size_t uniform[3] = {0};
  for (int i = 0; i < DRAWS; i++) {
    uniform[blis_pick_softmax(&random, equal, 3, 0.5)]++;
  }
  check_shares(uniform, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3}, 3);
}

static void weighted_random_follows_the_scores(void) {
  blis_random random;
  blis_random_init(&random, 13);
  const double scores[] = {0.1, 0, 0.4};
  size_t picked[3] = {0};
  for (int i = 0; i < DRAWS; i++) {
    picked[blis_pick_weighted_random(&random, scores, 3)]++;
  }
  check_shares(picked, (double[]){0.2, 0, 0.8}, 3);
  CHECK_EQ_I64(picked[1], 0);
  const double none[] = {0, 0, 0};
  size_t uniform[3] = {0};
  for (int i = 0; i < DRAWS; i++) {
    uniform[blis_pick_weighted_random(&random, none, 3)]++;
  }
  check_shares(uniform, (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3}, 3);
}

/* weighted-stateless with a picker: how often each of three is taken. */
static void count_picks(const blis_param *items, size_t count, const double *loads,
                        size_t *picked) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  const blis_params params = {items, count};
  blis_router router = fixture_router(&alloc, "weighted-stateless", &params, &context);
  CHECK_STR(router.name, "weighted-stateless");
  fixture f;
  fixture_init(&f, 3);
  fixture_set(&f, BLIS_SIGNAL_EFFECTIVE_LOAD, loads);
  blis_ticket ticket;
  blis_block_chain chain = {0};
  const blis_segment same = {.length_tokens = 64};
  for (int i = 0; i < DRAWS; i++) {
    blis_routing_request request = fixture_request(i, 64, &chain, &ticket);
    request.segments = &same;
    request.segment_count = 1;
    picked[fixture_route(&router, &request, &f.view).chosen]++;
  }
  blis_router_free(&router);
}

static blis_param picker_param(const char *name) {
  return (blis_param){.name = "picker", .text = name};
}

static void weighted_routing_takes_any_picker(void) {
  const double loads[] = {9, 1, 5};
  const double equal[] = {1, 1, 1};
  size_t picked[6][3] = {{0}};
  const blis_param first = {.name = "tie", .text = "first"};
  count_picks((blis_param[]){picker_param("best"), first}, 2, loads, picked[0]);
  check_shares(picked[0], (double[]){0, 1, 0}, 3);
  count_picks((blis_param[]){picker_param("llm-d.random-picker")}, 1, loads, picked[1]);
  check_shares(picked[1], (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3}, 3);
  count_picks((blis_param[]){picker_param("power-of-two")}, 1, loads, picked[2]);
  check_shares(picked[2], (double[]){0, 2.0 / 3, 1.0 / 3}, 3);
  const blis_param exploration = {.name = "exploration", .number = 0.3};
  count_picks((blis_param[]){exploration, picker_param("epsilon-greedy")}, 2, loads, picked[3]);
  check_shares(picked[3], (double[]){0.1, 0.8, 0.1}, 3);
  const blis_param stable = {.name = "tie", .text = "stable-hash"};
  count_picks(&stable, 1, equal, picked[4]);
  CHECK(picked[4][0] == DRAWS || picked[4][1] == DRAWS || picked[4][2] == DRAWS);
  count_picks((blis_param[]){picker_param("llm-d.max-score-picker")}, 1, equal,
              picked[5]); /* its ties are random */
  check_shares(picked[5], (double[]){1.0 / 3, 1.0 / 3, 1.0 / 3}, 3);
}

/* Every picker of the registry can be a choice of the parameter. */
static void every_picker_has_a_name_for_weighted(void) {
  blis_policy_context context = fixture_context();
  blis_alloc alloc = blis_alloc_heap();
  for (size_t i = 0; i < blis_policy_count(BLIS_POLICY_PICKER); i++) {
    const blis_policy_entry *entry = blis_policy_at(BLIS_POLICY_PICKER, i);
    const char *names[] = {entry->name, entry->aliases};
    for (size_t k = 0; k < 2 && names[k] != NULL; k++) {
      const blis_param item = picker_param(names[k]);
      const blis_params params = {&item, 1};
      blis_router router = fixture_router(&alloc, "weighted", &params, &context);
      blis_router_free(&router);
    }
  }
}

static void a_parameter_of_another_picker_is_an_error(void) {
  blis_policy_context context = fixture_context();
  blis_alloc alloc = blis_alloc_heap();
  const blis_param hot = {.name = "temperature", .number = 2};
  const blis_params params = {&hot, 1};
  blis_router router = {0};
  blis_error error = {0};
  CHECK(blis_router_create(&alloc, "weighted", &params, &context, &router, &error) ==
        BLIS_ERR_INVALID);
  CHECK_STR(error.message, "picker best: unknown parameter 'temperature'; "
                           "known are tie");
}

int main(void) {
  RUN(stable_hash_vectors);
  RUN(only_what_is_within_epsilon_of_the_best_ties);
  RUN(a_prefix_keeps_its_node);
  RUN(the_window_of_the_prefix_is_bounded);
  RUN(the_hash_is_that_of_the_content);
  RUN(one_candidate_draws_nothing);
  RUN(power_of_two_takes_the_better_of_two);
  RUN(softmax_follows_its_formula);
  RUN(weighted_random_follows_the_scores);
  RUN(weighted_routing_takes_any_picker);
  RUN(every_picker_has_a_name_for_weighted);
  RUN(a_parameter_of_another_picker_is_an_error);
  return check_done();
}
