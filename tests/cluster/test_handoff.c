/*
 * Prefill and decode apart: times that can be worked out by hand, and random
 * clusters in which every request ends once, every hand-off is accounted for,
 * nothing stays reserved or held, and both engines agree. Arguments: how
 * many random cases (default 300) and the number of the first one.
 */
#include <math.h>

#include "base/hash.h"
#include "cluster_fixture.h"

enum { REQUESTS = 120, INSTANCES_MAX = 6, ACTS = 6 };

typedef struct scene {
  site site;
  blis_instance_facts facts[SITE_INSTANCES_MAX];
  blis_disaggregation policy;
  const char *decider;
  const blis_decider_ops *decides; /* NULL: the decider of that name */
  const blis_router *prefill;      /* NULL: as the router of the site */
  blis_encode_stage stage;
} scene;

static const blis_engine_rules real_engine = {.leaves_at_step_end = true,
                                              .resumes_preempted = true,
                                              .counts_prompt_blocks = true,
                                              .recomputes_last_token = true,
                                              .drops_last_kv = true,
                                              .knows_cached_context = true};

/* So many instances of each role, and one transfer of 1,000 bytes/us. */
static void begin(scene *s, uint32_t prefills, uint32_t decodes,
                  uint32_t both) {
  uint32_t count = prefills + decodes + both;
  site_init(&s->site, blis_alloc_heap(), count);
  s->decider = "always";
  s->policy = (blis_disaggregation){.bytes_per_us = 1000,
                                    .fabric_bytes_per_us = (double)INFINITY,
                                    .kv_limit = 1};
  for (uint32_t i = 0; i < count; i++) {
    s->site.instances[i].rules = real_engine;
    s->facts[i] = BLIS_INSTANCE_FACTS_UNKNOWN;
    s->facts[i].kv_bytes_per_token = 100;
    s->facts[i].roles = i < prefills ? BLIS_ROLE_PREFILL
                        : i < prefills + decodes
                            ? BLIS_ROLE_DECODE
                            : BLIS_ROLE_PREFILL | BLIS_ROLE_DECODE;
  }
  s->site.config.facts = s->facts;
}

/* As BLIS (Go) has it. */
static void make_go_blis(scene *s) {
  blis_disaggregation *p = &s->policy;
  p->go_blis = true;
  p->on_no_room = BLIS_NO_ROOM_DROP;
  p->on_failure = BLIS_HANDOFF_FAILS;
  p->reserves_first = false;
  p->gives_first_token = false;
  p->moves_missing = false;
  p->overlap_portion = 0;
  p->timeout_us = 0;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    s->site.instances[i].rules = (blis_engine_rules){0};
    s->site.instances[i].reproduce_go_blis_defects = true;
  }
}

static void open_scene(scene *s) {
  blis_error error;
  blis_policy_context context = site_context(&s->site);
  blis_disaggregation policy = s->policy;
  blis_alloc heap = blis_alloc_heap();
  site_must_open(&s->site);
  if (s->prefill != NULL) {
    policy.prefill = *s->prefill;
  } else {
    CHECK_OK(blis_router_create(&heap, s->site.policy, NULL, &context,
                                &policy.prefill, &error),
             &error);
  }
  if (s->decides != NULL) {
    policy.decider = (blis_decider){.ops = s->decides};
  } else {
    CHECK_OK(blis_decider_create(&heap, s->decider, NULL, &context,
                                 &policy.decider, &error),
             &error);
  }
  CHECK_OK(blis_cluster_set_disaggregation(s->site.cluster, &policy, &error),
           &error);
  if (s->stage.rule != BLIS_ENCODES_NOBODY) {
    s->stage.go_blis = s->policy.go_blis;
    CHECK_OK(blis_cluster_set_encode_stage(s->site.cluster, &s->stage, &error),
             &error);
  }
}

static blis_handoff_counts counts_of(const scene *s) {
  blis_handoff_counts counts;
  blis_cluster_get_handoffs(s->site.cluster, &counts);
  return counts;
}

static void check_nothing_is_held(const scene *s) {
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    const blis_instance *instance = blis_cluster_instance(s->site.cluster, i);
    blis_instance_stats stats;
    blis_instance_get_stats(instance, &stats);
    CHECK_EQ_I64(stats.used_kv_blocks, 0);
    CHECK(blis_instance_check(instance));
    CHECK(blis_cluster_signal(s->site.cluster, i, BLIS_SIGNAL_IN_FLIGHT) == 0);
  }
}

