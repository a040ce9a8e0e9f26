/* What holds for every registered routing policy. */
#include <math.h>

#include "base/random.h"
#include "routing_fixture.h"

enum {
  INSTANCES = 6,
  PROMPTS = 12, /* different ones */
  PROMPT_BLOCKS = 8,
  IN_FLIGHT_MAX = 24
};

/* A random world that two equal routers can be shown alike. */
typedef struct world {
  blis_random random;
  fixture all;
  fixture some; /* the candidates of the next decision */
  blis_block_id ids[PROMPTS][PROMPT_BLOCKS];
  blis_block_chain chains[PROMPTS];
  int64_t now_us;
  int64_t number;
} world;

static void world_init(world *w, int64_t seed) {
  *w = (world){.now_us = 0};
  blis_random_init(&w->random, seed);
  fixture_init(&w->all, INSTANCES);
  for (blis_block_id p = 0; p < PROMPTS; p++) {
    for (blis_block_id k = 0; k < PROMPT_BLOCKS; k++) {
      /* Prompts share their first half with two others. */
      w->ids[p][k] = 1 + k + (k < PROMPT_BLOCKS / 2 ? p / 3 : 10 + p) * 100;
    }
    w->chains[p] =
        (blis_block_chain){w->ids[p], PROMPT_BLOCKS, PROMPT_BLOCKS, BLIS_BLOCK_PRIVATE | p << 32};
  }
}

static void fill_columns(world *w) {
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    bool is_share = strcmp(blis_signal_unit((blis_signal)s), "0 to 1") == 0;
    for (size_t i = 0; i < INSTANCES; i++) {
      double value = blis_random_float64(&w->random);
      w->all.columns[s][i] = is_share ? value : floor(value * 5);
    }
  }
  for (size_t i = 0; i < INSTANCES; i++) {
    w->all.columns[BLIS_SIGNAL_KV_BLOCKS][i] = 100;
    w->all.columns[BLIS_SIGNAL_MAX_NUM_SEQS][i] = 8;
  }
}

/* Any instances, at least one; all of them half of the time. */
static void choose_candidates(world *w) {
  uint32_t all = (1u << INSTANCES) - 1;
  uint32_t mask = (uint32_t)blis_random_intn(&w->random, (int32_t)all) + 1;
  mask = blis_random_intn(&w->random, 2) == 0 ? all : mask;
  fixture *some = &w->some;
  fixture_init(some, INSTANCES);
  size_t count = 0;
  for (uint32_t i = 0; i < INSTANCES; i++) {
    if ((mask >> i & 1) != 0) {
      some->instances[count] = i;
      some->ids[count] = w->all.ids[i];
      some->id_ranks[count] = w->all.id_ranks[i];
      for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
        some->columns[s][count] = w->all.columns[s][i];
      }
      count++;
    }
  }
  some->view.count = count;
  some->view.now_us = w->now_us;
}

static void world_next(world *w) {
  w->now_us += blis_random_intn(&w->random, 2000000);
  w->number++;
  fill_columns(w);
  choose_candidates(w);
}

static blis_routing_request next_request(world *w, blis_ticket *ticket) {
  size_t prompt = (size_t)blis_random_intn(&w->random, PROMPTS);
  blis_routing_request request =
      fixture_request(w->number, PROMPT_BLOCKS * 16 + 5, &w->chains[prompt], ticket);
  request.session = (uint32_t)(prompt % 5);
  request.round_index = blis_random_intn(&w->random, 10);
  request.prefix_tokens = prompt % 2 == 0 ? 64 : 0;
  return request;
}

/* Requests that were routed and have not ended. */
typedef struct flight {
  blis_ticket ticket;
  uint32_t instance;
} flight;

typedef struct subject {
  const char *name;
  blis_alloc_probe memory;
  blis_alloc alloc;
  blis_router router;
  flight flights[IN_FLIGHT_MAX];
  size_t count;
} subject;

static void subject_init(subject *s, const char *name) {
  *s = (subject){.name = name};
  s->alloc = blis_alloc_probed(&s->memory);
  blis_policy_context context = fixture_context();
  s->router = fixture_router(&s->alloc, name, NULL, &context);
}

static void subject_deinit(subject *s) {
  blis_router_free(&s->router);
  CHECK_EQ_I64(s->memory.live_bytes, 0);
}

static void end(subject *s, size_t k, bool is_prefilled) {
  flight *f = &s->flights[k];
  const blis_router_ops *ops = s->router.ops;
  if (is_prefilled && ops->first_token != NULL) {
    fixture_first_token(&s->router, &f->ticket, f->instance);
  }
  if (ops->ended != NULL) {
    fixture_ended(&s->router, &f->ticket, f->instance);
  }
  s->flights[k] = s->flights[--s->count];
}

/* One decision in the world as it is; the oldest flights end. */
static blis_decision step(subject *s, world *w) {
  if (s->count == IN_FLIGHT_MAX) {
    end(s, (size_t)blis_random_intn(&w->random, IN_FLIGHT_MAX),
        blis_random_intn(&w->random, 2) == 0);
  }
  flight *f = &s->flights[s->count];
  blis_routing_request request = next_request(w, &f->ticket);
  blis_decision d = fixture_route(&s->router, &request, &w->some.view);
  if (d.rejected == NULL) {
    f->instance = w->some.instances[d.chosen];
    s->count++;
  }
  return d;
}

