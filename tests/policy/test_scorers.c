/* The built-in scorers one by one, on the examples of their sources. */
#include <math.h>

#include "routing_fixture.h"

static blis_scorer scorer_of(const blis_alloc *alloc, const char *name, const blis_params *params) {
  blis_policy_context context = fixture_context();
  blis_scorer scorer = {0};
  blis_error error;
  CHECK_OK(blis_scorer_create(alloc, name, params, &context, &scorer, &error), &error);
  return scorer;
}

/* One request; chosen < count is observed. */
static void score(const blis_scorer *scorer, const blis_routing_view *view, size_t chosen,
                  double *scores) {
  blis_block_chain chain = {0};
  blis_ticket ticket;
  blis_routing_request request = fixture_request(1, 100, &chain, &ticket);
  blis_error error;
  CHECK_OK(scorer->ops->score(&(blis_question){scorer->state, &request, view, &error}, scores),
           &error);
  if (scorer->ops->observe != NULL && chosen < view->count) {
    CHECK_OK(scorer->ops->observe(&(blis_question){scorer->state, &request, view, &error}, chosen),
             &error);
  }
}

static void scores_of_counts(void) {
  static const struct {
    const char *scorer;
    blis_signal signal;
    double values[3];
    double scores[3];
  } cases[] = {
      {"queue-depth", BLIS_SIGNAL_EFFECTIVE_LOAD, {6, 2, 4}, {0, 1, 0.5}},
      {"queue-depth", BLIS_SIGNAL_EFFECTIVE_LOAD, {7, 7, 7}, {1, 1, 1}},
      {"kv-utilization", BLIS_SIGNAL_KV_UTILIZATION, {0.5, 0, 1}, {0.5, 1, 0}},
      {"load-balance", BLIS_SIGNAL_EFFECTIVE_LOAD, {7, 1, 3}, {.125, .5, .25}},
      {"active-requests", BLIS_SIGNAL_IN_FLIGHT, {0, 2, 4}, {1, 0.5, 0}},
      {"active-requests", BLIS_SIGNAL_IN_FLIGHT, {2, 2, 2}, {0, 0, 0}},
      {"active-requests", BLIS_SIGNAL_IN_FLIGHT, {0, 0, 0}, {1, 1, 1}},
      {"running-requests", BLIS_SIGNAL_BATCH_SIZE, {2, 2, 2}, {1, 1, 1}},
      {"running-requests", BLIS_SIGNAL_BATCH_SIZE, {8, 0, 2}, {0, 1, .75}},
      {"load-aware", BLIS_SIGNAL_QUEUE_DEPTH, {0, 32, 300}, {0.5, 0.375, 0}},
      {"precise-prefix-cache", BLIS_SIGNAL_CACHED_TOKENS, {0, 64, 16}, {0, 1, .25}},
      {"precise-prefix-cache", BLIS_SIGNAL_CACHED_TOKENS, {0}, {1, 1, 1}},
      {"oracle-prefix", BLIS_SIGNAL_LIVE_PREFIX_HIT, {0, .8, 1}, {0, .8, 1}},
      {"tiered-prefix", BLIS_SIGNAL_TIERED_PREFIX_HIT, {0, .75, 1}, {0, .75, 1}},
      {"predicted-latency", BLIS_SIGNAL_ESTIMATED_TTFT_US, {5000, 1000, 2000}, {0, 1, .75}},
      {"predicted-latency", BLIS_SIGNAL_ESTIMATED_TTFT_US, {7, 7, 7}, {1, 1, 1}},
  };
  blis_alloc alloc = blis_alloc_heap();
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    blis_scorer scorer = scorer_of(&alloc, cases[c].scorer, NULL);
    CHECK_STR(scorer.name, cases[c].scorer);
    CHECK(scorer.needs == BLIS_SIGNAL_BIT(cases[c].signal));
    fixture f;
    fixture_init(&f, 3);
    fixture_set(&f, cases[c].signal, cases[c].values);
    double scores[3];
    score(&scorer, &f.view, 3, scores);
    for (int i = 0; i < 3; i++) {
      CHECK_EQ_DOUBLE(scores[i], cases[c].scores[i]);
    }
    blis_scorer_free(&scorer);
  }
}

