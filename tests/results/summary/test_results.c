/* Records, the result hash, percentiles, summaries and groups. */
#include "results/summary/groups.h"

#include "cluster_fixture.h"

/* Percentiles. */

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The definition, in the order of operations of BLIS (Go). */
static double naive_ms(const double *sorted, size_t n, double percent) {
  double rank = percent / 100.0 * (double)(n - 1);
  size_t low = (size_t)rank;
  size_t high = (double)low == rank ? low : low + 1;
  if (low == high) {
    return sorted[low] / 1000;
  }
  return sorted[low] / 1000 + ((sorted[high] - sorted[low]) * (rank - (double)low)) / 1000;
}

static void check_percentiles(const blis_percentiles *got, double *values, size_t n) {
  static const double percents[] = {50, 75, 90, 95, 99, 99.9};
  qsort(values, n, sizeof *values, compare_doubles);
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    sum += values[i];
  }
  CHECK_EQ_I64(got->count, n);
  CHECK_EQ_DOUBLE(got->min_us, values[0]);
  CHECK_EQ_DOUBLE(got->max_us, values[n - 1]);
  CHECK_EQ_DOUBLE(got->mean_us, sum / (double)n);
  CHECK_EQ_DOUBLE(got->mean_ms, sum / (double)n / 1000);
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    CHECK_EQ_DOUBLE(got->at_ms[p], naive_ms(values, n, percents[p]));
  }
}

/* Kinds of values: what makes sorting and adding up hard. */
enum { EQUAL_OFTEN, SPREAD, SKEWED, EQUAL, TOO_LARGE_A_SUM, DOUBLES, KINDS };

static int64_t draw_value(int kind, blis_random *random) {
  switch (kind) {
  case EQUAL_OFTEN:
    return blis_random_intn(random, 50);
  case SKEWED: /* most in one place, some very far away */
    return blis_random_int63(random) >> (24 + blis_random_intn(random, 39));
  case EQUAL:
    return 123456;
  case TOO_LARGE_A_SUM:
    return blis_random_int63(random) >> 11;
  default:
    return blis_random_int63(random) >> 30;
  }
}

static void percentiles_are_those_of_the_sorted_list(void) {
  static const size_t sizes[] = {1, 2, 3, 10, 16, 17, 101, 1000, 5003};
  static double values[5003];
  blis_alloc alloc = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 1);
  for (int kind = 0; kind < KINDS; kind++) {
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
      size_t n = sizes[k];
      blis_value_set set;
      blis_histogram histogram;
      blis_histogram_init(&histogram, &alloc);
      CHECK(blis_value_set_init(&set, &alloc, n, kind == DOUBLES) == BLIS_OK);
      for (size_t i = 0; i < n; i++) {
        int64_t value = draw_value(kind, &random);
        values[i] = (double)value;
        if (kind == DOUBLES) {
          values[i] = blis_random_float64(&random) * 1e5;
          blis_value_set_add_double(&set, values[i]);
          continue;
        }
        blis_value_set_add(&set, value);
        CHECK(blis_histogram_add(&histogram, value, 1) == BLIS_OK);
      }
      blis_percentiles got;
      blis_percentiles_of_set(&got, &set);
      check_percentiles(&got, values, n);
      if (kind < TOO_LARGE_A_SUM) {
        blis_percentiles_of_histogram(&got, &histogram);
        check_percentiles(&got, values, n);
      }
      blis_value_set_deinit(&set, &alloc);
      blis_histogram_deinit(&histogram);
    }
  }
}

static void nothing_has_percentiles_of_zero(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_value_set set;
  blis_percentiles got = {.count = 5};
  CHECK(blis_value_set_init(&set, &alloc, 0, false) == BLIS_OK);
  blis_percentiles_of_set(&got, &set);
  CHECK_EQ_I64(got.count, 0);
  CHECK_EQ_DOUBLE(got.at_ms[BLIS_P99], 0.0);
  CHECK_STR(blis_percentile_name(BLIS_P999), "p99.9");
}

