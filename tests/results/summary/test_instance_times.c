/* Runs seen by instance. */
#include "results/summary/groups.h"

#include "cluster_fixture.h"

enum { INSTANCES = 3 };

/* A site whose instances count inter-token latencies apart. */
typedef struct apart {
  site s;
  blis_histogram itl_us[INSTANCES];
} apart;

static void start(apart *a, size_t requests) {
  blis_alloc heap = blis_alloc_heap();
  site_init(&a->s, heap, INSTANCES);
  for (int i = 0; i < INSTANCES; i++) {
    blis_histogram_init(&a->itl_us[i], &heap);
  }
  a->s.config.itl_of_instance_us = a->itl_us;
  site_add_random_requests(&a->s, requests, 60, 21);
  site_must_open(&a->s);
  site_run(&a->s);
}

static void stop(apart *a) {
  site_deinit(&a->s);
  for (int i = 0; i < INSTANCES; i++) {
    blis_histogram_deinit(&a->itl_us[i]);
  }
}

/* Sum and greatest of the E2E latencies of one instance, one by one. */
static void check_e2e(apart *a, int32_t instance, const blis_instance_times *times) {
  const blis_record *records = site_records(&a->s);
  int64_t count = 0;
  int64_t sum = 0;
  int64_t longest = 0;
  for (size_t i = 0; i < blis_recorder_count(a->s.recorder); i++) {
    if (records[i].instance == instance) {
      count++;
      sum += records[i].e2e_us;
      longest = records[i].e2e_us > longest ? records[i].e2e_us : longest;
    }
  }
  CHECK_EQ_I64(times->counts.arrived, count);
  CHECK_EQ_I64(times->times.e2e.count, count);
  CHECK_EQ_DOUBLE(times->times.e2e.mean_us, (double)sum / (double)count);
  CHECK_EQ_DOUBLE(times->times.e2e.max_us, (double)longest);
}

static void each_instance_has_its_own_requests(void) {
  apart a;
  start(&a, 600);
  blis_instance_times times[INSTANCES];
  CHECK(blis_instance_times_fill(times, INSTANCES, &a.s.alloc, a.s.recorder, a.itl_us) == BLIS_OK);
  CHECK_EQ_I64(blis_histogram_total(&a.s.itl_us), 0);
  int64_t itls = 0;
  for (int32_t i = 0; i < INSTANCES; i++) {
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(a.s.cluster, (uint32_t)i), &stats);
    CHECK_EQ_I64(times[i].counts.completed, stats.completed);
    CHECK_EQ_I64(times[i].times.ttft.count, 200);
    CHECK_EQ_I64(times[i].times.scheduling_delay.count, 200);
    CHECK_EQ_I64(times[i].times.itl.count, stats.output_tokens - 200);
    check_e2e(&a, i, &times[i]);
    itls += times[i].times.itl.count;
  }
  CHECK(itls > 600);
  stop(&a);
}

static void idle_instances_have_zeros(void) {
  apart a;
  start(&a, 2);
  blis_instance_times times[INSTANCES];
  CHECK(blis_instance_times_fill(times, INSTANCES, &a.s.alloc, a.s.recorder, a.itl_us) == BLIS_OK);
  CHECK_EQ_I64(times[1].counts.completed, 1);
  CHECK_EQ_I64(times[2].counts.arrived, 0);
  CHECK_EQ_I64(times[2].times.ttft.count, 0);
  CHECK_EQ_DOUBLE(times[2].times.e2e.mean_ms, 0.0);
  stop(&a);
}

static void no_memory_is_an_error(void) {
  apart a;
  start(&a, 60);
  blis_status status = BLIS_ERR_NOMEM;
  long request = 0;
  while (status != BLIS_OK) {
    blis_alloc_probe memory = {.fail_at = ++request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_instance_times times[INSTANCES];
    status = blis_instance_times_fill(times, INSTANCES, &alloc, a.s.recorder, a.itl_us);
    CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(request > 2);
  stop(&a);
}

int main(void) {
  RUN(each_instance_has_its_own_requests);
  RUN(idle_instances_have_zeros);
  RUN(no_memory_is_an_error);
  return check_done();
}
