/*
 * The search of the weighted router for its best candidate, against its pass
 * over all of them: the same choices and scores to the last bit, on columns
 * with many ties that change a little from one decision to the next.
 */
#include "policy/pipeline/best_search.h"
#include "policy/pipeline/scorer_list.h"
#include "policy/pipeline/weighted.h"
#include "routing_fixture.h"

enum { MOST = 1100, GROUPS = 5, PREFIX_BLOCKS = 6 };

/* Candidates, shown with the extremes of their columns and without. */
typedef struct site {
  uint32_t count;
  uint32_t instances[MOST];
  char id_texts[MOST][32];
  const char *ids[MOST];
  uint32_t id_ranks[MOST];
  double ranks[MOST];
  double columns[BLIS_SIGNAL_COUNT][MOST];
  blis_extremes *extremes[BLIS_SIGNAL_COUNT];
  blis_extremes *rank_extremes;
  blis_routing_view plain;
  blis_routing_view kept_up;
  blis_random random;
} site;

static site place;

static const blis_signal changing[] = {BLIS_SIGNAL_QUEUE_DEPTH, BLIS_SIGNAL_BATCH_SIZE,
                                       BLIS_SIGNAL_EFFECTIVE_LOAD, BLIS_SIGNAL_IN_FLIGHT,
                                       BLIS_SIGNAL_KV_UTILIZATION};
enum { CHANGING = sizeof changing / sizeof *changing };

/* Ranks that have nothing to do with the order of instances. */
static void name_instances(site *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    uint32_t k = (uint32_t)blis_random_intn(&s->random, (int32_t)i + 1);
    s->id_ranks[i] = s->id_ranks[k];
    s->id_ranks[k] = i;
  }
  for (uint32_t i = 0; i < s->count; i++) {
    s->instances[i] = i;
    s->ranks[i] = s->id_ranks[i];
    snprintf(s->id_texts[i], sizeof s->id_texts[i], "%05u", s->id_ranks[i]);
    s->ids[i] = s->id_texts[i];
  }
}

static void open_site(site *s, const blis_alloc *alloc, uint32_t count) {
  memset(s, 0, sizeof *s);
  s->count = count;
  blis_random_init(&s->random, count);
  name_instances(s);
  s->plain = (blis_routing_view){
      .count = count, .instances = s->instances, .ids = s->ids, .id_ranks = s->id_ranks};
  for (int k = 0; k < BLIS_SIGNAL_COUNT; k++) {
    s->plain.columns[k] = s->columns[k];
  }
  s->kept_up = s->plain;
  s->kept_up.extremes = (const blis_extremes *const *)s->extremes;
  for (int k = 0; k < CHANGING; k++) {
    s->extremes[changing[k]] = blis_extremes_new(alloc, s->columns[changing[k]], count);
  }
  s->rank_extremes = blis_extremes_new(alloc, s->ranks, count);
  s->kept_up.rank_extremes = s->rank_extremes;
}

static void close_site(site *s) {
  for (int k = 0; k < CHANGING; k++) {
    CHECK(blis_extremes_check(s->extremes[changing[k]]));
    blis_extremes_free(s->extremes[changing[k]]);
  }
  blis_extremes_free(s->rank_extremes);
}

/* Few different values, so that ties are common; now and then a large one. */
static void change(site *s, int values) {
  uint32_t i = (uint32_t)blis_random_intn(&s->random, (int32_t)s->count);
  for (int k = 0; k < CHANGING; k++) {
    blis_signal signal = changing[k];
    double before = s->columns[signal][i];
    double value = blis_random_intn(&s->random, values);
    value += blis_random_intn(&s->random, 500) == 0 ? 200 : 0;
    bool is_share = signal == BLIS_SIGNAL_KV_UTILIZATION;
    s->columns[signal][i] = is_share ? fmin(value / 8, 1) : value;
    blis_extremes_note(s->extremes[signal], i, before);
  }
}

/* A prompt of one of the groups, or of none. */
static blis_block_chain draw_chain(site *s, int64_t number) {
  static blis_block_id ids[GROUPS][PREFIX_BLOCKS];
  int32_t group = blis_random_intn(&s->random, GROUPS + 1);
  uint32_t shared = 0;
  if (group < GROUPS) {
    shared = 1 + (uint32_t)blis_random_intn(&s->random, PREFIX_BLOCKS);
    for (uint32_t k = 0; k < PREFIX_BLOCKS; k++) {
      ids[group][k] = (blis_block_id)(group * PREFIX_BLOCKS) + k + 1;
    }
  }
  return (blis_block_chain){ids[group % GROUPS], shared, 8,
                            BLIS_BLOCK_PRIVATE | (uint64_t)(number * 64)};
}

static blis_router open_router(const blis_alloc *alloc, const char *scorers, const char *tie) {
  blis_policy_context context = fixture_context();
  blis_error error;
  blis_param param = {.name = "tie", .text = tie};
  blis_params params = {&param, 1};
  blis_scorer_list list;
  blis_router router = {0};
  CHECK_OK(blis_scorer_list_parse(&list, scorers, "scorers", &error), &error);
  CHECK_OK(blis_scorer_list_router(alloc, &list, &params, &context, &router, &error), &error);
  return router;
}

