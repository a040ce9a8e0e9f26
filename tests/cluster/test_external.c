/* Input of a running cluster: late arrivals, and clients that give up; and the tokens of a run. */
#include "cluster/external.h"

#include "base/time.h"
#include "cluster/faults/fault_plan.h"
#include "cluster/watch/tokens.h"
#include "cluster_fixture.h"
#include "engine_rules.h"

enum { REQUESTS = 120 };

/* Gives only the requests that have been handed in so far. */
static size_t handed_in;

static blis_status next_handed_in(void *state, blis_request *request, bool *done,
                                  blis_error *error) {
  site_source *source = state;
  if (source->next == handed_in) {
    *done = true;
    return BLIS_OK;
  }
  return site_next(state, request, done, error);
}

/* What the clients of a run receive. */
typedef struct receipt {
  int64_t tokens[REQUESTS];
  int64_t first_us[REQUESTS];
  int64_t last_us[REQUESTS];
  int64_t ends[REQUESTS];
} receipt;

static blis_status receive(void *ud, const blis_token *token, blis_error *error) {
  (void)error;
  receipt *to = ud;
  int64_t i = token->request;
  CHECK_EQ_I64(token->number, to->tokens[i] + 1);
  CHECK(token->at_us >= to->last_us[i]);
  to->first_us[i] = token->number == 1 ? token->at_us : to->first_us[i];
  to->last_us[i] = token->at_us;
  to->tokens[i]++;
  return BLIS_OK;
}

static blis_status note_end(void *ud, const blis_request_end *end, blis_error *error) {
  (void)error;
  receipt *to = ud;
  to->ends[end->request->number]++;
  return BLIS_OK;
}

/* Clients that give up: the deadline of each request, 0 = the client stays. */
typedef struct plan {
  int64_t leaves_us[REQUESTS];
  int64_t moments_us[64]; /* when the clock is stopped for input */
  size_t moment_count;
} plan;

static void make_plan(plan *p, const site *s, blis_random *random) {
  *p = (plan){.moment_count = 64};
  int64_t end_us = s->source.requests[REQUESTS - 1].arrival_us * 3 / 2;
  for (size_t k = 0; k < p->moment_count; k++) {
    p->moments_us[k] = end_us * (int64_t)k / 64 + blis_random_intn(random, 1000);
  }
  for (size_t k = 1; k < p->moment_count; k++) {
    int64_t later_us = 0;
    for (size_t i = 0; i < REQUESTS; i++) {
      bool is_there = s->source.requests[i].arrival_us <= p->moments_us[k];
      if (is_there && p->leaves_us[i] == 0 && blis_random_intn(random, 40) == 0) {
        p->leaves_us[i] = p->moments_us[k] + ++later_us;
      }
    }
  }
}

static void open_site(site *s, blis_random *random, blis_engine_kind engine, bool is_small) {
  site_init(s, blis_alloc_heap(), 3);
  site_add_random_requests(s, REQUESTS, 60, blis_random_intn(random, 1000000));
  const blis_engine_rules rules = draw_engine_rules(random);
  for (uint32_t i = 0; i < 3; i++) {
    s->instances[i].rules = rules;
    s->instances[i].engine = engine;
    s->instances[i].kv_blocks = is_small ? 90 : 2000;
  }
}

static uint64_t hash_of_whole(site *s, const plan *p) {
  for (size_t i = 0; i < REQUESTS; i++) {
    s->source.requests[i].deadline_us = p->leaves_us[i];
  }
  uint64_t hash = site_hash(s);
  for (size_t i = 0; i < REQUESTS; i++) {
    s->source.requests[i].deadline_us = 0;
  }
  return hash;
}

