/* Clusters of unequal instances: models, facts, sizes, and very many of them.
 */
#include "cluster_fixture.h"

/* A router that notes which instances it is shown. */
typedef struct witness {
  char text[512];
  blis_signal signal;
} witness;

static void note(witness *w, const char *text) {
  size_t used = strlen(w->text);
  snprintf(w->text + used, sizeof w->text - used, "%s", text);
}

/* "3ms:instance_0=5,instance_2=0 " */
static blis_status watch(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  witness *w = q->state;
  const double *column = view->column(view->column_ud, w->signal);
  char text[64];
  snprintf(text, sizeof text, "%d:", (int)(view->now_us / 1000));
  note(w, text);
  for (size_t i = 0; i < view->count; i++) {
    CHECK(i == 0 || view->instances[i] > view->instances[i - 1]);
    CHECK(blis_routing_view_find(view, view->instances[i]) == i);
    snprintf(text, sizeof text, "%s%" PRIu32 "=%g", i == 0 ? "" : ",", view->instances[i],
             column[i]);
    note(w, text);
  }
  note(w, " ");
  *decision = (blis_decision){.chosen = 0};
  return BLIS_OK;
}

static const blis_router_ops watch_ops = {.route = watch};

static void open_watched(site *s, witness *w, blis_signal signal) {
  *w = (witness){.signal = signal};
  blis_router router = {
      .ops = &watch_ops, .state = w, .needs = BLIS_SIGNALS_WITH_HISTORY, .name = "witness"};
  site_must_open_with(s, &router);
}

static uint32_t text_number(site *s, const char *text) {
  uint32_t number;
  CHECK(blis_intern_add(s->strings, text, strlen(text), &number) == BLIS_OK);
  return number;
}

/* Requests at 10, 20, ... ms for these models. */
static void ask_for(site *s, const char *const *models, size_t count) {
  site_add_requests(s, count);
  for (size_t i = 0; i < count; i++) {
    blis_request *r = &s->source.requests[i];
    r->arrival_us = 10000 * (int64_t)(i + 1);
    r->prompt_tokens = 160;
    r->output_tokens = 300;
    r->max_output_tokens = 300;
    r->model = text_number(s, models[i]);
  }
}

static const blis_instance_facts zoo[4] = {
    {.model = "Qwen/Qwen3-14B", .gpu = "H100", .tp = 1, .cost_per_hour = 2.5},
    {.model = "llama-3-8b", .gpu = "L40S", .tp = 2, .watts = 300},
    {.capacity = 0.5}, /* serves whatever is asked for */
    {.model = "qwen/qwen3-14b", .gpu = "H200", .capacity = 1},
};

static void candidates_serve_the_model(void) {
  site s;
  witness w;
  site_init(&s, blis_alloc_heap(), 4);
  s.config.facts = zoo;
  static const char *const models[] = {"",        "qwen/QWEN3-14b", "llama-3-8b",
                                       "mixtral", "qwen/qwen3-14b", "qwen"};
  ask_for(&s, models, 6);
  open_watched(&s, &w, BLIS_SIGNAL_IN_FLIGHT);
  site_run(&s);
  CHECK_STR(w.text, "10:0=0,1=0,2=0,3=0 20:0=1,2=0,3=0 30:1=0,2=0 40:2=0 "
                    "50:0=2,2=1,3=0 60:2=1 ");
  site_check_states_sum_up(&s, 6);
  site_check_counters_are_zero(&s);
  site_deinit(&s);
}

static void nobody_serves_the_model(void) {
  site s;
  witness w;
  site_init(&s, blis_alloc_heap(), 2);
  s.config.facts = zoo;
  static const char *const models[] = {"", "mixtral", "mixtral", "llama-3-8B"};
  ask_for(&s, models, 4);
  open_watched(&s, &w, BLIS_SIGNAL_IN_FLIGHT);
  site_run(&s);
  CHECK_STR(w.text, "10:0=0,1=0 40:1=0 ");
  site_check_states_sum_up(&s, 4);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.rejected, 2);
  for (size_t i = 0; i < 4; i++) {
    const blis_record *r = &site_records(&s)[i];
    bool is_lost = r->number == 1 || r->number == 2;
    CHECK_STR(blis_recorder_reason(s.recorder, r), is_lost ? "no-instance" : "");
    CHECK(!is_lost || r->instance == -1);
  }
  site_deinit(&s);
}

