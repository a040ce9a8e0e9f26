/*
 * Closed loops in a cluster: a source that is told of ends and answers with the
 * next request of a session.
 */
#include <stddef.h>

#include "cluster_fixture.h"

enum { SESSIONS = 60, ROUNDS = 5, PROMPT = 100, OUTPUT = 30 };

/* Round 0 of every session, then a round whenever the one before is over. */
typedef struct loop {
  site site;
  blis_segment contexts[SESSIONS];
  int64_t think_us;
  int64_t follow_ups;
  int64_t ends;
  int64_t given_up;
  bool grows; /* a prompt is the conversation so far and something new */
} loop;

static void set_content(loop *l, blis_request *request) {
  if (l->grows) {
    blis_segment *context = &l->contexts[request->client];
    context->stream = request->client + 1;
    context->length_tokens = request->prompt_tokens;
    request->segments = context;
    request->segment_count = 1;
    request->shared_tokens = request->prompt_tokens;
    request->shares_output = true;
  }
}

static blis_status on_ended(void *state, const blis_request *request,
                            const blis_request_outcome *outcome, blis_request *follow_up,
                            bool *has_follow_up, blis_error *error) {
  (void)error;
  loop *l = (loop *)((char *)state - offsetof(loop, site.source));
  l->ends++;
  l->given_up += !outcome->is_completed;
  *has_follow_up = outcome->is_completed && request->round_index + 1 < ROUNDS;
  if (!*has_follow_up) {
    return BLIS_OK;
  }
  CHECK_EQ_I64(outcome->produced_tokens, request->output_tokens - 1);
  *follow_up = *request;
  follow_up->arrival_us = outcome->end_us + l->think_us;
  follow_up->round_index++;
  follow_up->number = -++l->follow_ups;
  if (l->grows) {
    follow_up->prompt_tokens += (uint32_t)outcome->produced_tokens + PROMPT;
    set_content(l, follow_up);
  }
  return BLIS_OK;
}

static void loop_init(loop *l, uint32_t instances, bool grows) {
  *l = (loop){.think_us = 1000, .grows = grows};
  site *s = &l->site;
  site_init(s, blis_alloc_heap(), instances);
  s->source.source.ended = on_ended;
  site_add_requests(s, SESSIONS);
  blis_random random;
  blis_random_init(&random, 7);
  for (uint32_t i = 0; i < SESSIONS; i++) {
    blis_request *r = &s->source.requests[i];
    r->arrival_us = i / 3 * 5000; /* three at a time */
    r->prompt_tokens = PROMPT;
    r->output_tokens = OUTPUT + (uint32_t)blis_random_intn(&random, 5);
    r->max_output_tokens = r->output_tokens;
    r->client = i;
    char name[16];
    snprintf(name, sizeof name, "s%" PRIu32, i);
    CHECK(blis_intern_add(s->strings, name, strlen(name), &r->session) == BLIS_OK);
  }
}

static void loop_open(loop *l) {
  for (size_t i = 0; i < SESSIONS; i++) {
    set_content(l, &l->site.source.requests[i]);
  }
  l->follow_ups = 0;
  l->ends = 0;
  l->given_up = 0;
  site_must_open(&l->site);
}

static uint64_t check_and_close(loop *l) {
  site_check_states_sum_up(&l->site, SESSIONS * ROUNDS);
  site_check_counters_are_zero(&l->site);
  CHECK_EQ_I64(l->ends, SESSIONS * ROUNDS);
  CHECK_EQ_I64(l->follow_ups, SESSIONS * (ROUNDS - 1));
  uint64_t hash = blis_recorder_hash(l->site.recorder);
  site_close(&l->site);
  return hash;
}

static uint64_t run(loop *l) {
  loop_open(l);
  site_run(&l->site);
  return check_and_close(l);
}

static uint64_t run_by_steps(loop *l) {
  blis_error error;
  loop_open(l);
  CHECK_OK(site_step_to_end(&l->site, NULL, &error), &error);
  CHECK_OK(blis_cluster_finish(l->site.cluster, &error), &error);
  return check_and_close(l);
}

