/* The trace of decisions, against what the cluster did. */
#include "cluster_fixture.h"
#include "results/log/decisions.h"

static blis_status run_traced(site *s, blis_decisions *decisions, blis_error *error) {
  BLIS_TRY_NEW(decisions, error);
  s->config.decisions = blis_decisions_sink(decisions);
  blis_status status = site_open(s, error);
  if (status == BLIS_OK) {
    status = blis_cluster_run_until(s->cluster, BLIS_TIME_NEVER_US, error);
  }
  return status;
}

static void open_busy(site *s, blis_alloc alloc, const char *policy) {
  site_init(s, alloc, 3);
  s->policy = policy;
  site_add_random_requests(s, 300, 60, 41);
}

static void a_trace_changes_nothing_and_tells_all(void) {
  static const char *const policies[] = {"weighted", "round-robin", "least-loaded", "random"};
  for (size_t p = 0; p < 4; p++) {
    site s;
    blis_error error;
    open_busy(&s, blis_alloc_heap(), policies[p]);
    uint64_t hash = site_hash(&s);
    blis_decisions *decisions = blis_decisions_new(&s.alloc, BLIS_DECISIONS_ALL);
    CHECK_OK(run_traced(&s, decisions, &error), &error);
    CHECK(blis_recorder_hash(s.recorder) == hash);
    CHECK_EQ_I64(blis_decisions_count(decisions), 600);
    CHECK(blis_recorder_sort(s.recorder) == BLIS_OK);
    const blis_record *records = site_records(&s);
    for (size_t i = 0; i < 600; i++) {
      const blis_decision_record *d = blis_decisions_at(decisions, i);
      if (d->kind == BLIS_DECISION_ADMISSION) {
        CHECK_STR(blis_decisions_reason(decisions, d), "always-admit");
        continue;
      }
      CHECK_EQ_I64(d->chosen, records[d->number].instance);
      CHECK_EQ_I64(d->candidate_count, 3);
      CHECK_EQ_I64(d->scorer_count, p == 0 ? 3 : 0);
      CHECK_STR(blis_decisions_reason(decisions, d), policies[p]);
      const blis_decision_candidate *c = blis_decisions_candidates(decisions, d);
      CHECK_EQ_DOUBLE(c[d->chosen].score, d->score);
      CHECK(d->regret >= 0);
      for (size_t k = 0; k < d->scorer_count; k++) {
        double score = blis_decisions_scorer_score(decisions, d, 1, k);
        CHECK(score >= 0 && score <= 1);
      }
    }
    blis_decisions_summary sum = blis_decisions_sum_up(decisions);
    CHECK_EQ_I64(sum.total, 300);
    CHECK_EQ_I64(sum.routed, 300);
    CHECK_EQ_I64(sum.unique_targets, 3);
    CHECK((sum.max_regret > 0) == (p == 1 || p == 3));
    site_close(&s);
    blis_decisions_free(decisions);
    site_deinit(&s);
  }
}

static bool trace_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_error error = {0};
  site s;
  open_busy(&s, blis_alloc_heap(), "weighted");
  blis_decisions *decisions = blis_decisions_new(&alloc, 2);
  blis_status status = run_traced(&s, decisions, &error);
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  site_close(&s);
  blis_decisions_free(decisions);
  CHECK_EQ_I64(memory.live_bytes, 0);
  site_deinit(&s);
  return status == BLIS_OK;
}

static void no_memory_is_an_error(void) {
  long request = 1;
  while (!trace_with_failure_at(request)) {
    request++;
  }
  CHECK(request > 6);
}

int main(void) {
  RUN(a_trace_changes_nothing_and_tells_all);
  RUN(no_memory_is_an_error);
  return check_done();
}