static void add_equal(scene *s, size_t count, uint32_t prompt,
                      uint32_t output) {
  site_add_requests(&s->site, count);
  for (size_t i = 0; i < count; i++) {
    blis_request *r = &s->site.source.requests[i];
    r->arrival_us = 1000;
    r->prompt_tokens = prompt;
    r->output_tokens = output;
    r->max_output_tokens = output;
  }
}

static void add_one(scene *s, uint32_t prompt, uint32_t output) {
  add_equal(s, 1, prompt, output);
}

/*
 * Steps take 6,000 us, 15 for a token of a prefill and 40 for a decode; a
 * request of 321 tokens is in the queue 500 + 32.1 us after its arrival.
 */
static void times_of_one_request(void) {
  for (int gives_first = 0; gives_first < 2; gives_first++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    s.policy.gives_first_token = gives_first != 0;
    s.policy.base_us = 50;
    s.policy.handshake_us = 700;
    add_one(&s, 321, 3);
    open_scene(&s);
    site_run(&s.site);
    const blis_record *r = site_records(&s.site);
    int64_t queued_us = 532;
    int64_t prefill_us = 6000 + 15 * 321;
    /* Blocks of 1,600 bytes: 20 without the last token, 21 with it. */
    int64_t way_us = 50 + 700 + (gives_first ? 34 : 32);
    int64_t handed_us = queued_us + prefill_us + way_us;
    int64_t last_us = 6000 + 15; /* the last token of the prompt again, or the
                                    first one of the output, as a prefill */
    CHECK_EQ_I64(r->state, BLIS_REQUEST_COMPLETED);
    CHECK_EQ_I64(r->instance, 1);
    CHECK_EQ_I64(r->scheduling_delay_us, queued_us);
    CHECK_EQ_I64(r->ttft_us, gives_first ? handed_us : handed_us + last_us);
    CHECK_EQ_I64(r->e2e_us,
                 handed_us + last_us + (gives_first ? 6040 : 2 * 6040));
    blis_handoff_counts c = counts_of(&s);
    CHECK_EQ_I64(c.started, 1);
    CHECK_EQ_I64(c.completed, 1);
    CHECK_EQ_I64(c.waited, 0);
    CHECK(c.bytes == (gives_first ? 21 : 20) * 1600.0);
    check_nothing_is_held(&s);
    site_deinit(&s.site);
  }
}

/* Who prefills gives the only token that is wanted; whoever would decode is
   not needed, be its cache full. */
static void one_token_needs_no_handoff(void) {
  for (int reserves_first = 0; reserves_first < 2; reserves_first++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    s.policy.gives_first_token = true;
    s.policy.reserves_first = reserves_first != 0;
    s.policy.on_no_room = BLIS_NO_ROOM_DROP;
    s.policy.kv_limit = 0.01;
    add_one(&s, 321, 1);
    open_scene(&s);
    site_run(&s.site);
    const blis_record *r = site_records(&s.site);
    CHECK_EQ_I64(r->state, BLIS_REQUEST_COMPLETED);
    CHECK_EQ_I64(r->instance, 0);
    CHECK_EQ_I64(r->ttft_us, 532 + 10815);
    CHECK_EQ_I64(r->e2e_us, r->ttft_us);
    blis_handoff_counts c = counts_of(&s);
    CHECK_EQ_I64(c.started, 1);
    CHECK_EQ_I64(c.cancelled, 1);
    CHECK(c.bytes == 0 && c.moves == 0);
    check_nothing_is_held(&s);
    site_deinit(&s.site);
  }
}

/* Requests that a router has sent somewhere, and that have not ended since. */
static int64_t booked[2];

static blis_status book(const blis_question *q, blis_decision *decision) {
  (void)q;
  decision->chosen = 0;
  booked[0]++;
  return BLIS_OK;
}

static void unbook(void *state, blis_ticket *ticket, uint32_t instance,
                   const blis_request_times *times) {
  (void)state, (void)ticket, (void)times;
  CHECK_EQ_I64(instance, 0);
  booked[1]++;
}

