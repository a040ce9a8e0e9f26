/* Admission: requests that are refused, and requests that are put off. */
#include "cluster_fixture.h"

static blis_status delay_always(const blis_question *q, blis_admission_decision *decision) {
  *decision = (blis_admission_decision){.verdict = BLIS_DELAY, .delay_us = *(int64_t *)q->state};
  return BLIS_OK;
}

static void delays_without_end_are_noticed(void) {
  static const blis_admission_ops ops = {.decide = delay_always};
  static const struct {
    int64_t delay_us;
    blis_status status;
    const char *part;
  } cases[] = {{7, BLIS_ERR_STUCK, "1 requests are waiting"},
               {0, BLIS_ERR_POLICY, "delays request_0 by 0 us"}};
  for (size_t i = 0; i < 2; i++) {
    site s;
    site_init(&s, blis_alloc_heap(), 1);
    site_add_slow_requests(&s, 1);
    site_must_open(&s);
    int64_t delay_us = cases[i].delay_us;
    blis_admission admission = {.ops = &ops, .state = &delay_us, .name = "never"};
    site_set_admission(&s, &admission);
    blis_error error;
    CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), cases[i].status);
    CHECK_CONTAINS(error.message, cases[i].part);
    site_deinit(&s);
  }
}

typedef struct gate {
  int64_t asked;
  int64_t ended;
} gate;

/* Rejects every fifth, makes every third wait for 10 ms once. */
static blis_status guard(const blis_question *q, blis_admission_decision *decision) {
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  gate *g = q->state;
  g->asked++;
  CHECK(view->count == 2);
  *decision = (blis_admission_decision){.verdict = BLIS_ADMIT};
  if (request->number % 5 == 0) {
    *decision = (blis_admission_decision){.verdict = BLIS_REJECT, .reason = "every fifth"};
  } else if (request->number % 3 == 0 && view->now_us == request->arrival_us) {
    *decision = (blis_admission_decision){.verdict = BLIS_DELAY, .delay_us = 10000};
  }
  return BLIS_OK;
}

static void note_end(void *state, blis_ticket *ticket, int64_t now_us, int64_t end_us) {
  (void)now_us, (void)end_us;
  (void)ticket;
  gate *g = state;
  g->ended++;
}

static const blis_admission_ops guard_ops = {.decide = guard, .ended = note_end};

static void admission_rejects_and_delays(void) {
  site s;
  gate g = {0};
  site_init(&s, blis_alloc_heap(), 2);
  site_add_random_requests(&s, 100, 10, 8);
  site_must_open(&s);
  blis_admission admission = {.ops = &guard_ops, .state = &g, .name = "guard"};
  site_set_admission(&s, &admission);
  site_run(&s);
  site_check_states_sum_up(&s, 100);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.rejected, 20);
  CHECK_EQ_I64(g.asked, 100 + 27);
  CHECK_EQ_I64(g.ended, 80);
  for (size_t i = 0; i < 100; i++) {
    const blis_record *r = &site_records(&s)[i];
    CHECK_STR(blis_recorder_reason(s.recorder, r), r->number % 5 == 0 ? "every fifth" : "");
    CHECK(r->number % 5 != 0 || r->instance == -1);
    CHECK(r->number % 3 != 0 || r->number % 5 == 0 || r->ttft_us > 10000);
  }
  site_deinit(&s);
}

int main(void) {
  RUN(delays_without_end_are_noticed);
  RUN(admission_rejects_and_delays);
  return check_done();
}