static void jain_index(void) {
  static const double equal[] = {3, 3, 3, 3};
  static const double one[] = {0, 8, 0, 0};
  static const double none[] = {0, 0};
  CHECK_EQ_DOUBLE(blis_jain_index(equal, 4), 1.0);
  CHECK_EQ_DOUBLE(blis_jain_index(one, 4), 0.25);
  CHECK_EQ_DOUBLE(blis_jain_index(none, 2), 1.0);
  CHECK_EQ_DOUBLE(blis_jain_index(none, 0), 0.0);
}

/* The hash. */

static const blis_record example = {.number = 7,
                                    .arrival_us = 1000,
                                    .ttft_us = 250,
                                    .e2e_us = 9000,
                                    .scheduling_delay_us = 20,
                                    .itl_sum_us = 8750,
                                    .itl_count = 35,
                                    .prompt_tokens = 100,
                                    .output_tokens = 36,
                                    .instance = 2,
                                    .state = BLIS_REQUEST_COMPLETED,
                                    .was_counted = true};

static void hash_covers_what_happened(void) {
  /* Fixed: results of different versions and machines are compared by it. */
  CHECK(blis_record_hash(&example) == UINT64_C(0x2d08e22fe15347be));
  /* Every byte of a value has its place. */
  blis_record other = example;
  other.arrival_us = INT64_C(0x0102030405060708);
  other.prompt_tokens = UINT32_C(0xa1b2c3d4);
  CHECK(blis_record_hash(&other) == UINT64_C(0xeae22d963c3d98c9));
  other = example;
  other.instance = 3;
  CHECK(blis_record_hash(&other) != blis_record_hash(&example));
  other = example;
  other.e2e_us++;
  CHECK(blis_record_hash(&other) != blis_record_hash(&example));
  other = example;
  other.state = BLIS_REQUEST_TIMED_OUT;
  CHECK(blis_record_hash(&other) != blis_record_hash(&example));
  /* Numbers of texts depend on how a workload was read. */
  other = example;
  other.tenant = 9;
  CHECK(blis_record_hash(&other) == blis_record_hash(&example));
}

static void end_requests(blis_recorder *recorder, const int *order, size_t count) {
  const blis_request_sink *sink = blis_recorder_sink(recorder);
  for (size_t i = 0; i < count; i++) {
    blis_request request = {.number = order[i], .arrival_us = order[i] / 2};
    blis_request_end end = {
        .request = &request, .state = BLIS_REQUEST_COMPLETED, .e2e_us = 100 + order[i]};
    CHECK(sink->ended(sink->ud, &end, NULL) == BLIS_OK);
  }
}

static void order_of_ends_does_not_matter(void) {
  blis_alloc alloc = blis_alloc_heap();
  static const int one_order[] = {0, 1, 2, 3, 4, 5};
  static const int another[] = {4, 1, 5, 0, 3, 2};
  blis_recorder *a = blis_recorder_new(&alloc);
  blis_recorder *b = blis_recorder_new(&alloc);
  end_requests(a, one_order, 6);
  end_requests(b, another, 6);
  CHECK(blis_recorder_hash(a) == blis_recorder_hash(b));
  CHECK(blis_recorder_hash(a) != 0);
  CHECK(blis_recorder_sort(b) == BLIS_OK);
  for (size_t i = 0; i < 6; i++) {
    CHECK_EQ_I64(blis_recorder_record(b, i).number, i);
  }
  blis_recorder_free(a);
  blis_recorder_free(b);
}

/* Whole runs. */