/* Its router hears of each end, of requests that need no hand-off as well. */
static void who_routes_prefills_hears_of_ends(void) {
  static const blis_router_ops ops = {.route = book, .ended = unbook};
  static const blis_router counting = {.ops = &ops, .name = "counting"};
  for (uint32_t output = 1; output <= 2; output++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    s.policy.gives_first_token = true;
    s.prefill = &counting;
    add_equal(&s, 5, 321, output);
    booked[0] = 0;
    booked[1] = 0;
    open_scene(&s);
    site_run(&s.site);
    CHECK_EQ_I64(counts_of(&s).cancelled, output == 1 ? 5 : 0);
    CHECK_EQ_I64(booked[0], 5);
    CHECK_EQ_I64(booked[1], 5);
    site_deinit(&s.site);
  }
}

/*
 * The same request, with transfers that begin before its prefill is over: it
 * is computed in 10,815 us, or in two steps of 200 and 121 tokens, and its 21
 * blocks of 1,600 bytes take 33.6 us, or 16,800 us over a slow link.
 */
static void overlap_of_one_request(void) {
  static const struct {
    double portion, bytes_per_us;
    int64_t chunk, from_tokens;
    double handed_us; /* after the start of its prefill */
  } cases[] = {
      {0, 1000, 4096, 0, 10815 + 33.6},
      {1, 1000, 4096, 0, 10815 + 33.6},
      {0.25, 1000, 4096, 0, 10815 + 33.6 / 4},
      {0.25, 1000, 4096, 322, 10815 + 33.6},
      {0.25, 1000, 4096, 321, 10815 + 33.6 / 4},
      {0.25, 2, 4096, 0, 10815 / 4.0 + 16800},
      {1, 1000, 200, 0, 16815 + 33.6 * 9 / 21}, /* 12 blocks, then 9 */
      {1, 2, 200, 0, 9000 + 16800},
      {0.25, (double)INFINITY, 4096, 0, 10815},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    for (int engine = 0; engine < 2; engine++) {
      scene s = {0};
      begin(&s, 1, 1, 0);
      for (int i = 0; i < 2; i++) {
        s.site.instances[i].engine =
            engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
        s.site.instances[i].max_batched_tokens = cases[k].chunk;
      }
      s.policy.reserves_first = true;
      s.policy.gives_first_token = true;
      s.policy.overlap_portion = cases[k].portion;
      s.policy.overlap_from_tokens = cases[k].from_tokens;
      s.policy.bytes_per_us = cases[k].bytes_per_us;
      add_one(&s, 321, 3);
      open_scene(&s);
      site_run(&s.site);
      const blis_record *r = site_records(&s.site);
      CHECK_EQ_I64(r->state, BLIS_REQUEST_COMPLETED);
      CHECK_EQ_I64(r->ttft_us, 532 + (int64_t)ceil(cases[k].handed_us));
      blis_handoff_counts c = counts_of(&s);
      CHECK_EQ_I64(c.completed, 1);
      CHECK(c.bytes == 21 * 1600.0);
      check_nothing_is_held(&s);
      site_deinit(&s.site);
    }
  }
}

/*
 * Two requests at once, each from a source of its own, of 20 blocks that are
 * 32,000 bytes on one GPU and 16,000 on each of two. Cards of 1,000 bytes/us
 * at two GPUs take what two sources with one send, and the other way round
 * those of two GPUs wait for one; with equal ends there is a half for each.
 */
static void ends_of_unequal_size(void) {
  static const struct {
    double source_bytes, destination_bytes;
    int64_t way_us;
  } cases[] = {
      {100, 100, 64}, {100, 50, 32}, {100, 25, 32}, {50, 100, 64},
      {50, 50, 32},   {75, 50, 32}, /* 4/3 of the way in, and 24 us out */
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    scene s = {0};
    begin(&s, 2, 1, 0);
    for (int i = 0; i < 3; i++) {
      s.facts[i].kv_bytes_per_token =
          i < 2 ? cases[k].source_bytes : cases[k].destination_bytes;
    }
    add_equal(&s, 2, 321, 3);
    open_scene(&s);
    site_run(&s.site);
    double larger = fmax(cases[k].source_bytes, cases[k].destination_bytes);
    CHECK(counts_of(&s).bytes == 2 * 320 * larger);
    for (int i = 0; i < 2; i++) {
      CHECK_EQ_I64(site_records(&s.site)[i].ttft_us,
                   532 + 10815 + cases[k].way_us + 6030);
      CHECK(fabs(blis_cluster_link(s.site.cluster, 2 * (size_t)i).bytes -
                 320 * cases[k].source_bytes) < 1e-6);
    }
    CHECK(fabs(blis_cluster_link(s.site.cluster, 5).bytes -
               2 * 320 * cases[k].destination_bytes) < 1e-6);
    check_nothing_is_held(&s);
    site_deinit(&s.site);
  }
}

