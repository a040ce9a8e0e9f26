/*
 * Prefill and decode apart: times that can be worked out by hand, who waits for
 * room, and who is told of what.
 */
#include "cluster/handoff/handoff.h"
#include "handoff_scene.h"

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
    CHECK_EQ_I64(r->e2e_us, handed_us + last_us + (gives_first ? 6040 : 2 * 6040));
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

/* KV goes only to who has a model of the same name, owner and all. */
static void owners_hand_nothing_over(void) {
  static const char *const models[][2] = {
      {"x", "a/x"}, {"a/x", "x"}, {"a/x", "b/x"}, {"a/x", "A/X"}};
  for (size_t i = 0; i < 4; i++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    s.facts[0].model = models[i][0];
    s.facts[1].model = models[i][1];
    add_one(&s, 321, 5);
    open_scene(&s);
    blis_error error = {0};
    CHECK_STATUS(site_try_run(&s.site, &error), i == 3 ? BLIS_OK : BLIS_ERR_POLICY);
    if (i < 3) {
      CHECK_CONTAINS(error.message, "hands KV off to another model");
    }
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
        s.site.instances[i].engine = engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
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
      {100, 100, 64}, {100, 50, 32}, {100, 25, 32},
      {50, 100, 64},  {50, 50, 32},  {75, 50, 32}, /* 4/3 of the way in, and 24 us out */
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    scene s = {0};
    begin(&s, 2, 1, 0);
    for (int i = 0; i < 3; i++) {
      s.facts[i].kv_bytes_per_token = i < 2 ? cases[k].source_bytes : cases[k].destination_bytes;
    }
    add_equal(&s, 2, 321, 3);
    open_scene(&s);
    site_run(&s.site);
    double larger = fmax(cases[k].source_bytes, cases[k].destination_bytes);
    CHECK(counts_of(&s).bytes == 2 * 320 * larger);
    for (int i = 0; i < 2; i++) {
      CHECK_EQ_I64(site_records(&s.site)[i].ttft_us, 532 + 10815 + cases[k].way_us + 6030);
      CHECK(fabs(blis_cluster_link(s.site.cluster, 2 * (size_t)i).bytes -
                 320 * cases[k].source_bytes) < 1e-6);
    }
    CHECK(fabs(blis_cluster_link(s.site.cluster, 5).bytes - 2 * 320 * cases[k].destination_bytes) <
          1e-6);
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
  CHECK(blis_cluster_set_disaggregation(s.site.cluster, &s.policy, &error) == BLIS_ERR_INVALID);
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
static blis_status take_the_other(const blis_question *q, size_t chosen, blis_split *split) {
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
      s.site.instances[i % 2].engine = (k & 4) != 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
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
  CHECK(blis_cluster_set_disaggregation(s.site.cluster, &s.policy, &error) == BLIS_ERR_INVALID);
  CHECK(strstr(error.message, "decode") != NULL);
  site_deinit(&s.site);
}

int main(void) {
  RUN(times_of_one_request);
  RUN(one_token_needs_no_handoff);
  RUN(owners_hand_nothing_over);
  RUN(who_routes_prefills_hears_of_ends);
  RUN(overlap_of_one_request);
  RUN(ends_of_unequal_size);
  RUN(overlap_needs_room_first);
  RUN(waits_for_room);
  RUN(what_to_do_without_room);
  RUN(deadlocks_are_named);
  RUN(roles_are_checked);
  return check_done();
}