/* Runs to the moment, then hands in what arrives before the next one. */
static void stop_at(site *s, const plan *p, size_t k) {
  blis_error error;
  int64_t until_us = k + 1 < p->moment_count ? p->moments_us[k + 1] : BLIS_TIME_NEVER_US;
  CHECK_OK(blis_cluster_run_until(s->cluster, p->moments_us[k], &error), &error);
  while (handed_in < REQUESTS && s->source.requests[handed_in].arrival_us <= until_us) {
    handed_in++;
  }
  CHECK_OK(blis_cluster_resume_arrivals(s->cluster, &error), &error);
  for (int64_t i = 0; i < REQUESTS; i++) {
    int64_t at_us = p->leaves_us[i];
    if (at_us > p->moments_us[k] && at_us <= p->moments_us[k] + REQUESTS) {
      CHECK_OK(blis_cluster_leave_at(s->cluster, i, at_us, &error), &error);
    }
  }
}

static uint64_t hash_of_pieces(site *s, const plan *p) {
  handed_in = 0;
  while (s->source.requests[handed_in].arrival_us <= p->moments_us[0]) {
    handed_in++;
  }
  s->source.source.next = next_handed_in;
  site_must_open(s);
  for (size_t k = 0; k < p->moment_count; k++) {
    stop_at(s, p, k);
  }
  site_run(s);
  uint64_t hash = blis_recorder_hash(s->recorder);
  site_check_states_sum_up(s, REQUESTS);
  site_check_counters_are_zero(s);
  s->source.source.next = site_next;
  return hash;
}

static void check_receipt(site *s, const receipt *got, const plan *p) {
  const blis_record *records = site_records(s);
  for (size_t i = 0; i < REQUESTS; i++) {
    const blis_record *r = &records[i];
    CHECK_EQ_I64(got->ends[i], 1);
    if (!blis_request_is_completed(r->state)) {
      CHECK(p->leaves_us[r->number] > 0);
      continue;
    }
    CHECK_EQ_I64(got->tokens[r->number], s->source.requests[r->number].output_tokens);
    CHECK_EQ_I64(got->first_us[r->number], r->arrival_us + r->ttft_us);
    CHECK_EQ_I64(got->last_us[r->number], r->arrival_us + r->e2e_us);
  }
}

static void test_input_equals_a_plan(void) {
  blis_random random;
  blis_random_init(&random, 20);
  for (int c = 0; c < CASES(120); c++) {
    site s;
    plan p;
    receipt got = {0};
    const blis_token_sink sink = {.ud = &got, .token = receive, .ended = note_end};
    bool is_fast = c % 2 == 0;
    open_site(&s, &random, is_fast ? BLIS_ENGINE_FAST : BLIS_ENGINE_STEPWISE, c % 3 == 0);
    bool starts_anew = !s.instances[0].rules.resumes_preempted && c % 3 == 0;
    make_plan(&p, &s, &random);
    uint64_t hash = hash_of_whole(&s, &p);
    CHECK(hash_of_pieces(&s, &p) == hash);
    site_close(&s);
    if (!starts_anew) {
      s.config.options[BLIS_FEATURE_TOKENS] = &sink;
      CHECK(hash_of_pieces(&s, &p) == hash);
      check_receipt(&s, &got, &p);
    }
    site_deinit(&s);
  }
}