static void overlap_needs_room_first(void) {
  scene s = {0};
  begin(&s, 1, 1, 0);
  s.policy.overlap_portion = 0.5;
  site_add_requests(&s.site, 0);
  site_must_open(&s.site);
  blis_error error;
  CHECK(blis_cluster_set_disaggregation(s.site.cluster, &s.policy, &error) ==
        BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "before it") != NULL);
  site_deinit(&s.site);
}

/* Two at once share the way in, and a third waits for room behind them. */
static void waits_for_room(void) {
  scene s = {0};
  begin(&s, 3, 1, 0);
  s.site.instances[3].kv_blocks = 45;
  site_add_requests(&s.site, 3);
  for (int i = 0; i < 3; i++) {
    blis_request *r = &s.site.source.requests[i];
    r->arrival_us = 1000;
    r->prompt_tokens = 321;
    r->output_tokens = 20;
    r->max_output_tokens = 20;
  }
  open_scene(&s);
  site_run(&s.site);
  blis_handoff_counts c = counts_of(&s);
  CHECK_EQ_I64(c.completed, 3);
  CHECK_EQ_I64(c.waited, 1);
  CHECK_EQ_I64(c.peak, 2);
  CHECK_EQ_I64(c.shared, 2);
  CHECK(c.wait_us > 20 * 6000.0);
  check_nothing_is_held(&s);
  site_deinit(&s.site);
}

static void what_to_do_without_room(void) {
  static const blis_no_room rules[] = {BLIS_NO_ROOM_DROP, BLIS_NO_ROOM_LOCAL};
  for (int k = 0; k < 2; k++) {
    scene s = {0};
    begin(&s, 3, 1, 0);
    s.site.instances[3].kv_blocks = 45;
    s.policy.on_no_room = rules[k];
    site_add_requests(&s.site, 3);
    for (int i = 0; i < 3; i++) {
      blis_request *r = &s.site.source.requests[i];
      r->arrival_us = 1000;
      r->prompt_tokens = 321;
      r->output_tokens = 20;
      r->max_output_tokens = 20;
    }
    open_scene(&s);
    site_run(&s.site);
    blis_handoff_counts c = counts_of(&s);
    blis_cluster_counts all;
    blis_cluster_get_counts(s.site.cluster, &all);
    CHECK_EQ_I64(c.completed, 2);
    CHECK_EQ_I64(c.dropped, k == 0);
    CHECK_EQ_I64(c.cancelled, k == 1);
    CHECK_EQ_I64(all.failed, k == 0);
    check_nothing_is_held(&s);
    site_deinit(&s.site);
  }
}

/* Of two instances, the other one prefills. */
static blis_status take_the_other(const blis_question *q, size_t chosen,
                                  blis_split *split) {
  split->splits = true;
  split->prefill = 1 - (int64_t)q->view->instances[chosen];
  return BLIS_OK;
}

static const blis_decider_ops the_other = {.decide = take_the_other};

/*
 * Two instances that do both stages, with room for two prompts each, get two
 * to prefill and two to decode: all of their blocks are held, or reserved, for
 * what the other one cannot give.
 */
static void deadlocks_are_named(void) {
  static const char *const reasons[] = {
      "request_0 waits for KV blocks of instance_0 since",
      "request_0 has KV blocks of instance_0 and waits for its prefill on "
      "instance_1"};
  for (int k = 0; k < 8; k++) {
    bool reserves_first = (k & 1) != 0, ends = (k & 2) != 0;
    scene s = {0};
    blis_error error = {0};
    begin(&s, 0, 0, 2);
    s.decides = &the_other;
    s.policy.reserves_first = reserves_first;
    s.policy.timeout_us = ends ? 1000000 : 0;
    s.policy.on_failure = BLIS_HANDOFF_IS_RECOMPUTED;
    site_add_requests(&s.site, 4);
    for (int i = 0; i < 4; i++) {
      s.site.instances[i % 2].kv_blocks = 45;
      s.site.instances[i % 2].engine =
          (k & 4) != 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
      blis_request *r = &s.site.source.requests[i];
      r->arrival_us = 1000;
      r->prompt_tokens = 321;
      r->output_tokens = 20;
      r->max_output_tokens = 20;
    }
    open_scene(&s);
    blis_status status = site_try_run(&s.site, &error);
    if (ends) {
      CHECK_OK(status, &error);
      CHECK_EQ_I64(counts_of(&s).recomputed, 4);
      check_nothing_is_held(&s);
    } else {
      CHECK_STATUS(status, BLIS_ERR_STUCK);
      CHECK(strstr(error.message, reasons[reserves_first]) != NULL);
    }
    site_deinit(&s.site);
  }
}