/* Instances of models, and a request that asks for one of them. */
typedef struct owners {
  const char *models[3];
  const char *wanted;
  const char *expected; /* candidates, or what is wrong */
} owners;

static void check_owners(const owners *o) {
  site s;
  witness w;
  blis_instance_facts facts[3];
  uint32_t count = 0;
  while (count < 3 && o->models[count] != NULL) {
    facts[count] = BLIS_INSTANCE_FACTS_UNKNOWN;
    facts[count].model = o->models[count];
    count++;
  }
  site_init(&s, blis_alloc_heap(), count);
  s.config.facts = facts;
  ask_for(&s, &o->wanted, 1);
  open_watched(&s, &w, BLIS_SIGNAL_IN_FLIGHT);
  if (o->expected[0] == '1' || o->expected[0] == '\0') {
    site_run(&s);
    CHECK_STR(w.text, o->expected);
  } else {
    blis_error error = {0};
    CHECK_STATUS(site_try_run(&s, &error), BLIS_ERR_INVALID);
    CHECK_STR(error.message, o->expected);
    CHECK_STR(w.text, "");
  }
  site_deinit(&s);
}

/* Whatever comes first: x, a/x and b/x are three models. */
static void owners_make_models_differ(void) {
  static const owners cases[] = {
      {{"x", "a/x", "b/x"}, "b/x", "10:2=0 "},
      {{"a/x", "x", "b/x"}, "b/x", "10:2=0 "},
      {{"b/x", "a/x", "x"}, "B/X", "10:0=0 "},
      {{"x", "a/x", "b/x"}, "x", "10:0=0 "},
      {{"a/x", "b/x", "x"}, "x", "10:2=0 "},
      {{"a/x", "A/x", "b/x"}, "a/X", "10:0=0,1=0 "},
      /* One that leaves the owner out, on either side. */
      {{"a/x", "b/y"}, "x", "10:0=0 "},
      {{"x", "a/y"}, "b/x", "10:0=0 "},
      {{"a/x", "b/y", "A/X"}, "X", "10:0=0,2=0 "},
      {{"a/x", "b/x"}, "c/x", ""},
      {{"a/x", "b/x"}, "a/x", "10:0=0 "},
      {{"a/x", "b/x"}, "x", "request_0: its model: 'x' may be a/x or b/x; name its owner"},
      {{"b/x", "c/y", "A/X"}, "x", "request_0: its model: 'x' may be b/x or A/X; name its owner"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    check_owners(&cases[i]);
  }
}

static void facts_are_signals(void) {
  static const struct {
    blis_signal signal;
    const char *seen;
  } cases[] = {
      {BLIS_SIGNAL_COST_PER_HOUR, "10:0=2.5,2=0,3=0 "},
      {BLIS_SIGNAL_WATTS, "10:0=0,2=0,3=0 "},
      {BLIS_SIGNAL_TP, "10:0=1,2=0,3=0 "},
      {BLIS_SIGNAL_CAPACITY, "10:0=0,2=0.5,3=1 "},
      {BLIS_SIGNAL_KV_BLOCKS, "10:0=2000,2=500,3=2000 "},
      {BLIS_SIGNAL_MAX_NUM_SEQS, "10:0=64,2=64,3=7 "},
  };
  site s;
  witness w;
  site_init(&s, blis_alloc_heap(), 4);
  s.config.facts = zoo;
  s.instances[2].kv_blocks = 500;
  s.instances[3].max_num_seqs = 7;
  static const char *const models[] = {"qwen/qwen3-14b"};
  ask_for(&s, models, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    open_watched(&s, &w, cases[i].signal);
    const blis_instance_facts *facts = blis_cluster_instance_facts(s.cluster, 1);
    CHECK_STR(facts->gpu, "L40S");
    CHECK_STR(blis_cluster_instance_facts(s.cluster, 2)->model, "");
    CHECK_EQ_DOUBLE(blis_cluster_signal(s.cluster, 1, BLIS_SIGNAL_WATTS), 300);
    site_run(&s);
    CHECK_STR(w.text, cases[i].seen);
    site_close(&s);
  }
  blis_instance_facts wrong[4] = {zoo[0], zoo[1], zoo[2], zoo[3]};
  wrong[2].capacity = 1.5;
  s.config.facts = wrong;
  blis_error error;
  CHECK_STATUS(site_open(&s, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "instance_2: capacity is 1.5");
  site_deinit(&s);
}

/*
 * A request refreshes only the instances it can go to; each of them has a
 * clock of its own (interval 50 ms).
 */
static void only_candidates_are_read_again(void) {
  site s;
  witness w;
  site_init(&s, blis_alloc_heap(), 2);
  s.config.facts = zoo;
  s.config.snapshot_refresh_us = 50000;
  static const char *const models[] = {"", "", "", "", "llama-3-8b", "", "", "", "", "", "", ""};
  ask_for(&s, models, 12);
  open_watched(&s, &w, BLIS_SIGNAL_FREE_KV_BLOCKS);
  site_run(&s);
  /* Only instance 1 can be read at 50 ms, so instance 0 is at 60 only, with
     four requests of 10 blocks and one for their output; then 100 and 110. */
  CHECK_STR(w.text, "10:0=0,1=0 20:0=0,1=0 30:0=0,1=0 40:0=0,1=0 50:1=2000 "
                    "60:0=1956,1=2000 70:0=1956,1=2000 80:0=1956,1=2000 "
                    "90:0=1956,1=2000 100:0=1956,1=1989 110:0=1902,1=1989 "
                    "120:0=1902,1=1989 ");
  site_deinit(&s);
}

/*
 * Admissions refresh, too, and routing then sees their values: with a routing
 * latency of 40 ms, the request of 75 ms is routed at 115, which is 55 after
 * the refresh by the admission at 60, though only 15 after the routing at 100.
 */
static void admissions_refresh_signals(void) {
  site s;
  witness w;
  site_init(&s, blis_alloc_heap(), 1);
  static const char *const models[] = {"", "", ""};
  ask_for(&s, models, 3);
  static const int64_t times_us[] = {60000, 65000, 75000};
  for (size_t i = 0; i < 3; i++) {
    s.source.requests[i].arrival_us = times_us[i];
  }
  s.config.snapshot_refresh_us = 50000;
  s.config.routing_latency_us = 40000;
  open_watched(&s, &w, BLIS_SIGNAL_BATCH_SIZE);
  site_run(&s);
  CHECK_STR(w.text, "100:0=0 105:0=0 115:0=2 ");
  site_deinit(&s);
}

/* Every size and model differs, and so do chains and step times. */
static void unequal_instances_serve_everybody(void) {
  static const char *const policies[] = {"weighted", "lmetric", "least-loaded", "round-robin"};
  for (size_t p = 0; p < 4; p++) {
    uint64_t hashes[2];
    for (int engine = 0; engine < 2; engine++) {
      site s;
      site_init(&s, blis_alloc_heap(), 4);
      s.config.facts = zoo;
      s.policy = policies[p];
      s.config.cache_signal_delay_us = 20000;
      site_add_random_requests(&s, 800, 60, 14);
      for (size_t i = 0; i < 800; i += 3) {
        s.source.requests[i].model = text_number(&s, i % 2 == 0 ? "llama-3-8b" : "qwen/qwen3-14b");
      }
      for (uint32_t i = 0; i < 4; i++) {
        s.instances[i].engine = engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
        s.instances[i].block_size_tokens = 8 << i;
        s.instances[i].kv_blocks = 3000 >> i;
        s.instances[i].max_num_seqs = 4 + 20 * (int64_t)i;
        s.instances[i].max_batched_tokens = 512 << i;
      }
      site_must_open(&s);
      site_run(&s);
      site_check_states_sum_up(&s, 800);
      site_check_counters_are_zero(&s);
      hashes[engine] = blis_recorder_hash(s.recorder);
      site_deinit(&s);
    }
    CHECK(hashes[0] == hashes[1]);
  }
}

int main(void) {
  RUN(candidates_serve_the_model);
  RUN(nobody_serves_the_model);
  RUN(owners_make_models_differ);
  RUN(facts_are_signals);
  RUN(only_candidates_are_read_again);
  RUN(admissions_refresh_signals);
  RUN(unequal_instances_serve_everybody);
  return check_done();
}
