/* Decisions taken beforehand, and fingerprints of clusters. */
#include "cluster/rules/pins.h"
#include "cluster_fixture.h"

static void open_busy(site *s, blis_alloc alloc, const char *policy) {
  site_init(s, alloc, 3);
  s->policy = policy;
  site_add_random_requests(s, 200, 60, 51);
}

/* Where request number is when every third one is pinned. */
static uint32_t target_of(int64_t number) {
  return (uint32_t)(number / 3 % 3);
}

static void pinned_requests_go_where_they_are_told(void) {
  static const char *const policies[] = {
      "round-robin", "least-loaded", "weighted", "random", "lmetric", "capped",
  };
  for (size_t p = 0; p < sizeof policies / sizeof *policies; p++) {
    site s;
    blis_error error;
    open_busy(&s, blis_alloc_heap(), policies[p]);
    uint64_t plain = site_hash(&s);
    site_must_open(&s);
    for (int64_t number = 0; number < 200; number += 3) {
      CHECK_OK(blis_cluster_pin(s.cluster, number, 0, 2, &error), &error);
      CHECK_OK(blis_cluster_pin(s.cluster, number, 0, target_of(number), &error), &error);
    }
    site_run(&s);
    CHECK(blis_recorder_hash(s.recorder) != plain);
    const blis_record *records = site_records(&s);
    for (size_t i = 0; i < 200; i++) {
      if (records[i].number % 3 == 0) {
        CHECK_EQ_I64(records[i].instance, target_of(records[i].number));
      }
    }
    site_check_counters_are_zero(&s);
    site_deinit(&s);
  }
}

static void what_cannot_be_pinned(void) {
  site s;
  blis_error error;
  open_busy(&s, blis_alloc_heap(), "round-robin");
  site_must_open(&s);
  CHECK_STATUS(blis_cluster_pin(s.cluster, 5, 0, 3, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "there is no instance_3 among 3 instances");
  CHECK_OK(blis_cluster_instance_fail(s.cluster, 1, (blis_loss){0}, &error), &error);
  CHECK_OK(blis_cluster_pin(s.cluster, 5, 0, 1, &error), &error);
  CHECK_STATUS(blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "request number 5 is pinned to instance_1, which is no");
  site_deinit(&s);
}

static void fingerprints_tell_states_apart(void) {
  site s;
  site twin;
  blis_error error;
  open_busy(&s, blis_alloc_heap(), "weighted");
  open_busy(&twin, blis_alloc_heap(), "weighted");
  site_must_open(&s);
  site_must_open(&twin);
  uint64_t last = 0;
  int changes = 0;
  for (int i = 0; i < 500; i++) {
    bool done;
    uint64_t now = blis_cluster_fingerprint(s.cluster);
    CHECK(now == blis_cluster_fingerprint(twin.cluster));
    changes += now != last;
    last = now;
    CHECK_OK(blis_cluster_step(s.cluster, &done, &error), &error);
    CHECK_OK(blis_cluster_step(twin.cluster, &done, &error), &error);
  }
  CHECK(changes > 250); /* an admission at once leaves no trace */
  site_deinit(&s);
  site_deinit(&twin);
}

static void no_memory_changes_nothing(void) {
  blis_alloc_probe memory = {0};
  blis_error error;
  site s;
  open_busy(&s, blis_alloc_probed(&memory), "round-robin");
  site_must_open(&s);
  memory.fail_at = memory.requests + 1;
  CHECK_STATUS(blis_cluster_pin(s.cluster, 5, 0, 1, &error), BLIS_ERR_NOMEM);
  memory.fail_at = 0;
  CHECK_OK(blis_cluster_pin(s.cluster, 5, 0, 1, &error), &error);
  site_run(&s);
  site_deinit(&s);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

int main(void) {
  RUN(pinned_requests_go_where_they_are_told);
  RUN(what_cannot_be_pinned);
  RUN(fingerprints_tell_states_apart);
  RUN(no_memory_changes_nothing);
  return check_done();
}