static void roles_are_checked(void) {
  scene s = {0};
  begin(&s, 2, 0, 0);
  site_add_requests(&s.site, 0);
  site_must_open(&s.site);
  blis_error error;
  CHECK(blis_cluster_set_disaggregation(s.site.cluster, &s.policy, &error) ==
        BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "decode") != NULL);
  site_deinit(&s.site);
}

/* BLIS (Go). */

static const blis_stage_times *times_of(const scene *s) {
  return blis_recorder_stages(s->site.recorder, 0);
}

/* The prefill ends, for the cluster, at the start of its step. */
static void parts_have_times_of_their_own_in_go_blis(void) {
  scene s = {0};
  begin(&s, 1, 1, 0);
  make_go_blis(&s);
  add_one(&s, 321, 3);
  open_scene(&s);
  site_run(&s.site);
  const blis_record *r = site_records(&s.site);
  int64_t queued_us = 532;
  CHECK_EQ_I64(r->state, BLIS_REQUEST_COMPLETED);
  CHECK_EQ_I64(r->ttft_us, queued_us + 34 + 6040);
  CHECK_EQ_I64(r->e2e_us, queued_us + 34 + 2 * 6040);
  CHECK_EQ_I64(times_of(&s)->prefill_e2e_us, queued_us + 6000 + 15 * 321);
  CHECK_EQ_I64(times_of(&s)->decode_e2e_us, 2 * 6040);
  check_nothing_is_held(&s);
  site_deinit(&s.site);
}

static void prompts_of_one_token_are_split_in_go_blis_alone(void) {
  for (int is_go_blis = 0; is_go_blis < 2; is_go_blis++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    if (is_go_blis) {
      make_go_blis(&s);
    }
    add_one(&s, 1, 3);
    open_scene(&s);
    site_run(&s.site);
    CHECK_EQ_I64(counts_of(&s).started, is_go_blis);
    CHECK_EQ_I64(site_records(&s.site)->state, BLIS_REQUEST_COMPLETED);
    site_deinit(&s.site);
  }
}

/* 336 tokens take 33,600 us, and the deadline is over before that. */
/* Two whole prompts fill a destination that would serve neither: no block is
   left for a token more, and none is needed to end them. */
static void prompts_beyond_the_length_of_their_destination_in_go_blis(void) {
  for (int engine = 0; engine < 2; engine++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    make_go_blis(&s);
    for (int i = 0; i < 2; i++) {
      s.site.instances[i].engine =
          engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
    }
    s.site.instances[1].kv_blocks = 40;
    s.site.instances[1].max_model_len_tokens = 100;
    add_equal(&s, 2, 320, 5);
    open_scene(&s);
    site_run(&s.site);
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(s.site.cluster, 1), &stats);
    CHECK_EQ_I64(stats.length_capped, 2);
    CHECK_EQ_I64(stats.preemptions, 0);
    for (int i = 0; i < 2; i++) {
      CHECK_EQ_I64(site_records(&s.site)[i].state, BLIS_REQUEST_LENGTH_CAPPED);
    }
    check_nothing_is_held(&s);
    site_deinit(&s.site);
  }
}

static void deadlines_of_transfers_in_go_blis(void) {
  scene s = {0};
  begin(&s, 1, 1, 0);
  make_go_blis(&s);
  s.policy.bytes_per_us = 1;
  add_one(&s, 321, 3);
  s.site.source.requests[0].deadline_us = 1000 + 20000;
  open_scene(&s);
  site_run(&s.site);
  const blis_record *r = site_records(&s.site);
  CHECK_EQ_I64(r->state, BLIS_REQUEST_TIMED_OUT);
  CHECK_EQ_I64(r->instance, 1);
  CHECK_EQ_I64(r->e2e_us, 20000);
  CHECK_EQ_I64(r->ttft_us, times_of(&s)->prefill_e2e_us);
  CHECK_EQ_I64(counts_of(&s).completed, 1);
  check_nothing_is_held(&s);
  site_deinit(&s.site);
}

