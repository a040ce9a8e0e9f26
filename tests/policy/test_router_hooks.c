/* What a router may do beside choosing: refuse, and change during a run. */
#include "cluster_fixture.h"

/* Admits everybody and counts. */
typedef struct door {
  int64_t admitted;
  int64_t ended;
} door;

static blis_status let_in(const blis_question *q, blis_admission_decision *decision) {
  door *d = q->state;
  d->admitted++;
  q->request->ticket->values[0] = q->request->number;
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  return BLIS_OK;
}

static void see_end(void *state, blis_ticket *ticket, int64_t now_us, int64_t end_us) {
  (void)now_us, (void)end_us;
  door *d = state;
  d->ended++;
  CHECK(ticket->values[0] >= 0);
}

static const blis_admission_ops door_ops = {.decide = let_in, .ended = see_end};

/* Requests of every second number are second turns, which capped refuses. */
static void refused_requests_are_rejected(void) {
  blis_param param = {.name = "max_turns", .number = 1};
  blis_params params = {&param, 1};
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_random_requests(&s, 400, 50, 8);
  for (size_t i = 0; i < 400; i++) {
    s.source.requests[i].round_index = (int32_t)(i % 2);
  }
  s.policy = "capped";
  s.params = &params;
  site_must_open(&s);
  door d = {0};
  blis_admission admission = {.ops = &door_ops, .state = &d, .name = "door"};
  site_set_admission(&s, &admission);
  site_run(&s);
  blis_cluster_counts counts;
  blis_cluster_get_counts(s.cluster, &counts);
  CHECK_EQ_I64(counts.routed, 200);
  CHECK_EQ_I64(counts.rejected, 200);
  CHECK_EQ_I64(counts.completed, 200);
  CHECK_EQ_I64(d.admitted, 400);
  CHECK_EQ_I64(d.ended, 400); /* who is refused was admitted, too */
  for (size_t i = 0; i < blis_recorder_count(s.recorder); i++) {
    const blis_record *record = &site_records(&s)[i];
    bool is_refused = record->number % 2 == 1;
    CHECK((record->state == BLIS_REQUEST_REJECTED) == is_refused);
    CHECK((record->instance < 0) == is_refused);
    CHECK_STR(blis_recorder_reason(s.recorder, record), is_refused ? "turn-cap" : "");
  }
  site_deinit(&s);
}

/* Load alone counts from 10 s on. */
static blis_status look_at_load(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  const blis_param items[] = {{.name = "kv", .number = 0}, {.name = "load", .number = 1}};
  const blis_params params = {items, 2};
  return blis_cluster_change_routing(cluster, &params, error);
}

static int64_t count_on_first(site *s, int64_t from_us) {
  int64_t count = 0;
  for (size_t i = 0; i < blis_recorder_count(s->recorder); i++) {
    const blis_record *record = &site_records(s)[i];
    count += record->arrival_us >= from_us && record->instance == 0;
  }
  return count;
}

/* All share a prefix: it holds them together as long as it counts. */
static void weights_change_at_a_time(void) {
  blis_param param = {.name = "heartbeat_us", .number = 0};
  blis_params params = {&param, 1};
  int64_t on_first[2];
  for (int is_changed = 0; is_changed <= 1; is_changed++) {
    site s;
    site_init(&s, blis_alloc_heap(), 2);
    site_add_random_requests(&s, 600, 30, 9);
    for (size_t i = 0; i < 600; i++) {
      s.source.requests[i].segments = &s.segments[0];
    }
    s.policy = "cognitora.score";
    s.params = &params;
    site_must_open(&s);
    blis_error error;
    if (is_changed) {
      CHECK_OK(blis_cluster_call_at(s.cluster, 10000000, look_at_load, NULL, &error), &error);
    }
    site_run(&s);
    on_first[is_changed] = count_on_first(&s, 10000000);
    site_deinit(&s);
  }
  CHECK(on_first[0] != on_first[1]);
  CHECK(on_first[1] > 100 && on_first[1] < 200); /* of about 300 */
}

static void wrong_changes_stop_nothing(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_random_requests(&s, 20, 30, 9);
  site_must_open(&s);
  blis_error error;
  CHECK_STATUS(look_at_load(NULL, s.cluster, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "round-robin");
  site_run(&s);
  site_deinit(&s);
}

int main(void) {
  RUN(refused_requests_are_rejected);
  RUN(weights_change_at_a_time);
  RUN(wrong_changes_stop_nothing);
  return check_done();
}