/* Candidates come and go; equal routers decide alike on equal worlds. */
static void decisions_are_valid_and_repeat(void) {
  for (size_t e = 0; e < blis_policy_count(BLIS_POLICY_ROUTER); e++) {
    subject a, b;
    subject_init(&a, blis_policy_at(BLIS_POLICY_ROUTER, e)->name);
    subject_init(&b, blis_policy_at(BLIS_POLICY_ROUTER, e)->name);
    CHECK_STR(a.router.name, a.name);
    static world first, second;
    world_init(&first, 17);
    world_init(&second, 17);
    for (int round = 0; round < 1000; round++) {
      world_next(&first);
      world_next(&second);
      blis_decision d = step(&a, &first);
      blis_decision again = step(&b, &second);
      CHECK((d.rejected == NULL) == (again.rejected == NULL));
      CHECK_EQ_I64(d.chosen, again.chosen);
      CHECK_EQ_DOUBLE(d.score, again.score);
      for (size_t i = 0; d.scores != NULL && i < first.some.view.count; i++) {
        CHECK(!isnan(d.scores[i]) && d.scores[i] < (double)INFINITY);
      }
    }
    subject_deinit(&a);
    subject_deinit(&b);
  }
}

/* After all prompts, sessions and instances were seen once, none is needed. */
static void decisions_take_no_memory(void) {
  for (size_t e = 0; e < blis_policy_count(BLIS_POLICY_ROUTER); e++) {
    subject s;
    static world w;
    subject_init(&s, blis_policy_at(BLIS_POLICY_ROUTER, e)->name);
    world_init(&w, 23);
    for (int round = 0; round < 3000; round++) {
      world_next(&w);
      step(&s, &w);
    }
    long requests = s.memory.requests;
    for (int round = 0; round < 3000; round++) {
      world_next(&w);
      step(&s, &w);
    }
    if (s.memory.requests != requests) {
      fprintf(stderr, "%s allocates\n", s.name);
    }
    CHECK_EQ_I64(s.memory.requests, requests);
    subject_deinit(&s);
  }
}

/* Makes a router and decides three times; false when memory ran out. */
static bool decide_with(const char *name, long fail_at) {
  blis_alloc_probe memory = {.fail_at = fail_at};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_policy_context context = fixture_context();
  blis_router router = {0};
  blis_error error = {0};
  static world w;
  world_init(&w, 5);
  blis_status status = blis_router_create(&alloc, name, NULL, &context, &router, &error);
  for (int round = 0; round < 3 && status == BLIS_OK; round++) {
    world_next(&w);
    blis_ticket ticket;
    blis_routing_request request = next_request(&w, &ticket);
    blis_decision d;
    status = router.ops->route(&(blis_question){router.state, &request, &w.some.view, &error}, &d);
  }
  CHECK(status == BLIS_OK || error.status == BLIS_ERR_NOMEM);
  blis_router_free(&router);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status == BLIS_OK;
}

static void no_memory_is_an_error(void) {
  for (size_t e = 0; e < blis_policy_count(BLIS_POLICY_ROUTER); e++) {
    long request = 1;
    while (!decide_with(blis_policy_at(BLIS_POLICY_ROUTER, e)->name, request)) {
      request++;
      CHECK(request < 200);
    }
  }
}

/* Names are of one kind each, aliases included, and parameters explained. */
static void entries_are_complete(void) {
  blis_error error;
  for (size_t e = 0; e < blis_policy_count(BLIS_POLICY_ROUTER); e++) {
    const blis_policy_entry *entry = blis_policy_at(BLIS_POLICY_ROUTER, e);
    CHECK(blis_policy_find(BLIS_POLICY_ROUTER, entry->name, &error) == entry);
    CHECK(entry->summary[0] != '\0' && entry->source[0] != '\0');
    for (size_t k = 0; k < entry->param_count; k++) {
      const blis_param_spec *spec = &entry->params[k];
      CHECK(spec->summary[0] != '\0' && spec->unit != NULL);
      CHECK((spec->kind == BLIS_PARAM_CHOICE) == (spec->choices != NULL));
      CHECK(spec->kind == BLIS_PARAM_CHOICE || spec->kind == BLIS_PARAM_BOOLEAN ||
            (spec->minimum <= spec->fallback && spec->fallback <= spec->maximum));
      for (size_t other = 0; other < k; other++) {
        CHECK(strcmp(entry->params[other].name, spec->name) != 0);
      }
    }
    const char *aliases = entry->aliases == NULL ? "" : entry->aliases;
    while (*aliases != '\0') {
      char alias[64] = "";
      size_t length = strcspn(aliases, "|");
      CHECK(length < sizeof alias);
      memcpy(alias, aliases, length);
      CHECK(blis_policy_find(BLIS_POLICY_ROUTER, alias, &error) == entry);
      aliases += length + (aliases[length] == '|');
    }
  }
}

int main(void) {
  RUN(decisions_are_valid_and_repeat);
  RUN(decisions_take_no_memory);
  RUN(no_memory_is_an_error);
  RUN(entries_are_complete);
  return check_done();
}