/* Two of 158 tokens have 20 of 21 blocks, and each needs one more at once: the
   second one gives way. Again, it computes one token, and then all others. */
static void preempted_decodes_start_by_a_token_in_go_blis(void) {
  for (int i = 0; i < 2; i++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    make_go_blis(&s);
    s.site.instances[1].kv_blocks = 21;
    s.site.instances[1].engine =
        i == 0 ? BLIS_ENGINE_FAST : BLIS_ENGINE_STEPWISE;
    add_equal(&s, 2, 158, 6);
    open_scene(&s);
    site_run(&s.site);
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(s.site.cluster, 1), &stats);
    CHECK_EQ_I64(stats.preemptions, 1);
    CHECK_EQ_I64(stats.cache_hits, 0);
    CHECK_EQ_I64(site_records(&s.site)[1].state, BLIS_REQUEST_COMPLETED);
    site_deinit(&s.site);
  }
}

/* Random clusters. */

static int64_t stuck_cases;

typedef struct act {
  uint32_t index;
  int kind;
} act;

static blis_status do_act(void *ud, blis_cluster *cluster, blis_error *error) {
  const act *a = ud;
  switch (a->kind) {
  case 0:
    return blis_cluster_instance_fail(
        cluster, a->index, (blis_loss){.kind = BLIS_LOSS_REROUTED}, error);
  case 1:
    return blis_cluster_instance_fail(cluster, a->index, (blis_loss){0}, error);
  case 2:
    return blis_cluster_instance_drain(cluster, a->index, false, error);
  default:
    return blis_cluster_instance_restore(cluster, a->index, error);
  }
}

static void draw_policy(scene *s, blis_random *random) {
  static const char *const deciders[] = {"always", "always", "prefix-threshold",
                                         "cognitora.plan"};
  blis_disaggregation *p = &s->policy;
  s->decider = deciders[blis_random_intn(random, 4)];
  p->reserves_first = blis_random_intn(random, 2) == 0;
  p->gives_first_token = blis_random_intn(random, 2) == 0;
  p->on_no_room = (blis_no_room)blis_random_intn(random, 3);
  p->on_failure = (blis_handoff_failure)blis_random_intn(random, 3);
  p->retries_max = blis_random_intn(random, 3);
  p->retry_pause_us = blis_random_intn(random, 20000);
  p->timeout_us = blis_random_intn(random, 4) == 0
                      ? 0
                      : 20000 + blis_random_intn(random, 2000000);
  p->kv_limit = blis_random_intn(random, 2) == 0 ? 1 : 0.6;
  p->bytes_per_us = 0.5 + blis_random_intn(random, 500);
  p->fabric_bytes_per_us = 1 + blis_random_intn(random, 500);
  if (blis_random_intn(random, 2) == 0) {
    p->fabric_bytes_per_us = (double)INFINITY;
  }
  p->base_us = blis_random_intn(random, 500) / 7.0;
  p->handshake_us = blis_random_intn(random, 2) * 5000;
  p->moves_missing = blis_random_intn(random, 2) == 0;
  if (p->reserves_first && blis_random_intn(random, 2) == 0) {
    p->overlap_portion = 1.0 / (1 + blis_random_intn(random, 12));
    p->overlap_from_tokens = blis_random_intn(random, 200);
  }
}

/* One more instance encodes what half of the requests bring. */
static void add_encoder(scene *s, blis_random *random) {
  uint32_t last = s->site.config.instance_count++;
  s->site.instances[last] = s->site.instances[0];
  s->facts[last] = s->facts[0];
  s->facts[last].roles = BLIS_ROLE_ENCODE;
  s->stage =
      (blis_encode_stage){.rule = BLIS_ENCODES_MULTIMODAL,
                          .base_us = blis_random_intn(random, 20000),
                          .us_per_token = blis_random_intn(random, 300) / 7.0};
}

static void set_horizon(scene *s, int64_t horizon_us) {
  s->site.config.horizon_us = horizon_us;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    s->site.instances[i].horizon_us = horizon_us;
  }
}

static void go_blis(scene *s, blis_random *random) {
  make_go_blis(s);
  s->policy.has_contention = blis_random_intn(random, 2) == 0;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    s->site.instances[i].kv_blocks += 30; /* each request fits */
  }
}

