/*
 * The choice among data-parallel ranks by 4 x waiting + running, alone and as
 * routing policy vllm.dp.
 */
#include "gateway_fixture.h"
#include "policy/memory/rank_balancer.h"

enum { RANKS = 3, TRIALS = 200, RANDOM_RANKS_MAX = 6 };

static const uint32_t ranks[] = {0, 1, 2, 3, 4, 5};

/* (waiting, running): 7, 6 and 6. */
static const blis__rank_load example[RANKS] = {{1, 3}, {0, 6}, {0, 6}};

typedef struct site {
  blis_alloc_probe memory;
  blis_alloc alloc;
  blis__rank_balancer balancer;
} site;

static void open_site(site *s, uint32_t clients, int64_t publish_us) {
  *s = (site){0};
  s->alloc = blis_alloc_probed(&s->memory);
  blis__rank_balancer_init(&s->balancer, clients, publish_us);
  CHECK(blis__rank_balancer_reserve(&s->balancer, &s->alloc, RANDOM_RANKS_MAX) == BLIS_OK);
}

static void close_site(site *s) {
  blis__rank_balancer_deinit(&s->balancer, &s->alloc);
  CHECK_EQ_I64(s->memory.live_bytes, 0);
}

static void publish(const site *s, const blis__rank_load *loads, size_t count) {
  for (uint32_t i = 0; i < count; i++) {
    blis__rank_balancer_publish(&s->balancer, i, loads[i]);
  }
}

static size_t choose(site *s, size_t count) {
  return blis__rank_balancer_choose(&s->balancer, ranks, count);
}

/* What was sent to a rank counts 4 until the next publication. */
static void worked_example(void) {
  site s;
  open_site(&s, 1, 100000);
  publish(&s, example, RANKS);
  static const size_t expected[] = {1, 2, 0, 1};
  for (size_t k = 0; k < 4; k++) {
    CHECK_EQ_I64(choose(&s, RANKS), expected[k]);
  }
  publish(&s, example, RANKS);
  CHECK_EQ_I64(choose(&s, RANKS), 1);
  close_site(&s);
}

/* Of equal ones each takes the first from its own beginning on: 0 and 2. */
static void clients_begin_elsewhere(void) {
  site s;
  open_site(&s, 2, 100000);
  static const size_t expected[] = {0, 2, 1, 3, 2, 0, 3, 1};
  for (size_t k = 0; k < 8; k++) {
    CHECK_EQ_I64(choose(&s, 4), expected[k]);
  }
  close_site(&s);
}

/* One of two knows nothing of the other's: it counts its own twice. */
static void a_client_counts_for_all(void) {
  site s;
  open_site(&s, 2, 100000);
  const blis__rank_load loads[] = {{0, 0}, {1, 3}, {1, 4}};
  publish(&s, loads, RANKS); /* 0, 7, 8 */
  static const size_t expected[] = {0, 0, 1, 1, 0, 2};
  for (size_t k = 0; k < 6; k++) {
    CHECK_EQ_I64(choose(&s, RANKS), expected[k]);
  }
  close_site(&s);
}

/* Half an interval after the beginning, and then every interval. */
static void counts_are_due(void) {
  static const struct {
    int64_t at_us;
    bool is_due;
  } looks[] = {{0, false},     {49999, false}, {50000, true},   {50000, false}, {149999, false},
               {150000, true}, {470000, true}, {549999, false}, {550000, true}};
  site s;
  open_site(&s, 1, 100000);
  for (size_t k = 0; k < sizeof looks / sizeof *looks; k++) {
    CHECK(blis__rank_balancer_is_due(&s.balancer, looks[k].at_us) == looks[k].is_due);
  }
  close_site(&s);
  open_site(&s, 1, 0);
  CHECK(blis__rank_balancer_is_due(&s.balancer, 7));
  CHECK(blis__rank_balancer_is_due(&s.balancer, 7));
  close_site(&s);
}