static void set_engine(loop *l, blis_engine_kind engine) {
  for (uint32_t i = 0; i < l->site.config.instance_count; i++) {
    l->site.instances[i].engine = engine;
  }
}

static void every_round_follows_on_the_one_before(void) {
  for (int grows = 0; grows < 2; grows++) {
    loop l;
    loop_init(&l, 3, grows != 0);
    l.site.policy = "least-loaded";
    uint64_t expected = run(&l);
    CHECK(run(&l) == expected);
    CHECK(run_by_steps(&l) == expected);
    set_engine(&l, BLIS_ENGINE_FAST);
    CHECK(run(&l) == expected);
    CHECK(run_by_steps(&l) == expected);
    site_deinit(&l.site);
  }
}

/* Blocks that decoding filled are found by the next round's prompt. */
static void output_is_found_again(void) {
  for (int engine = 0; engine < 2; engine++) {
    loop l;
    loop_init(&l, 1, true);
    l.site.source.count = 1;
    set_engine(&l, engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST);
    uint32_t output = l.site.source.requests[0].output_tokens;
    loop_open(&l);
    site_run(&l.site);
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(l.site.cluster, 0), &stats);
    int64_t hits = 0;
    int64_t stored = PROMPT;
    for (int round = 1; round < ROUNDS; round++) {
      stored += output - 1; /* the last token is never stored */
      hits += stored / 16;
      stored += PROMPT;
    }
    CHECK_EQ_I64(stats.cache_hits, hits);
    site_close(&l.site);
    l.site.source.count = SESSIONS;
    site_deinit(&l.site);
  }
}

static void who_is_given_up_has_no_follow_up(void) {
  loop l;
  loop_init(&l, 1, false);
  l.site.source.requests[0].deadline_us = 1;
  l.site.source.requests[1].prompt_tokens = 1000000;
  loop_open(&l);
  site_run(&l.site);
  CHECK_EQ_I64(l.given_up, 2);
  CHECK_EQ_I64(l.ends, SESSIONS * ROUNDS - 2 * (ROUNDS - 1));
  site_check_states_sum_up(&l.site, l.ends);
  site_deinit(&l.site);
}

/* While nobody is in the cluster and one session thinks. */
static void a_session_that_thinks_is_not_over(void) {
  loop l;
  loop_init(&l, 1, false);
  l.site.source.count = 1;
  l.think_us = 1000000000;
  loop_open(&l);
  blis_error error;
  CHECK_OK(blis_cluster_run_until(l.site.cluster, 500000000, &error), &error);
  blis_cluster_counts counts;
  blis_cluster_get_counts(l.site.cluster, &counts);
  CHECK_EQ_I64(counts.completed, 1);
  CHECK_EQ_I64(counts.in_flight, 0);
  CHECK(blis_cluster_has_requests(l.site.cluster));
  site_run(&l.site);
  CHECK(!blis_cluster_has_requests(l.site.cluster));
  l.site.source.count = SESSIONS;
  site_deinit(&l.site);
}

static void what_arrives_beyond_the_horizon_does_not_arrive(void) {
  loop l;
  loop_init(&l, 1, false);
  l.think_us = 1000000000;
  l.site.config.horizon_us = 500000000;
  loop_open(&l);
  site_run(&l.site);
  site_check_states_sum_up(&l.site, SESSIONS);
  CHECK_EQ_I64(l.follow_ups, SESSIONS);
  site_deinit(&l.site);
}

static void a_follow_up_before_its_time_is_an_error(void) {
  loop l;
  loop_init(&l, 1, false);
  l.think_us = -1;
  loop_open(&l);
  blis_error error;
  CHECK_STATUS(blis_cluster_run_until(l.site.cluster, 1000000000, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "_round_1_1 arrives at");
  site_deinit(&l.site);
}

int main(void) {
  RUN(every_round_follows_on_the_one_before);
  RUN(output_is_found_again);
  RUN(who_is_given_up_has_no_follow_up);
  RUN(a_session_that_thinks_is_not_over);
  RUN(what_arrives_beyond_the_horizon_does_not_arrive);
  RUN(a_follow_up_before_its_time_is_an_error);
  return check_done();
}
