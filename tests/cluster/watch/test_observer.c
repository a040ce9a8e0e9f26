/* What an observer is told, when, and that it changes nothing. */
#include <stdio.h>
#include <string.h>

#include "cluster_fixture.h"

typedef struct witness {
  int64_t arrived;
  int64_t routed;
  int64_t first_tokens;
  int64_t completed;
  int64_t rejected;
  int64_t last_us;
  int64_t fail_at; /* the call that fails; 0 = none */
  int64_t calls;
} witness;

static blis_status note(witness *w, int64_t *counter, int64_t now_us, blis_error *error) {
  ++*counter;
  CHECK(now_us >= w->last_us); /* everything is told in order of time */
  w->last_us = now_us;
  return ++w->calls == w->fail_at ? blis_fail(error, BLIS_ERR_POLICY, "the witness has seen enough")
                                  : BLIS_OK;
}

static blis_status on_arrival(void *ud, const blis_routing_request *request, int64_t now_us,
                              blis_error *error) {
  witness *w = ud;
  CHECK_EQ_I64(request->arrival_us, now_us);
  CHECK(request->chain == NULL && request->ticket == NULL);
  return note(w, &w->arrived, now_us, error);
}

static blis_status on_routed(void *ud, const blis_routing_request *request, uint32_t instance,
                             int64_t now_us, blis_error *error) {
  witness *w = ud;
  CHECK(request->number >= 0 && instance < 3);
  return note(w, &w->routed, now_us, error);
}

static blis_status on_first_token(void *ud, const blis_routing_request *request, uint32_t instance,
                                  int64_t ttft_us, int64_t now_us, blis_error *error) {
  witness *w = ud;
  CHECK(request->number >= 0 && instance < 3 && ttft_us > 0);
  return note(w, &w->first_tokens, now_us, error);
}

static blis_status on_end(void *ud, const blis_routing_request *request,
                          const blis_request_end *end, int64_t now_us, blis_error *error) {
  witness *w = ud;
  CHECK_EQ_I64(request->number, end->request->number);
  CHECK(end->state >= BLIS_REQUEST_COMPLETED && end->end_us >= now_us);
  return note(w, end->state == BLIS_REQUEST_REJECTED ? &w->rejected : &w->completed, now_us, error);
}

static blis_observer observer_of(witness *w) {
  return (blis_observer){.ud = w,
                         .arrived = on_arrival,
                         .routed = on_routed,
                         .first_token = on_first_token,
                         .ended = on_end};
}

static void open_site(site *s, const blis_observer *observer, blis_engine_kind engine) {
  static const blis_param param = {.name = "max_turns", .number = 1};
  static const blis_params params = {&param, 1};
  site_init(s, blis_alloc_heap(), 3);
  site_add_random_requests(s, 300, 60, 4);
  for (size_t i = 0; i < 300; i += 10) {
    s->source.requests[i].round_index = 1; /* refused by capped */
  }
  for (uint32_t i = 0; i < 3; i++) {
    s->instances[i].engine = engine;
  }
  s->policy = "capped";
  s->params = &params;
  s->config.observer = observer;
  site_must_open(s);
}

static uint64_t run(witness *w, blis_engine_kind engine) {
  site s;
  blis_observer observer = observer_of(w);
  open_site(&s, w == NULL ? NULL : &observer, engine);
  site_run(&s);
  uint64_t hash = blis_recorder_hash(s.recorder);
  site_deinit(&s);
  return hash;
}

static void everything_is_told_in_order(void) {
  for (int engine = 0; engine < 2; engine++) {
    witness w = {0};
    uint64_t hash = run(&w, (blis_engine_kind)engine);
    CHECK_EQ_I64(w.arrived, 300);
    CHECK_EQ_I64(w.routed, 270);
    CHECK_EQ_I64(w.first_tokens, 270);
    CHECK_EQ_I64(w.completed, 270);
    CHECK_EQ_I64(w.rejected, 30);
    CHECK(hash == run(NULL, (blis_engine_kind)engine));
  }
}

/* Which request was told to have done what: "a0", "r1". */
typedef struct diary {
  char text[100];
} diary;

static blis_status write_down(diary *d, char what, const blis_routing_request *request) {
  size_t length = strlen(d->text);
  snprintf(d->text + length, sizeof d->text - length, "%c%d ", what, (int)request->number);
  return BLIS_OK;
}

static blis_status arrives(void *ud, const blis_routing_request *request, int64_t now_us,
                           blis_error *error) {
  (void)now_us;
  (void)error;
  return write_down(ud, 'a', request);
}

static blis_status is_routed(void *ud, const blis_routing_request *request, uint32_t instance,
                             int64_t now_us, blis_error *error) {
  (void)instance;
  (void)now_us;
  (void)error;
  return write_down(ud, 'r', request);
}

/* Those that arrive together go from stage to stage together. */
static void stages_of_one_time_are_in_order(void) {
  for (int stepwise = 0; stepwise < 2; stepwise++) {
    diary d = {.text = ""};
    const blis_observer observer = {.ud = &d, .arrived = arrives, .routed = is_routed};
    site s;
    site_init(&s, blis_alloc_heap(), 3);
    site_add_slow_requests(&s, 5);
    static const int64_t times_us[] = {100, 200, 200, 200, 300};
    for (size_t i = 0; i < 5; i++) {
      s.source.requests[i].arrival_us = times_us[i];
    }
    s.config.observer = &observer;
    site_must_open(&s);
    bool done = stepwise == 0;
    while (!done) {
      CHECK(blis_cluster_step(s.cluster, &done, NULL) == BLIS_OK);
    }
    site_run(&s);
    CHECK_STR(d.text, "a0 r0 a1 a2 a3 r1 r2 r3 a4 r4 ");
    site_deinit(&s);
  }
}

static void any_failure_stops_the_run(void) {
  for (int64_t n = 1; n <= 1140; n += 31) {
    witness w = {.fail_at = n};
    site s;
    blis_observer observer = observer_of(&w);
    open_site(&s, &observer, BLIS_ENGINE_FAST);
    blis_error error = {0};
    CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_POLICY);
    CHECK_CONTAINS(error.message, "seen enough");
    site_deinit(&s);
  }
}

static blis_status urgent_if_short(void *ud, const blis_routing_request *request, int64_t now_us,
                                   double *priority, blis_error *error) {
  (void)error;
  CHECK_EQ_I64(request->arrival_us, now_us);
  int64_t *calls = ud;
  ++*calls;
  *priority = request->prompt_tokens < 300 ? 5.5 : -5;
  return BLIS_OK;
}

static blis_status see_priority(void *ud, const blis_routing_request *request, uint32_t instance,
                                int64_t now_us, blis_error *error) {
  (void)ud, (void)instance, (void)now_us, (void)error;
  CHECK_EQ_DOUBLE(request->priority, request->prompt_tokens < 300 ? 5.5 : -5);
  return BLIS_OK;
}

static void priorities_are_given_on_arrival(void) {
  int64_t calls = 0;
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_random_requests(&s, 50, 60, 4);
  const blis_observer observer = {.routed = see_priority};
  s.config.observer = &observer;
  s.config.priority = urgent_if_short;
  s.config.priority_ud = &calls;
  site_must_open(&s);
  site_run(&s);
  CHECK_EQ_I64(calls, 50);
  site_deinit(&s);
}

int main(void) {
  RUN(everything_is_told_in_order);
  RUN(stages_of_one_time_are_in_order);
  RUN(any_failure_stops_the_run);
  RUN(priorities_are_given_on_arrival);
  return check_done();
}