static void check_summary(site *s, const blis_summary *summary) {
  const blis_record *records = site_records(s);
  size_t count = blis_recorder_count(s->recorder);
  blis_state_counts counts = {0};
  int64_t end_us = 0;
  int64_t output_tokens = 0;
  double e2e_us = 0;
  for (size_t i = 0; i < count; i++) {
    blis_state_counts_add(&counts, records[i].state);
    if (blis_record_is_completed(&records[i])) {
      e2e_us += (double)records[i].e2e_us;
      output_tokens += records[i].output_tokens;
      end_us = records[i].end_us > end_us ? records[i].end_us : end_us;
    }
  }
  const blis_state_counts *c = &summary->counts;
  CHECK(memcmp(c, &counts, sizeof counts) == 0);
  CHECK_EQ_I64(c->arrived, c->completed + c->rejected + c->timed_out + c->unservable +
                               c->still_running + c->still_queued + c->still_arriving);
  CHECK_EQ_I64(summary->duration_us, end_us);
  CHECK_EQ_I64(summary->output_tokens, output_tokens);
  CHECK_EQ_I64(summary->times.e2e.count, c->completed);
  CHECK_EQ_DOUBLE(summary->times.e2e.mean_ms, e2e_us / (double)c->completed / 1000);
  CHECK_EQ_DOUBLE(summary->requests_per_sec, (double)c->completed / ((double)end_us / 1e6));
  CHECK(summary->times.ttft.at_us[BLIS_P50] <= summary->times.e2e.at_us[BLIS_P50]);
  CHECK(summary->hash == blis_recorder_hash(s->recorder));
}

static blis_summary run_and_sum_up(site *s) {
  blis_error error;
  blis_summary summary;
  site_must_open(s);
  site_run(s);
  CHECK_OK(blis_summary_init(&summary, &s->alloc, s->cluster, s->recorder, &s->itl_us, &error),
           &error);
  return summary;
}

static void summary_of_a_run(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 4);
  s.policy = "weighted";
  site_add_random_requests(&s, 4000, 60, 12);
  blis_summary summary = run_and_sum_up(&s);
  check_summary(&s, &summary);
  CHECK_EQ_I64(summary.counts.completed, 4000);
  CHECK(summary.cache_hit_rate > 0.1 && summary.cache_hit_rate < 1);
  CHECK(summary.cache_hit_rate_overall > 0.1);
  CHECK(summary.balance > 0.25 && summary.balance <= 1);
  int64_t requests = 0;
  for (uint32_t i = 0; i < summary.instance_count; i++) {
    requests += summary.instances[i].requests;
  }
  CHECK_EQ_I64(requests, 4000);
  blis_summary_deinit(&summary, &s.alloc);
  site_deinit(&s);
}

/* At most 1/256 too low, never too high. */
static void check_close(const blis_percentiles *sketch, const blis_percentiles *exact) {
  CHECK_EQ_I64(sketch->count, exact->count);
  CHECK_EQ_DOUBLE(sketch->min_us, exact->min_us);
  CHECK_EQ_DOUBLE(sketch->max_us, exact->max_us);
  CHECK(sketch->mean_us / exact->mean_us > 0.999999999);
  CHECK(sketch->mean_us / exact->mean_us < 1.000000001);
  for (int p = 0; p < BLIS_PERCENTILE_COUNT; p++) {
    CHECK(sketch->at_us[p] <= exact->at_us[p]);
    CHECK(sketch->at_us[p] >= exact->at_us[p] * (1 - 1.0 / 256));
  }
}

static blis_summary summarise(site *s, bool is_streaming, size_t *records) {
  s->is_streaming = is_streaming;
  blis_summary summary = run_and_sum_up(s);
  *records = blis_recorder_count(s->recorder);
  site_close(s);
  return summary;
}