static void the_threshold_of_load_aware_is_a_parameter(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_param param = {.name = "threshold", .number = 10};
  blis_params params = {&param, 1};
  blis_scorer scorer = scorer_of(&alloc, "load-aware", &params);
  fixture f;
  fixture_init(&f, 2);
  fixture_set(&f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){5, 10});
  double scores[2];
  score(&scorer, &f.view, 2, scores);
  CHECK_EQ_DOUBLE(scores[0], 0.25);
  CHECK_EQ_DOUBLE(scores[1], 0.0);
  blis_scorer_free(&scorer);
}

static void predicted_latency_may_keep_proportions(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_param param = {.name = "scale", .text = "ratio"};
  blis_params params = {&param, 1};
  blis_scorer scorer = scorer_of(&alloc, "predicted-latency", &params);
  fixture f;
  fixture_init(&f, 3);
  fixture_set(&f, BLIS_SIGNAL_ESTIMATED_TTFT_US, (double[]){2000, 1000, 4000});
  double scores[3];
  score(&scorer, &f.view, 3, scores);
  CHECK_EQ_DOUBLE(scores[0], 0.5);
  CHECK_EQ_DOUBLE(scores[1], 1.0);
  CHECK_EQ_DOUBLE(scores[2], 0.25);
  blis_scorer_free(&scorer);
}

/* Raw loads 4 q + b: 13, 8, 12. */
static void vllm_dp_weighs_waiting_requests_fourfold(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_scorer scorer = scorer_of(&alloc, "vllm-dp", NULL);
  fixture f;
  fixture_init(&f, 3);
  fixture_set(&f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){3, 0, 1});
  fixture_set(&f, BLIS_SIGNAL_BATCH_SIZE, (double[]){1, 8, 8});
  double scores[3];
  score(&scorer, &f.view, 3, scores);
  CHECK_EQ_DOUBLE(scores[0], 0.0);
  CHECK_EQ_DOUBLE(scores[1], 1.0);
  CHECK_EQ_DOUBLE(scores[2], 0.2);
  blis_scorer_free(&scorer);
}

static void check_lru(const blis_scorer *scorer, const blis_routing_view *view, size_t chosen,
                      const double *expected) {
  double scores[FIXTURE_MAX];
  score(scorer, view, chosen, scores);
  for (size_t i = 0; i < view->count; i++) {
    CHECK_EQ_DOUBLE(scores[i], expected[i]);
  }
}

static void no_hit_lru_prefers_the_one_longest_without_a_cold_request(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_scorer scorer = scorer_of(&alloc, "no-hit-lru", NULL);
  fixture f;
  fixture_init(&f, 3);
  check_lru(&scorer, &f.view, 1, (double[]){1, 0.5, 0});
  check_lru(&scorer, &f.view, 0, (double[]){1, 0, 0.5});
  /* The published example: oldest first B, A. */
  check_lru(&scorer, &f.view, 3, (double[]){0, 0.5, 1});
  /* A warm request changes nothing. */
  f.columns[BLIS_SIGNAL_CACHED_TOKENS][2] = 16;
  check_lru(&scorer, &f.view, 1, (double[]){0.5, 0.5, 0.5});
  f.columns[BLIS_SIGNAL_CACHED_TOKENS][2] = 0;
  check_lru(&scorer, &f.view, 3, (double[]){0, 0.5, 1});
  /* Without A among the candidates, A is forgotten. */
  blis_routing_view others = fixture_only(&f, 1);
  others.count = 2;
  check_lru(&scorer, &others, 2, (double[]){0, 1});
  check_lru(&scorer, &f.view, 3, (double[]){1, 0, 0.5});
  blis_scorer_free(&scorer);
}

/* One candidate is scored without a look at the order, and then added. */
static void no_hit_lru_with_one_candidate(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_scorer scorer = scorer_of(&alloc, "no-hit-lru", NULL);
  fixture f;
  fixture_init(&f, 3);
  blis_routing_view last = fixture_only(&f, 2);
  check_lru(&scorer, &last, 0, (double[]){1});
  check_lru(&scorer, &last, 0, (double[]){1});
  f.view.count = 2;
  check_lru(&scorer, &f.view, 0, (double[]){1, 0});
  f.view.count = 3; /* the third was forgotten in between */
  check_lru(&scorer, &f.view, 3, (double[]){0, 1, 0.5});
  blis_scorer_free(&scorer);
}