static void test_input_must_be_later(void) {
  site s;
  blis_error error = {0};
  site_init(&s, blis_alloc_heap(), 1);
  site_add_slow_requests(&s, 2);
  handed_in = 1;
  s.source.source.next = next_handed_in;
  site_must_open(&s);
  CHECK_OK(blis_cluster_run_until(s.cluster, 30000, &error), &error);
  CHECK_STATUS(blis_cluster_leave_at(s.cluster, 0, 30000, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "leaves at 30000 us, expected more than 30000 us");
  CHECK_OK(blis_cluster_leave_at(s.cluster, 7, 30001, &error), &error);
  CHECK_OK(blis_cluster_run_until(s.cluster, 40000, &error), &error);
  handed_in = 2;
  CHECK_STATUS(blis_cluster_resume_arrivals(s.cluster, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "request_1 arrives at 40000 us, expected more than 40000 us");
  site_deinit(&s);
}

/* A client that leaves frees the KV of its request at once. */
static void test_leaving_frees_kv(void) {
  for (int engine = 0; engine < 2; engine++) {
    site s;
    blis_error error = {0};
    site_init(&s, blis_alloc_heap(), 1);
    s.instances[0].engine = engine == 0 ? BLIS_ENGINE_FAST : BLIS_ENGINE_STEPWISE;
    site_add_slow_requests(&s, 1);
    site_must_open(&s);
    CHECK_OK(blis_cluster_run_until(s.cluster, 500000, &error), &error);
    CHECK(blis_instance_get_load(blis_cluster_instance(s.cluster, 0)).used_kv_blocks > 0);
    CHECK_OK(blis_cluster_leave_at(s.cluster, 0, 500001, &error), &error);
    CHECK_OK(blis_cluster_leave_at(s.cluster, 0, 900000, &error), &error);
    CHECK_OK(blis_cluster_run_until(s.cluster, 500001, &error), &error);
    CHECK_EQ_I64(blis_instance_get_load(blis_cluster_instance(s.cluster, 0)).used_kv_blocks, 0);
    site_run(&s);
    CHECK_EQ_I64(site_records(&s)[0].state, BLIS_REQUEST_TIMED_OUT);
    site_deinit(&s);
  }
}

/* Faults come while an open cluster has no requests, and one that is closed has an end. */
static void test_faults_may_be_added(void) {
  site s;
  blis_error error = {0};
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 1);
  site_must_open(&s);
  blis_cluster_stay_open(s.cluster, true);
  CHECK_OK(blis_cluster_run_until(s.cluster, 90000000, &error), &error);
  CHECK_EQ_I64(blis_cluster_now_us(s.cluster), 90000000);
  CHECK(blis_cluster_has_requests(s.cluster));
  const blis_fault_effect crash = {.kind = BLIS_FAULT_CRASH, .recover_us = 500};
  const blis_fault_effect slow = {.kind = BLIS_FAULT_SLOW, .recover_us = 100, .factor = 3};
  const blis_fault faults[] = {{.at_us = 90002000, .instance = 1, .effect = crash},
                               {.at_us = 90001000, .instance = 0, .effect = slow}};
  CHECK_OK(blis_cluster_add_faults(s.cluster, faults, 2, &error), &error);
  CHECK_OK(blis_cluster_run_until(s.cluster, 90002100, &error), &error);
  CHECK_EQ_I64(blis_cluster_instance_service(s.cluster, 1), BLIS_SERVICE_FAILED);
  CHECK_OK(blis_cluster_run_until(s.cluster, 90002500, &error), &error);
  CHECK_EQ_I64(blis_cluster_instance_service(s.cluster, 1), BLIS_SERVICE_ACTIVE);
  const blis_fault_note *notes;
  size_t count;
  CHECK(blis_cluster_get_faults(s.cluster, &notes, &count));
  CHECK_EQ_I64((int64_t)count, 2);
  CHECK_EQ_I64(notes[0].time_us, 90001000);
  CHECK_EQ_I64(notes[1].instance, 1);
  CHECK_STATUS(blis_cluster_add_faults(s.cluster, faults, 1, &error), BLIS_ERR_INVALID);
  const blis_fault nowhere = {.at_us = 99000000, .instance = 2, .effect = crash};
  CHECK_STATUS(blis_cluster_add_faults(s.cluster, &nowhere, 1, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "instance 2");
  blis_cluster_stay_open(s.cluster, false);
  CHECK(!blis_cluster_has_requests(s.cluster));
  site_run(&s);
  site_deinit(&s);
}

int main(void) {
  RUN(test_input_equals_a_plan);
  RUN(test_input_must_be_later);
  RUN(test_leaving_frees_kv);
  RUN(test_faults_may_be_added);
  return check_done();
}