static void summary_without_records(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 3);
  s.policy = "least-loaded";
  site_add_random_requests(&s, 3000, 60, 12);
  size_t kept = 0;
  size_t none = 0;
  blis_summary exact = summarise(&s, false, &kept);
  blis_summary sketch = summarise(&s, true, &none);
  CHECK_EQ_I64(kept, 3000);
  CHECK_EQ_I64(none, 0);
  CHECK(sketch.hash == exact.hash);
  CHECK(memcmp(&sketch.counts, &exact.counts, sizeof exact.counts) == 0);
  CHECK_EQ_DOUBLE(sketch.balance, exact.balance);
  CHECK_EQ_DOUBLE(sketch.times.itl.at_us[BLIS_P99], exact.times.itl.at_us[BLIS_P99]);
  check_close(&sketch.times.ttft, &exact.times.ttft);
  check_close(&sketch.times.e2e, &exact.times.e2e);
  check_close(&sketch.times.scheduling_delay, &exact.times.scheduling_delay);
  blis_summary_deinit(&exact, &s.alloc);
  blis_summary_deinit(&sketch, &s.alloc);
  site_deinit(&s);
}

/* The most memory that a run of count requests has at any time. */
static size_t peak_of_run(bool is_streaming, size_t count) {
  blis_alloc_probe memory = {0};
  site s;
  site_init(&s, blis_alloc_probed(&memory), 4);
  s.is_streaming = is_streaming;
  for (int i = 0; i < 4; i++) {
    s.instances[i].engine = BLIS_ENGINE_FAST;
  }
  site_add_random_requests(&s, count, 40, 21);
  site_must_open(&s);
  site_run(&s);
  size_t peak = memory.peak_bytes;
  site_deinit(&s);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return peak;
}

static void memory_per_finished_request(void) {
  const size_t few = 10000;
  const size_t many = 60000;
  double streaming = (double)peak_of_run(true, many) - (double)peak_of_run(true, few);
  double keeping = (double)peak_of_run(false, many) - (double)peak_of_run(true, many);
  printf("  memory: %.2f bytes per request without records, %.1f with\n",
         streaming / (double)(many - few), keeping / (double)many);
  CHECK(streaming < 2.0 * (double)(many - few));
  CHECK(keeping < 72.0 * (double)many);
}

/* A group that has all requests is worked out as any other. */
static void the_only_group_is_the_whole(void) {
  blis_alloc alloc = blis_alloc_heap();
  site s;
  blis_error error;
  site_init(&s, alloc, 2);
  site_add_random_requests(&s, 300, 30, 13);
  site_must_open(&s);
  site_run(&s);
  static uint32_t which[300];
  for (uint32_t i = 0; i < 300; i++) {
    which[i] = 299 - i;
  }
  const blis__selection all = {blis__recorder_store(s.recorder), which, 300};
  blis_group group = {0};
  CHECK(blis__group_fill(&group, &alloc, &all) == BLIS_OK);
  blis_groups groups;
  CHECK_OK(blis_groups_init(&groups, &alloc, s.recorder, BLIS_GROUP_MODEL, s.strings, &error),
           &error);
  CHECK_EQ_I64(groups.count, 1);
  const blis_group *only = &groups.items[0];
  CHECK(memcmp(&only->counts, &group.counts, sizeof group.counts) == 0);
  CHECK(memcmp(&only->times, &group.times, sizeof group.times) == 0);
  CHECK_EQ_I64(only->prompt_tokens, group.prompt_tokens);
  CHECK_EQ_I64(only->output_tokens, group.output_tokens);
  blis_groups_deinit(&groups, &alloc);
  site_deinit(&s);
}