static void draw_scene(scene *s, int64_t seed) {
  blis_random random;
  blis_random_init(&random, seed);
  uint32_t prefills = 1 + (uint32_t)blis_random_intn(&random, 2);
  uint32_t decodes = 1 + (uint32_t)blis_random_intn(&random, 2);
  uint32_t both = (uint32_t)blis_random_intn(&random, 3);
  static const char *const policies[] = {"round-robin", "least-loaded",
                                         "weighted"};
  begin(s, prefills, decodes, both);
  s->site.policy = policies[blis_random_intn(&random, 3)];
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    blis_instance_config *c = &s->site.instances[i];
    c->kv_blocks = 60 + blis_random_intn(&random, 150);
    c->block_size_tokens = 8 << blis_random_intn(&random, 2);
    c->max_num_seqs = 1 + blis_random_intn(&random, 20);
    c->max_batched_tokens = 64 << blis_random_intn(&random, 5);
    s->facts[i].nic_bytes_per_us = blis_random_intn(&random, 3) * 40;
    s->facts[i].kv_bytes_per_token = 100.0 / (1 + blis_random_intn(&random, 4));
    if (blis_random_intn(&random, 3) == 0) {
      c->max_model_len_tokens = 300 + blis_random_intn(&random, 150);
    }
  }
  if (blis_random_intn(&random, 3) == 0) {
    s->site.config.snapshot_refresh_us = 30000;
  }
  draw_policy(s, &random);
  if (blis_random_intn(&random, 4) == 0) {
    add_encoder(s, &random);
  }
  if (blis_random_intn(&random, 6) == 0) {
    go_blis(s, &random);
  }
  if (blis_random_intn(&random, 8) == 0) {
    set_horizon(s, 1000000 + blis_random_intn(&random, 3000000));
  }
  site_add_random_requests(&s->site, REQUESTS,
                           5 + blis_random_intn(&random, 60), seed);
  for (size_t i = 0; i < REQUESTS; i++) {
    blis_request *r = &s->site.source.requests[i];
    if (blis_random_intn(&random, 4) == 0) {
      r->deadline_us = r->arrival_us + blis_random_intn(&random, 3000000);
    }
    if (blis_random_intn(&random, 2) == 0) {
      r->image_tokens = (uint32_t)blis_random_intn(&random, 200);
    }
    if (blis_random_intn(&random, 8) == 0) {
      r->output_tokens = 1;
      r->max_output_tokens = 1;
    }
  }
}

/*
 * Instances of both roles may wait for each other for ever where there is no
 * timeout; then one of the hand-offs is named, or a request that gets in again
 * and again beside blocks that are held.
 */
static bool may_get_stuck(const scene *s) {
  bool has_both = false;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    has_both |= s->facts[i].roles == (BLIS_ROLE_PREFILL | BLIS_ROLE_DECODE);
  }
  return s->policy.timeout_us == 0 && !s->policy.go_blis && has_both;
}

static uint64_t give_up(const scene *s, const blis_error *error,
                        const char *why) {
  CHECK(may_get_stuck(s) && counts_of(s).in_flight > 0);
  CHECK(strstr(error->message, "request_") != NULL);
  CHECK(strstr(error->message, why) != NULL);
  stuck_cases++;
  return blis_hash64(why, strlen(why), 1);
}

/* Whole transfers go over the fabric, and over one of their ends at least; over
   both, where each instance has as many GPUs. */
static void check_links(const scene *s) {
  double out = 0, in = 0, fabric = 0, moved = counts_of(s).bytes;
  size_t count = blis_cluster_link_count(s->site.cluster);
  bool is_equal = true;
  for (size_t i = 0; i < count; i++) {
    blis_link_counts link = blis_cluster_link(s->site.cluster, i);
    *(link.instance < 0 ? &fabric : link.is_in ? &in : &out) += link.bytes;
    is_equal &=
        link.instance < 0 || s->facts[link.instance].kv_bytes_per_token ==
                                 s->facts[0].kv_bytes_per_token;
    CHECK(link.transfer_us >= link.busy_us * (1 - 1e-9));
    CHECK(link.bytes <= link.bytes_per_us * link.busy_us * (1 + 1e-9) + 1);
  }
  double slack = 0.5 + 1e-9 * moved;
  CHECK(s->policy.go_blis || (out <= moved + slack && in <= moved + slack));
  CHECK(s->policy.go_blis || out + in >= moved - slack);
  CHECK(!is_equal || fabs(out - in) <= 1e-9 * out);
  CHECK(!is_equal || s->policy.go_blis || fabs(out - moved) <= slack);
  CHECK(count % 2 == 0 || fabs(moved - fabric) <= slack);
}

