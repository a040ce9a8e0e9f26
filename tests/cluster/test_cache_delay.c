/*
 * What policies see of the caches with a delay, against naive copies of the
 * prefix tables made whenever the rule says so: when anybody is shown anything
 * at c with c - last >= delay, all together, last = c; empty at first.
 */
#include "cluster_fixture.h"

enum { INSTANCES = 3, NAMES = 400 };

/* A copy of every prefix table, and who sees it. */
typedef struct copyist {
  const blis_cluster *cluster;
  int64_t delay_us;
  int64_t last_us;
  bool is_there[INSTANCES][NAMES]; /* by instance and identity */
  int64_t copies;
  int64_t differing; /* decisions in which live and old views differ */
  blis_random random;
} copyist;

static bool has_block(const blis_instance *instance, blis_block_id id) {
  blis_block_chain one = {.shared = &id, .shared_count = 1, .prompt_blocks = 1};
  return blis_instance_cached_blocks(instance, &one) == 1;
}

static void copy_if_due(copyist *c, int64_t now_us) {
  if (now_us - c->last_us < c->delay_us) {
    return;
  }
  c->last_us = now_us;
  c->copies++;
  for (uint32_t i = 0; i < INSTANCES; i++) {
    const blis_instance *instance = blis_cluster_instance(c->cluster, i);
    for (blis_block_id id = 1; id < NAMES; id++) {
      c->is_there[i][id] = has_block(instance, id);
    }
  }
}

static const blis_block_chain *chain_for(const blis_routing_request *request,
                                         const blis_instance *instance) {
  int64_t size = blis_instance_get_config(instance)->block_size_tokens;
  return request->chain(request->chain_ud, (uint32_t)size);
}

/* Leading blocks of the prompt that the copy has. */
static uint32_t copied_blocks(const copyist *c, uint32_t i, const blis_block_chain *chain) {
  uint32_t k = 0;
  for (; k < chain->prompt_blocks; k++) {
    blis_block_id id = blis_block_chain_at(chain, k);
    CHECK((id & BLIS_BLOCK_PRIVATE) != 0 || id < NAMES);
    if (id >= NAMES || !c->is_there[i][id]) {
      break;
    }
  }
  return k;
}

static void check_view(copyist *c, const blis_routing_request *request,
                       const blis_routing_view *view) {
  const double *tokens = view->column(view->column_ud, BLIS_SIGNAL_CACHED_TOKENS);
  const double *hit = view->column(view->column_ud, BLIS_SIGNAL_PREFIX_HIT);
  const double *live = view->column(view->column_ud, BLIS_SIGNAL_LIVE_PREFIX_HIT);
  CHECK(tokens != NULL && hit != NULL && live != NULL);
  copy_if_due(c, view->now_us);
  for (uint32_t i = 0; i < INSTANCES; i++) {
    const blis_instance *instance = blis_cluster_instance(c->cluster, i);
    const blis_block_chain *chain = chain_for(request, instance);
    uint32_t blocks = copied_blocks(c, i, chain);
    uint32_t live_blocks = blis_instance_cached_blocks(instance, chain);
    int64_t size = blis_instance_get_config(instance)->block_size_tokens;
    double prompt = (double)chain->prompt_blocks;
    CHECK_EQ_DOUBLE(tokens[i], (double)blocks * (double)size);
    CHECK_EQ_DOUBLE(hit[i], (double)blocks / prompt);
    CHECK_EQ_DOUBLE(live[i], (double)live_blocks / prompt);
    c->differing += blocks != live_blocks;
  }
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  copyist *c = q->state;
  check_view(c, q->request, view);
  *decision = (blis_decision){.chosen = (size_t)blis_random_intn(&c->random, (int32_t)view->count)};
  return BLIS_OK;
}

/* Looks at the caches only now and then, but is shown something always. */
static blis_status admit(const blis_question *q, blis_admission_decision *decision) {
  const blis_routing_view *view = q->view;
  copyist *c = q->state;
  copy_if_due(c, view->now_us);
  if (q->request->number % 7 == 0) {
    check_view(c, q->request, view);
  }
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  return BLIS_OK;
}

static const blis_router_ops router_ops = {.route = route};
static const blis_admission_ops admission_ops = {.decide = admit};