static void groups_of_a_run(void) {
  site s;
  blis_error error;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_random_requests(&s, 900, 30, 13);
  site_must_open(&s);
  site_run(&s);
  blis_groups groups;
  CHECK_OK(blis_groups_init(&groups, &s.alloc, s.recorder, BLIS_GROUP_SLO_CLASS, s.strings, &error),
           &error);
  CHECK_EQ_I64(groups.count, 2);
  CHECK_STR(groups.items[0].name, "batch");
  CHECK_STR(groups.items[1].name, "critical");
  for (size_t i = 0; i < 2; i++) {
    const blis_group *g = &groups.items[i];
    CHECK_EQ_I64(g->counts.arrived, 450);
    CHECK_EQ_I64(g->times.ttft.count, 450);
    CHECK(g->times.itl.mean_us > 6000 && g->times.itl.mean_us < g->times.e2e.mean_us);
  }
  blis_groups_deinit(&groups, &s.alloc);
  CHECK_OK(blis_groups_init(&groups, &s.alloc, s.recorder, BLIS_GROUP_TENANT, s.strings, &error),
           &error);
  CHECK_EQ_I64(groups.count, 2);
  CHECK_EQ_I64(groups.items[0].counts.arrived, 600);
  blis_groups_deinit(&groups, &s.alloc);
  /* Nobody names a model: one group, without a name. */
  CHECK_OK(blis_groups_init(&groups, &s.alloc, s.recorder, BLIS_GROUP_MODEL, s.strings, &error),
           &error);
  CHECK_EQ_I64(groups.count, 1);
  CHECK_STR(groups.items[0].name, "");
  blis_groups_deinit(&groups, &s.alloc);
  site_deinit(&s);
}

static void unfinished_requests_are_counted_where_they_are(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  s.instances[0].max_num_seqs = 4;
  site_add_random_requests(&s, 400, 100, 14);
  s.config.horizon_us = 2000000;
  blis_summary summary = run_and_sum_up(&s);
  CHECK_EQ_I64(summary.counts.still_running, 4);
  CHECK(summary.counts.still_queued > 100);
  CHECK(summary.times.ttft.count > summary.times.e2e.count);
  CHECK_EQ_I64(summary.times.ttft.count, summary.times.e2e.count + 4);
  blis_summary_deinit(&summary, &s.alloc);
  site_deinit(&s);
}

static void nothing_completed_has_no_latencies(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_random_requests(&s, 5, 100, 15);
  s.config.horizon_us = 60000;
  blis_summary summary = run_and_sum_up(&s);
  CHECK_EQ_I64(summary.counts.completed, 0);
  CHECK_EQ_I64(summary.times.ttft.count, 0);
  CHECK_EQ_DOUBLE(summary.requests_per_sec, 0.0);
  blis_summary_deinit(&summary, &s.alloc);
  site_deinit(&s);
}

static bool sum_up_with_failure_at(site *s, long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_summary summary;
  blis_groups groups;
  blis_error error = {0};
  blis_status status =
      blis_summary_init(&summary, &alloc, s->cluster, s->recorder, &s->itl_us, &error);
  if (status == BLIS_OK) {
    blis_summary_deinit(&summary, &alloc);
    status =
        blis_groups_init(&groups, &alloc, s->recorder, BLIS_GROUP_SLO_CLASS, s->strings, &error);
  }
  if (status == BLIS_OK) {
    blis_groups_deinit(&groups, &alloc);
  }
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status == BLIS_OK;
}

static void no_memory_is_an_error(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_random_requests(&s, 100, 30, 16);
  site_must_open(&s);
  site_run(&s);
  long request = 1;
  while (!sum_up_with_failure_at(&s, request)) {
    request++;
  }
  CHECK(request > 8);
  site_deinit(&s);
}

int main(void) {
  RUN(percentiles_are_those_of_the_sorted_list);
  RUN(nothing_has_percentiles_of_zero);
  RUN(jain_index);
  RUN(hash_covers_what_happened);
  RUN(order_of_ends_does_not_matter);
  RUN(summary_of_a_run);
  RUN(summary_without_records);
  RUN(memory_per_finished_request);
  RUN(the_only_group_is_the_whole);
  RUN(groups_of_a_run);
  RUN(unfinished_requests_are_counted_where_they_are);
  RUN(nothing_completed_has_no_latencies);
  RUN(no_memory_is_an_error);
  return check_done();
}