/* Did the search find something, and is it what the pass finds? */
static bool agree_once(site *s, const blis_router *by_search, const blis_router *by_pass,
                       int64_t number) {
  blis_block_chain chain = draw_chain(s, number);
  blis_ticket ticket;
  blis_routing_request request = fixture_request(number, 128, &chain, &ticket);
  blis_decision a = fixture_route(by_search, &request, &s->kept_up);
  blis_decision b = fixture_route(by_pass, &request, &s->plain);
  CHECK_EQ_I64(a.chosen, b.chosen);
  CHECK_EQ_DOUBLE(a.score, b.score);
  CHECK_EQ_I64(a.has_belief, b.has_belief);
  CHECK_EQ_I64(a.believed_tokens, b.believed_tokens);
  CHECK(b.scores != NULL);
  return a.scores == NULL;
}

static void agree(const char *scorers, const char *tie, uint32_t count) {
  blis_alloc alloc = blis_alloc_heap();
  site *s = &place;
  open_site(s, &alloc, count);
  blis_router by_search = open_router(&alloc, scorers, tie);
  blis_router by_pass = open_router(&alloc, scorers, tie);
  CHECK(by_search.needs_extremes != 0);
  for (int64_t number = 0; number < 150; number++) {
    int changes = blis_random_intn(&s->random, 9);
    changes = number % 50 == 49 ? (int)count : changes;
    for (int k = 0; k < changes; k++) {
      change(s, 1 + (int)number / 25);
    }
    CHECK(agree_once(s, &by_search, &by_pass, number));
  }
  blis_router_free(&by_search);
  blis_router_free(&by_pass);
  close_site(s);
}

static void the_search_finds_what_the_pass_finds(void) {
  static const char *const lists[] = {
      "prefix-affinity:3,queue-depth:2,kv-utilization:2",
      "queue-depth:2,kv-utilization:2,load-balance:1",
      "kv-utilization:1,prefix-affinity:1",     /* equal sums of both kinds */
      "prefix-affinity:1e-20,kv-utilization:1", /* lost in rounding */
      "active-requests:1,load-aware:2,running-requests:0.3",
      "llm-d.prefix-cache-scorer:1,queue-depth:1,prefix-affinity:2,"
      "llm-d.active-request-scorer:1",
  };
  static const char *const ties[] = {"lowest-id", "random", "first", "last", "rotate"};
  static const uint32_t counts[] = {1, 2, 16, 17, 45, 256, 1100};
  for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
    for (size_t t = 0; t < sizeof ties / sizeof *ties; t++) {
      for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        agree(lists[l], ties[t], counts[c]);
      }
    }
  }
}

/* Candidates with sums of their own, of which many are the best as well. */
static void raised_ones_take_their_place_among_those_tied(void) {
  blis_alloc alloc = blis_alloc_heap();
  site *s = &place;
  open_site(s, &alloc, 60);
  for (int round = 0; round < 3000; round++) {
    for (int k = 0; k < 5; k++) {
      change(s, 3);
    }
    const blis_signal signal = BLIS_SIGNAL_KV_UTILIZATION;
    blis__term term = {
        .rule.form = {BLIS_SCORE_REST, signal, 0, 0}, .extremes = s->extremes[signal], .weight = 1};
    double sums[MOST];
    blis__raised raised[MOST];
    size_t raised_count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
      sums[i] = 1 - s->columns[signal][i];
      if (blis_random_intn(&s->random, 4) == 0) {
        sums[i] = fmax(sums[i], 1 - blis_random_intn(&s->random, 3) / 8.0);
        raised[raised_count++] = (blis__raised){i, sums[i], false};
      }
    }
    const blis__best_query query = {&term, 1, raised, raised_count, s->rank_extremes};
    for (int rule = 0; rule < BLIS_TIE_RULE_COUNT; rule++) {
      blis_tie a, b;
      blis_tie_init(&a, (blis_tie_rule)rule, round, "test");
      blis_tie_init(&b, (blis_tie_rule)rule, round, "test");
      a.rotation = b.rotation = (uint64_t)round;
      double best;
      size_t chosen = blis__best_pick(&query, &a, &best);
      CHECK_EQ_I64(chosen, blis_tie_pick_max(&b, sums, &s->plain));
      CHECK_EQ_DOUBLE(best, sums[chosen]);
    }
  }
  close_site(s);
}

/* Where every score has to be told, or a picker looks at them, all are. */
static void others_look_at_all_candidates(void) {
  blis_alloc alloc = blis_alloc_heap();
  site *s = &place;
  open_site(s, &alloc, 40);
  blis_router router = open_router(&alloc, "kv-utilization:1", "stable-hash");
  blis_block_chain chain = {0};
  blis_ticket ticket;
  blis_routing_request request = fixture_request(1, 128, &chain, &ticket);
  CHECK(fixture_route(&router, &request, &s->kept_up).scores != NULL);
  blis_router_free(&router);
  router = open_router(&alloc, "kv-utilization:1", "first");
  CHECK(fixture_route(&router, &request, &s->kept_up).scores == NULL);
  request.wants_parts = true;
  CHECK(fixture_route(&router, &request, &s->kept_up).scores != NULL);
  blis_router_free(&router);
  router = open_router(&alloc, "vllm-dp:1,kv-utilization:1", "first");
  CHECK_EQ_I64(router.needs_extremes, 0);
  blis_router_free(&router);
  close_site(s);
}

int main(void) {
  RUN(the_search_finds_what_the_pass_finds);
  RUN(raised_ones_take_their_place_among_those_tied);
  RUN(others_look_at_all_candidates);
  return check_done();
}