/* B, which is not a candidate, counts in the order; only two are remembered. */
static void llmd_no_hit_lru_ranks_among_all(void) {
  blis_alloc alloc = blis_alloc_heap();
  const blis_param size = {.name = "lru_size", .number = 2};
  const blis_params params = {&size, 1};
  blis_scorer scorer = scorer_of(&alloc, "llm-d.no-hit-lru-scorer", &params);
  fixture f;
  fixture_init(&f, 3);
  check_lru(&scorer, &f.view, 1, (double[]){1, 0.5, 0});
  check_lru(&scorer, &f.view, 0, (double[]){1, 0, 0.5});
  check_lru(&scorer, &f.view, 3, (double[]){0, 0.5, 1});
  f.view.count = 1;
  check_lru(&scorer, &f.view, 3, (double[]){1});
  blis_routing_view others = fixture_only(&f, 1);
  f.view.count = 3;
  others.count = 2; /* 1 is the oldest, 0 next and no candidate, 2 is new */
  check_lru(&scorer, &others, 1, (double[]){0, 1});
  /* 1 made room for 2. */
  check_lru(&scorer, &f.view, 3, (double[]){0.5, 1, 0});
  blis_scorer_free(&scorer);
}

/* On anything at all: scores of 0 to 1, and the same ones twice. */
static void scores_are_in_range_and_repeat(void) {
  blis_alloc alloc = blis_alloc_heap();
  for (size_t e = 0; e < blis_policy_count(BLIS_POLICY_SCORER); e++) {
    const char *name = blis_policy_at(BLIS_POLICY_SCORER, e)->name;
    blis_scorer a = scorer_of(&alloc, name, NULL);
    blis_scorer b = scorer_of(&alloc, name, NULL);
    blis_random random;
    blis_random_init(&random, 3);
    for (int round = 0; round < 200; round++) {
      fixture f;
      fixture_init(&f, 1 + (size_t)blis_random_intn(&random, FIXTURE_MAX));
      for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
        bool is_share = strcmp(blis_signal_unit((blis_signal)s), "0 to 1") == 0;
        for (size_t i = 0; i < f.view.count; i++) {
          double value = blis_random_float64(&random);
          f.columns[s][i] = is_share ? value : floor(value * 5);
        }
      }
      size_t chosen = (size_t)blis_random_intn(&random, (int32_t)f.view.count);
      double scores[FIXTURE_MAX], again[FIXTURE_MAX];
      score(&a, &f.view, chosen, scores);
      score(&b, &f.view, chosen, again);
      for (size_t i = 0; i < f.view.count; i++) {
        CHECK(scores[i] >= 0 && scores[i] <= 1);
        CHECK_EQ_DOUBLE(again[i], scores[i]);
      }
    }
    blis_scorer_free(&a);
    blis_scorer_free(&b);
  }
}

static bool make_and_score(const char *name, long fail_at) {
  blis_alloc_probe memory = {.fail_at = fail_at};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_policy_context context = fixture_context();
  fixture f;
  fixture_init(&f, 3);
  blis_scorer scorer = {0};
  blis_error error = {0};
  blis_status status = blis_scorer_create(&alloc, name, NULL, &context, &scorer, &error);
  if (status == BLIS_OK) {
    static blis_block_id ids[] = {1, 2, 3};
    blis_block_chain chain = {ids, 3, 3, BLIS_BLOCK_PRIVATE};
    blis_ticket ticket;
    blis_routing_request request = fixture_request(1, 48, &chain, &ticket);
    double scores[3];
    status = scorer.ops->score(&(blis_question){scorer.state, &request, &f.view, &error}, scores);
    if (status == BLIS_OK && scorer.ops->observe != NULL) {
      status = scorer.ops->observe(&(blis_question){scorer.state, &request, &f.view, &error}, 1);
    }
  }
  CHECK(status == BLIS_OK || error.status == BLIS_ERR_NOMEM);
  blis_scorer_free(&scorer);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status == BLIS_OK;
}

static void no_memory_is_an_error(void) {
  for (size_t e = 0; e < blis_policy_count(BLIS_POLICY_SCORER); e++) {
    long request = 1;
    while (!make_and_score(blis_policy_at(BLIS_POLICY_SCORER, e)->name, request)) {
      request++;
      CHECK(request < 100);
    }
  }
}

int main(void) {
  RUN(scores_of_counts);
  RUN(the_threshold_of_load_aware_is_a_parameter);
  RUN(predicted_latency_may_keep_proportions);
  RUN(vllm_dp_weighs_waiting_requests_fourfold);
  RUN(no_hit_lru_prefers_the_one_longest_without_a_cold_request);
  RUN(no_hit_lru_with_one_candidate);
  RUN(llmd_no_hit_lru_ranks_among_all);
  RUN(scores_are_in_range_and_repeat);
  RUN(no_memory_is_an_error);
  return check_done();
}