/* A request that names its rank is known to the client that sends it. */
static void named_ranks_count(void) {
  site s;
  open_site(&s, 1, 100000);
  blis__rank_balancer_send(&s.balancer, 0);
  CHECK_EQ_I64(choose(&s, 2), 1);
  CHECK_EQ_I64(choose(&s, 2), 0);
  close_site(&s);
}

/* Against scores that are all worked out anew. */
static void random_choices(void) {
  blis_random random;
  blis_random_init(&random, 11);
  for (int trial = 0; trial < TRIALS; trial++) {
    site s;
    uint32_t clients = 1 + (uint32_t)blis_random_intn(&random, 5);
    size_t count = 1 + (size_t)blis_random_intn(&random, RANDOM_RANKS_MAX);
    blis__rank_load known[5][RANDOM_RANKS_MAX] = {0};
    open_site(&s, clients, 100000);
    for (uint32_t turn = 0; turn < 40; turn++) {
      uint32_t client = turn % clients;
      if (blis_random_intn(&random, 8) == 0) {
        for (uint32_t i = 0; i < count; i++) {
          const blis__rank_load load = {blis_random_intn(&random, 5),
                                        blis_random_intn(&random, 20)};
          blis__rank_balancer_publish(&s.balancer, i, load);
          for (uint32_t c = 0; c < clients; c++) {
            known[c][i] = load;
          }
        }
      }
      size_t chosen = choose(&s, count);
      size_t start = client * count / clients;
      for (size_t i = 0; i < count; i++) {
        int64_t mine = 4 * known[client][chosen].waiting + known[client][chosen].running;
        int64_t other = 4 * known[client][i].waiting + known[client][i].running;
        bool is_before = (i + count - start) % count < (chosen + count - start) % count;
        CHECK(mine < other || (mine == other && !is_before));
      }
      known[client][chosen].waiting += clients;
    }
    close_site(&s);
  }
}

static void set_counts(gateway *g, const double *waiting, const double *running) {
  fixture_set(&g->f, BLIS_SIGNAL_QUEUE_DEPTH, waiting);
  fixture_set(&g->f, BLIS_SIGNAL_BATCH_SIZE, running);
}

/* Nothing is known before 50 ms, and nothing new before 150 ms. */
static void as_a_routing_policy(void) {
  gateway g;
  open_policy(&g, "vllm.dp", RANKS);
  set_counts(&g, (double[]){1, 0, 0}, (double[]){3, 6, 6});
  CHECK_EQ_I64(route_one(&g, PROMPT(10, 0, 0)), 0);
  g.f.view.now_us = 60000;
  static const size_t expected[] = {1, 2, 0, 1};
  for (size_t k = 0; k < 4; k++) {
    CHECK_EQ_I64(route_one(&g, PROMPT(10, 0, 0)), expected[k]);
  }
  g.f.view.now_us = 149999;
  CHECK_EQ_I64(route_one(&g, PROMPT(10, 0, 0)), 2);
  g.f.view.now_us = 150000;
  CHECK_EQ_I64(route_one(&g, PROMPT(10, 0, 0)), 1);
  close_policy(&g);
}

static void rooms(void) {
  gateway g;
  open_policy(&g, "sglang.dp_room", RANKS);
  blis_decision decision;
  for (int64_t number = -4; number < 7; number++) {
    const blis_routing_request request = {.number = number};
    CHECK(g.router.ops->route(&(blis_question){g.router.state, &request, &g.f.view, NULL},
                              &decision) == BLIS_OK);
    CHECK_EQ_I64(decision.chosen, (number + 6) % RANKS);
  }
  close_policy(&g);
}

int main(void) {
  RUN(worked_example);
  RUN(clients_begin_elsewhere);
  RUN(a_client_counts_for_all);
  RUN(counts_are_due);
  RUN(named_ranks_count);
  RUN(random_choices);
  RUN(as_a_routing_policy);
  RUN(rooms);
  return check_done();
}