static void run(site *s, copyist *c, blis_signal_set needs) {
  blis_router router = {.ops = &router_ops, .state = c, .needs = needs, .name = "copyist"};
  site_must_open_with(s, &router);
  blis_admission admission = {.ops = &admission_ops, .state = c, .name = "copyist"};
  site_set_admission(s, &admission);
  c->cluster = s->cluster;
  blis_random_init(&c->random, 4);
  site_run(s);
  site_check_states_sum_up(s, (int64_t)s->source.count);
}

/* Small caches of different block sizes, so that blocks come and go. */
static void plan(site *s, blis_engine_kind engine) {
  static const int64_t sizes[INSTANCES] = {16, 16, 24};
  site_init(s, blis_alloc_heap(), INSTANCES);
  site_add_random_requests(s, 400, 60, 21);
  for (uint32_t i = 0; i < INSTANCES; i++) {
    s->instances[i].engine = engine;
    s->instances[i].kv_blocks = 120;
    s->instances[i].block_size_tokens = sizes[i];
  }
}

static void views_are_those_of_copies(void) {
  static const int64_t delays_us[] = {1, 3000, 50000, 2000000};
  static const blis_engine_kind engines[] = {BLIS_ENGINE_STEPWISE, BLIS_ENGINE_FAST};
  for (size_t e = 0; e < 2; e++) {
    for (size_t d = 0; d < 4; d++) {
      site s;
      static copyist c;
      c = (copyist){.delay_us = delays_us[d]};
      plan(&s, engines[e]);
      for (size_t i = 0; d == 2 && i < s.source.count; i++) {
        blis_request *r = &s.source.requests[i];
        r->arrival_us -= r->arrival_us % 10000; /* a delay later to the us */
      }
      s.config.cache_signal_delay_us = c.delay_us;
      s.config.routing_latency_us = d % 2 == 0 ? 0 : 700;
      /* Declared, or late: what has history is declared in its place. */
      run(&s, &c, d < 2 ? BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) : BLIS_SIGNALS_WITH_HISTORY);
      CHECK(c.copies > 2 && c.copies <= 400);
      CHECK(d < 2 || c.differing > 50);
      site_deinit(&s);
    }
  }
}

/* Nothing in the caches is seen before the first refresh. */
static void caches_look_empty_at_first(void) {
  site s;
  static copyist c;
  c = (copyist){.delay_us = INT64_MAX};
  plan(&s, BLIS_ENGINE_FAST);
  s.config.cache_signal_delay_us = INT64_MAX;
  run(&s, &c, BLIS_SIGNAL_BIT(BLIS_SIGNAL_PREFIX_HIT));
  CHECK_EQ_I64(c.copies, 0);
  CHECK(c.differing > 50);
  site_deinit(&s);
}

static blis_status ask_late(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  CHECK(view->column(view->column_ud, BLIS_SIGNAL_CACHED_TOKENS) == NULL);
  CHECK(view->column(view->column_ud, BLIS_SIGNAL_QUEUE_DEPTH) == NULL);
  CHECK(view->column(view->column_ud, BLIS_SIGNAL_IN_FLIGHT) != NULL);
  CHECK(view->column(view->column_ud, BLIS_SIGNAL_LIVE_PREFIX_HIT) != NULL);
  *decision = (blis_decision){.chosen = 0};
  return BLIS_OK;
}

/* What nobody has declared is not kept for the past. */
static void the_past_must_be_declared(void) {
  static const blis_router_ops ops = {.route = ask_late};
  site s;
  plan(&s, BLIS_ENGINE_FAST);
  s.config.cache_signal_delay_us = 50000;
  s.config.snapshot_refresh_us = 50000;
  blis_router router = {.ops = &ops, .name = "late"};
  site_must_open_with(&s, &router);
  site_run(&s);
  site_deinit(&s);
}

/* The router of llm-d by BLIS (Go): both engines, both kinds of lag. */
static void engines_agree_with_delays(void) {
  for (int go_blis = 0; go_blis < 2; go_blis++) {
    uint64_t hashes[2];
    for (int engine = 0; engine < 2; engine++) {
      site s;
      plan(&s, engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST);
      s.policy = "weighted";
      s.go_blis = go_blis == 1;
      s.config.cache_signal_delay_us = 50000;
      s.config.snapshot_refresh_us = 50000;
      s.config.load_counts_in_flight = true;
      hashes[engine] = site_hash(&s);
      site_deinit(&s);
    }
    CHECK(hashes[0] == hashes[1]);
  }
}

int main(void) {
  RUN(views_are_those_of_copies);
  RUN(caches_look_empty_at_first);
  RUN(the_past_must_be_declared);
  RUN(engines_agree_with_delays);
  return check_done();
}
