/* Goodput, windows and figures over time. */
#include "cluster_fixture.h"
#include "results/log/series.h"
#include "results/summary/goodput.h"
#include "results/summary/groups.h"

static const blis_goodput_target targets[] = {
    {.slo_class = "critical", .ttft_ms = 18},
    {.slo_class = "batch", .itl_ms = 10, .e2e_ms = 700},
};

static void open_busy(site *s, blis_alloc alloc) {
  site_init(s, alloc, 2);
  site_add_random_requests(s, 400, 60, 31);
}

static void goodput_of_classes(void) {
  site s;
  open_busy(&s, blis_alloc_heap());
  site_must_open(&s);
  site_run(&s);
  blis_goodput got[2];
  CHECK(blis_goodput_fill(got, targets, 2, &s.alloc, s.recorder, s.strings) == BLIS_OK);
  int64_t good[2] = {0};
  const blis_record *records = site_records(&s);
  for (size_t i = 0; i < blis_recorder_count(s.recorder); i++) {
    const blis_record *r = &records[i];
    double itl = r->itl_count == 0 ? 0 : (double)r->itl_sum_us / r->itl_count;
    if (strcmp(blis_intern_text(s.strings, r->slo_class), "critical") == 0) {
      good[0] += r->ttft_us <= 18000;
    } else {
      good[1] += itl <= 10000 && r->e2e_us <= 700000;
    }
  }
  for (int k = 0; k < 2; k++) {
    CHECK_EQ_I64(got[k].arrived, 200);
    CHECK_EQ_I64(got[k].completed, 200);
    CHECK_EQ_I64(got[k].good, good[k]);
    CHECK(good[k] > 0 && good[k] < 200);
    CHECK_EQ_DOUBLE(got[k].attainment, (double)good[k] / 200);
  }
  CHECK_EQ_I64(got[0].itl_met, 200);
  CHECK_EQ_I64(got[0].ttft_met, good[0]);
  site_deinit(&s);
}

static void window_of_a_run(void) {
  site s;
  open_busy(&s, blis_alloc_heap());
  site_must_open(&s);
  site_run(&s);
  blis_window all;
  blis_window first;
  blis_window rest;
  const int64_t cut_us = 2500000;
  CHECK(blis_window_fill(&all, &s.alloc, s.recorder, 0, INT64_MAX) == BLIS_OK);
  CHECK(blis_window_fill(&first, &s.alloc, s.recorder, 0, cut_us) == BLIS_OK);
  CHECK(blis_window_fill(&rest, &s.alloc, s.recorder, cut_us, INT64_MAX) == BLIS_OK);
  CHECK_EQ_I64(all.group.counts.arrived, 400);
  CHECK(first.group.counts.arrived > 100);
  CHECK_EQ_I64(first.group.counts.arrived + rest.group.counts.arrived, 400);
  CHECK_EQ_I64(first.completed + rest.completed, 400);
  CHECK(first.completed < first.group.counts.completed);
  CHECK_EQ_DOUBLE(first.requests_per_sec, (double)first.completed / 2.5);
  CHECK_EQ_I64(first.group.times.ttft.count, first.group.counts.arrived);
  site_deinit(&s);
}

static void window_of_nothing_is_empty(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&alloc);
  blis_window window;
  CHECK(blis_window_fill(&window, &alloc, recorder, INT64_MIN, INT64_MAX) == BLIS_OK);
  CHECK_EQ_I64(window.group.counts.arrived, 0);
  CHECK_EQ_I64(window.completed, 0);
  CHECK_EQ_DOUBLE(window.requests_per_sec, 0.0);
  blis_recorder_free(recorder);
}

static uint64_t run_with_series(site *s, blis_series *series, int64_t interval_us) {
  blis_error error;
  site_must_open(s);
  CHECK_OK(blis_series_init(series, &s->alloc, s->cluster, interval_us, &error), &error);
  site_run(s);
  return blis_recorder_hash(s->recorder);
}