static uint64_t close_books(scene *s) {
  blis_handoff_counts c = counts_of(s);
  blis_cluster_counts all;
  blis_error error = {0};
  if (blis_cluster_finish(s->site.cluster, &error) == BLIS_ERR_STUCK) {
    return give_up(s, &error, "nothing is left to happen");
  }
  CHECK_OK(error.status, &error);
  check_links(s);
  blis_cluster_get_counts(s->site.cluster, &all);
  if (s->site.config.horizon_us == BLIS_TIME_NEVER_US) {
    CHECK_EQ_I64(all.arrived, REQUESTS);
    CHECK_EQ_I64(all.unfinished, 0);
    CHECK_EQ_I64(c.in_flight, 0);
    check_nothing_is_held(s);
  }
  return blis_recorder_hash(s->site.recorder) ^ blis_hash64(&c, sizeof c, 1);
}

static blis_status run_to_end(scene *s, bool by_steps, blis_error *error) {
  if (by_steps) {
    BLIS_TRY(site_step_to_end(&s->site, NULL, error));
  }
  return blis_cluster_run_until(s->site.cluster, BLIS_TIME_NEVER_US, error);
}

static uint64_t run_scene(scene *s, int64_t seed, blis_engine_kind engine,
                          bool by_steps) {
  static act acts[ACTS];
  blis_random random;
  blis_random_init_named(&random, seed, "acts");
  uint32_t count = s->site.config.instance_count;
  blis_error error;
  for (uint32_t i = 0; i < count; i++) {
    s->site.instances[i].engine = engine;
  }
  open_scene(s);
  for (int i = 0; i < ACTS && seed % 2 == 0; i++) {
    acts[i] =
        (act){.index = (uint32_t)blis_random_intn(&random, (int32_t)count),
              .kind = i == 0 ? 3 : blis_random_intn(&random, 5)};
    CHECK_OK(blis_cluster_call_at(s->site.cluster,
                                  blis_random_intn(&random, 4000000), do_act,
                                  &acts[i], &error),
             &error);
  }
  blis_status status = run_to_end(s, by_steps, &error);
  bool is_stuck = status == BLIS_ERR_STUCK;
  CHECK_OK(is_stuck ? BLIS_OK : status, &error);
  uint64_t hash =
      is_stuck ? give_up(s, &error, "has made progress") : close_books(s);
  site_close(&s->site);
  return hash;
}

static int64_t case_count = 300;
static int64_t first_case = 1;

static void engines_agree(void) {
  for (int64_t k = 0; k < case_count; k++) {
    int64_t seed = first_case + k;
    printf("# case %" PRId64 "\n", seed);
    scene s = {0};
    draw_scene(&s, seed);
    uint64_t hash = run_scene(&s, seed, BLIS_ENGINE_STEPWISE, false);
    CHECK(run_scene(&s, seed, BLIS_ENGINE_FAST, false) == hash);
    CHECK(run_scene(&s, seed, BLIS_ENGINE_FAST, true) == hash);
    site_deinit(&s.site);
  }
  printf("# %" PRId64 " of %" PRId64 " cases agree, %" PRId64
         " of them stuck and named\n",
         case_count, case_count, stuck_cases / 3);
}

int main(int argc, char **argv) {
  if (argc > 1) {
    case_count = strtoll(argv[1], NULL, 10);
    first_case = argc > 2 ? strtoll(argv[2], NULL, 10) : 1;
  }
  RUN(times_of_one_request);
  RUN(one_token_needs_no_handoff);
  RUN(who_routes_prefills_hears_of_ends);
  RUN(overlap_of_one_request);
  RUN(ends_of_unequal_size);
  RUN(overlap_needs_room_first);
  RUN(waits_for_room);
  RUN(what_to_do_without_room);
  RUN(deadlocks_are_named);
  RUN(roles_are_checked);
  RUN(parts_have_times_of_their_own_in_go_blis);
  RUN(prompts_of_one_token_are_split_in_go_blis_alone);
  RUN(prompts_beyond_the_length_of_their_destination_in_go_blis);
  RUN(deadlines_of_transfers_in_go_blis);
  RUN(preempted_decodes_start_by_a_token_in_go_blis);
  RUN(engines_agree);
  return check_done();
}