static void a_series_changes_nothing(void) {
  static const blis_engine_kind engines[] = {BLIS_ENGINE_FAST, BLIS_ENGINE_STEPWISE};
  for (size_t e = 0; e < 2; e++) {
    site s;
    open_busy(&s, blis_alloc_heap());
    s.instances[0].engine = engines[e];
    s.instances[1].engine = engines[e];
    uint64_t hash = site_hash(&s);
    blis_series series;
    CHECK(run_with_series(&s, &series, 100000) == hash);
    CHECK(series.rows > 60);
    int64_t last = 0;
    for (size_t row = 0; row < series.rows; row++) {
      int64_t arrived = blis_series_at(&series, row, BLIS_SERIES_ARRIVED);
      int64_t inside = 0;
      for (uint32_t i = 0; i < 2; i++) {
        const blis_series_instance *at = blis_series_instance_at(&series, row, i);
        inside += at->queue_depth + at->batch_size;
        CHECK(at->kv_utilization >= 0 && at->kv_utilization <= 1);
      }
      CHECK(arrived >= last);
      CHECK(inside <= arrived - blis_series_at(&series, row, BLIS_SERIES_COMPLETED));
      last = arrived;
    }
    CHECK_EQ_I64(last, 400);
    CHECK_EQ_I64(blis_series_at(&series, series.rows - 1, BLIS_SERIES_COMPLETED), 400);
    blis_series_deinit(&series);
    blis_series_deinit(&series);
    site_deinit(&s);
  }
}

static void goodput_over_time(void) {
  site s;
  open_busy(&s, blis_alloc_heap());
  site_must_open(&s);
  site_run(&s);
  blis_goodput whole[2];
  CHECK(blis_goodput_fill(whole, targets, 2, &s.alloc, s.recorder, s.strings) == BLIS_OK);
  const blis_record *records = site_records(&s);
  int64_t middle_us = records[200].arrival_us;
  blis_goodput_span spans[] = {{.from_us = 0}, {.from_us = middle_us}, {.from_us = middle_us}};
  CHECK(blis_goodput_over_time(spans, 3, targets, 2, &s.alloc, s.recorder, s.strings) == BLIS_OK);
  int64_t early = 0;
  for (int i = 0; i < 400; i++) {
    early += records[i].arrival_us < middle_us;
  }
  CHECK(early > 100);
  CHECK_EQ_I64(spans[0].arrived, early);
  CHECK_EQ_I64(spans[1].arrived, 0); /* empty: the next one begins with it */
  CHECK_EQ_I64(spans[2].arrived, 400 - early);
  CHECK_EQ_I64(spans[0].judged + spans[2].judged, 400);
  CHECK_EQ_I64(spans[0].good + spans[2].good, whole[0].good + whole[1].good);
  /* Only one class has a target, and nothing before the first span counts. */
  blis_goodput_span late = {.from_us = middle_us};
  CHECK(blis_goodput_over_time(&late, 1, targets, 1, &s.alloc, s.recorder, s.strings) == BLIS_OK);
  CHECK_EQ_I64(late.arrived, 400 - early);
  CHECK(late.judged > 0 && late.judged < late.arrived);
  CHECK(late.good <= late.judged);
  site_deinit(&s);
}

static bool figures_with_failure_at(site *s, long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_goodput goodputs[2];
  blis_window window;
  blis_status status = blis_goodput_fill(goodputs, targets, 2, &alloc, s->recorder, s->strings);
  if (status == BLIS_OK) {
    status = blis_window_fill(&window, &alloc, s->recorder, 0, 1000000);
  }
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status == BLIS_OK;
}

static bool series_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_series series;
  blis_error error = {0};
  site s;
  open_busy(&s, blis_alloc_heap());
  site_must_open(&s);
  blis_status status = blis_series_init(&series, &alloc, s.cluster, 50000, &error);
  if (status == BLIS_OK) {
    status = blis_cluster_run_until(s.cluster, BLIS_TIME_NEVER_US, &error);
  }
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  blis_series_deinit(&series);
  CHECK_EQ_I64(memory.live_bytes, 0);
  site_deinit(&s);
  return status == BLIS_OK;
}

static void no_memory_is_an_error(void) {
  site s;
  open_busy(&s, blis_alloc_heap());
  site_must_open(&s);
  site_run(&s);
  long request = 1;
  while (!figures_with_failure_at(&s, request)) {
    request++;
  }
  CHECK(request > 2);
  site_deinit(&s);
  request = 1;
  while (!series_with_failure_at(request)) {
    request++;
  }
  CHECK(request > 4);
}

int main(void) {
  RUN(goodput_of_classes);
  RUN(goodput_over_time);
  RUN(window_of_a_run);
  RUN(window_of_nothing_is_empty);
  RUN(a_series_changes_nothing);
  RUN(no_memory_is_an_error);
  return check_done();
}
