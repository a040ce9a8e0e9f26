/*
 * Replays recorded traces on the engines: every latency, counter and aggregate
 * must be the recorded one, exactly. The vectors come from BLIS (Go,
 * inference-sim f90a1e3a); they lie in $BLIS_SHARED_DIR/vectors/engine, by
 * default beside the checkout, and the test is skipped without them.
 * Arguments: names of cases, none = all.
 */
#include <dirent.h>

#include "engine_case.h"
#include "instance/config/go_blis.h"
#include "kv/kv_cache.h"

#ifndef BLIS_SHARED_DIR
#define BLIS_SHARED_DIR "../shared"
#endif

enum { CASES_MAX = 1000 };

/*
 * Cases in which the recorder shows a defect that we reproduce on demand only.
 * By default the first kind ends with a request dropped as unservable, and
 * the second one serves more.
 */
typedef enum defect { NO_DEFECT, OUTGROWS_CACHE, KEEPS_FAILED_CLAIMS } defect;

static const struct {
  const char *name;
  defect defect;
} known_defects[] = {
    /* A request that needs more blocks than there are evicts itself for ever:
       the run only ends at the horizon, and what waits behind it starves. */
    {"E08_growth_livelock", OUTGROWS_CACHE},
    {"R042", OUTGROWS_CACHE},
    {"R044", OUTGROWS_CACHE},
    {"R057", OUTGROWS_CACHE},
    {"R076", OUTGROWS_CACHE},
    {"R084", OUTGROWS_CACHE},
    {"R111", OUTGROWS_CACHE},
    {"R123", OUTGROWS_CACHE},
    {"R146", OUTGROWS_CACHE},
    {"R161", OUTGROWS_CACHE},
    {"R172", OUTGROWS_CACHE},
    {"R177", OUTGROWS_CACHE},
    {"R192", OUTGROWS_CACHE},
    {"R198", OUTGROWS_CACHE},
    /* A waiting request keeps the blocks it claimed after a partial reload
       from the CPU tier: memory is pinned, empty steps of 1 us follow. */
    {"R067", KEEPS_FAILED_CLAIMS},
    {"R089", KEEPS_FAILED_CLAIMS},
    {"R152", KEEPS_FAILED_CLAIMS},
    {"R166", KEEPS_FAILED_CLAIMS},
};

static defect defect_of(const char *name) {
  for (size_t i = 0; i < sizeof known_defects / sizeof *known_defects; i++) {
    if (strcmp(known_defects[i].name, name) == 0) {
      return known_defects[i].defect;
    }
  }
  return NO_DEFECT;
}

static blis_alloc heap;
static char folder[1000];

/* Values of requests, sorted, for means and percentiles. */
typedef BLIS_ARRAY(int64_t) sample;

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void collect(const driver *d, sample *s, int64_t (*value)(const blis_live_request *)) {
  s->count = 0;
  for (size_t i = 0; i < d->arrived; i++) {
    int64_t v = value(&d->requests[i].live);
    if (v >= 0) {
      CHECK(blis_array_push(&heap, s, v) == BLIS_OK);
    }
  }
  if (s->count > 0) {
    qsort(s->items, s->count, sizeof *s->items, compare);
  }
}

static int64_t ttft_of(const blis_live_request *r) {
  return r->ttft_us;
}

static int64_t e2e_of(const blis_live_request *r) {
  return r->e2e_us;
}

static int64_t delay_of(const blis_live_request *r) {
  return r->scheduling_delay_us;
}

static void expand(driver *d, sample *s) {
  int64_t value = -1;
  uint64_t count;
  s->count = 0;
  while (blis_histogram_next(&d->itl_us, &value, &count)) {
    for (uint64_t i = 0; i < count; i++) {
      CHECK(blis_array_push(&heap, s, value) == BLIS_OK);
    }
  }
}

static double percentile_ms(const sample *s, double p) {
  if (s->count == 0) {
    return 0;
  }
  double rank = (p / 100.0) * (double)(s->count - 1);
  size_t low = (size_t)rank;
  double low_value = (double)s->items[low];
  if ((double)low == rank) {
    return low_value / 1000;
  }
  double high_value = (double)s->items[low + 1];
  return low_value / 1000 + ((high_value - low_value) * (rank - (double)low)) / 1000;
}

static double mean_ms(const sample *s) {
  double sum = 0;
  for (size_t i = 0; i < s->count; i++) {
    sum += (double)s->items[i];
  }
  return s->count == 0 ? 0 : sum / (double)s->count / 1000;
}

#define CHECK_METRIC(m, key, got)                                                                  \
  check_eq_double(__FILE__, __LINE__, key, (got), vector_double((m), key, 0))

static void check_distribution(blis_json_value m, const char *name, const sample *s) {
  static const double percents[] = {90, 95, 99};
  char key[40];
  snprintf(key, sizeof key, "%s_mean_ms", name);
  CHECK_METRIC(m, key, mean_ms(s));
  for (size_t i = 0; i < 3; i++) {
    snprintf(key, sizeof key, "%s_p%.0f_ms", name, percents[i]);
    CHECK_METRIC(m, key, percentile_ms(s, percents[i]));
  }
}

/* Latencies are only reported when something has completed. */
static void check_latencies(blis_json_value m, driver *d) {
  if (driver_stats(d).completed == 0) {
    CHECK_METRIC(m, "ttft_mean_ms", 0);
    return;
  }
  sample s = {0};
  collect(d, &s, ttft_of);
  check_distribution(m, "ttft", &s);
  collect(d, &s, e2e_of);
  check_distribution(m, "e2e", &s);
  expand(d, &s);
  check_distribution(m, "itl", &s);
  collect(d, &s, delay_of);
  CHECK_METRIC(m, "scheduling_delay_p99_ms", percentile_ms(&s, 99));
  blis_array_deinit(&heap, &s);
}

static double hit_rate(const driver *d) {
  double sum = 0;
  for (size_t i = 0; i < d->instance_count; i++) {
    blis_instance_stats s;
    blis_instance_get_stats(d->instances[i], &s);
    sum += blis_kv_cache_hit_rate(s.cache_hits, s.cache_misses, s.cpu_misses);
  }
  return sum / (double)d->instance_count;
}

static void check_counters(blis_json_value m, const driver *d) {
  blis_instance_stats s = driver_stats(d);
  int64_t injected = s.completed + s.queue_depth + s.batch_size + s.unservable + s.timed_out;
  const struct {
    const char *key;
    int64_t value;
  } counters[] = {
      {"completed_requests", s.completed},
      {"still_queued", s.queue_depth},
      {"still_running", s.batch_size},
      {"injected_requests", injected},
      {"total_input_tokens", s.prompt_tokens},
      {"total_output_tokens", s.output_tokens},
      {"kv_allocation_failures", s.kv_allocation_failures},
      {"preemption_count", s.preemptions},
      {"dropped_unservable", s.unservable},
      {"length_capped_requests", s.length_capped},
      {"timed_out_requests", s.timed_out},
  };
  for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
    check_eq_i64(__FILE__, __LINE__, counters[i].key, counters[i].value,
                 vector_int(m, counters[i].key, 0));
  }
  CHECK_METRIC(m, "vllm_estimated_duration_s", (double)s.end_us / 1e6);
  CHECK_METRIC(m, "cache_hit_rate", hit_rate(d));
}

static double itl_mean(const blis_live_request *r) {
  int64_t gaps = r->output_tokens > 1 ? r->output_tokens - 1 : 1;
  return (double)r->itl_sum_us / (double)gaps;
}

/* What the recorder tells of a request: 0 where there is nothing to tell. */
static void check_request(blis_json_value expected, const driver *d, size_t slot) {
  const blis_live_request *r = &d->requests[slot].live;
  bool has_completed = r->e2e_us >= 0;
  char instance[40];
  snprintf(instance, sizeof instance, "instance_%zu", slot % d->instance_count);
  CHECK_STR(vector_text(expected, "handled_by"), instance);
  CHECK_METRIC(expected, "ttft_ms", r->ttft_us < 0 ? 0 : (double)r->ttft_us / 1e3);
  CHECK_METRIC(expected, "e2e_ms", has_completed ? (double)r->e2e_us / 1e3 : 0);
  CHECK_METRIC(expected, "itl_ms", has_completed ? itl_mean(r) / 1e3 : 0);
  CHECK_METRIC(expected, "scheduling_delay_ms",
               r->scheduling_delay_us < 0 ? 0 : (double)r->scheduling_delay_us / 1e3);
}

static void check_requests(blis_json_value m, const driver *d) {
  blis_json_value list = vector_member(m, "requests");
  size_t present = 0;
  for (size_t i = 0; i < blis_json_count(list); i++) {
    blis_json_value expected = blis_json_item(list, i);
    char id[40];
    size_t slot = 0;
    for (; slot < d->arrived; slot++) {
      snprintf(id, sizeof id, "request_%" PRId64, d->requests[slot].number);
      if (strcmp(id, vector_text(expected, "requestID")) == 0) {
        break;
      }
    }
    CHECK(slot < d->arrived);
    check_request(expected, d, slot);
  }
  for (size_t i = 0; i < d->arrived; i++) {
    present += d->requests[i].live.state != BLIS_REQUEST_UNSERVABLE;
  }
  CHECK_EQ_I64(blis_json_count(list), present);
}

/* The results proper: completed requests, in order of their numbers. */
static void check_results(blis_json_value results, const driver *d) {
  size_t completed = 0;
  for (size_t i = 0; i < blis_json_count(results); i++) {
    blis_json_value expected = blis_json_item(results, i);
    size_t slot = 0;
    while (slot < d->arrived &&
           d->requests[slot].number != vector_int(expected, "request_id", -1)) {
      slot++;
    }
    CHECK(slot < d->arrived);
    const blis_live_request *r = &d->requests[slot].live;
    CHECK_EQ_I64(r->ttft_us, vector_int(expected, "ttft_us", -1));
    CHECK_EQ_I64(r->e2e_us, vector_int(expected, "e2e_us", -1));
    CHECK_METRIC(expected, "itl_mean_us", itl_mean(r));
    CHECK_EQ_I64(r->prompt_tokens, vector_int(expected, "input_tokens", -1));
  }
  for (size_t i = 0; i < d->arrived; i++) {
    completed += d->requests[i].live.e2e_us >= 0;
  }
  CHECK_EQ_I64(blis_json_count(results), completed);
}

static void replay(driver *d, engine_case *c, blis_engine_kind engine, bool reproduces_defects,
                   int64_t horizon_us) {
  blis_error error;
  *d = (driver){.alloc = heap,
                .config = c->config,
                .requests = c->requests.items,
                .request_count = c->requests.count,
                .check_always = !reproduces_defects};
  d->config.engine = engine;
  d->config.defects = (reproduces_defects) ? blis_instance_go_blis : (blis_instance_defects){false};
  d->config.horizon_us = horizon_us;
  CHECK_OK(driver_init(d, c->instance_count, &error), &error);
  CHECK_OK(driver_run(d, &error), &error);
  for (size_t i = 0; i < d->instance_count; i++) {
    CHECK_OK(blis_instance_close(d->instances[i], &error), &error);
    CHECK(blis_instance_check(d->instances[i]));
  }
}

static void check_equal(engine_case *c, blis_engine_kind engine, bool reproduces_defects) {
  blis_json_value m = vector_member(blis_json_root(&c->file), "expected_metrics");
  driver d;
  replay(&d, c, engine, reproduces_defects, c->config.horizon_us);
  check_results(vector_member(blis_json_root(&c->file), "expected_results"), &d);
  check_requests(m, &d);
  check_counters(m, &d);
  check_latencies(m, &d);
  driver_deinit(&d);
}

/* Without the defect everything ends, even when no horizon ends the run. */
static void check_clean(engine_case *c, blis_engine_kind engine, defect known) {
  blis_json_value m = vector_member(blis_json_root(&c->file), "expected_metrics");
  driver d;
  replay(&d, c, engine, false, BLIS_TIME_NEVER_US);
  CHECK_EQ_I64(d.ended, d.request_count);
  blis_instance_stats s = driver_stats(&d);
  CHECK_EQ_I64(s.completed + s.timed_out + s.unservable, d.request_count);
  CHECK_EQ_I64(s.used_kv_blocks, 0);
  if (known == OUTGROWS_CACHE) {
    CHECK(s.unservable > vector_int(m, "dropped_unservable", 0));
  } else {
    CHECK(s.completed >= vector_int(m, "completed_requests", 0));
  }
  driver_deinit(&d);
}

static void run_case(const char *name) {
  engine_case c;
  defect known = defect_of(name);
  check_name = name;
  engine_case_load(&c, &heap, folder, name);
  static const blis_engine_kind engines[] = {BLIS_ENGINE_STEPWISE, BLIS_ENGINE_FAST};
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
    check_equal(&c, engines[i], true);
    if (known == NO_DEFECT) {
      check_equal(&c, engines[i], false);
    } else {
      check_clean(&c, engines[i], known);
    }
  }
  engine_case_unload(&c);
  printf("ok %d - %s\n", ++check_count, name);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(a, b);
}

static size_t list_cases(char (*names)[ENGINE_CASE_NAME_MAX]) {
  DIR *directory = opendir(folder);
  if (directory == NULL) {
    SKIP("there are no engine vectors");
  }
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    size_t length = strlen(entry->d_name);
    if (length > 5 && length < ENGINE_CASE_NAME_MAX &&
        strcmp(entry->d_name + length - 5, ".json") == 0) {
      CHECK(count < CASES_MAX);
      memcpy(names[count], entry->d_name, length - 5);
      names[count++][length - 5] = '\0';
    }
  }
  closedir(directory);
  qsort(names, count, sizeof *names, compare_names);
  return count;
}

int main(int argc, char **argv) {
  static char names[CASES_MAX][ENGINE_CASE_NAME_MAX];
  const char *shared = getenv("BLIS_SHARED_DIR");
  heap = blis_alloc_heap();
  snprintf(folder, sizeof folder, "%s/vectors/engine", shared != NULL ? shared : BLIS_SHARED_DIR);
  if (argc > 1) {
    for (int i = 1; i < argc; i++) {
      run_case(argv[i]);
    }
    return check_done();
  }
  size_t count = list_cases(names);
  for (size_t i = 0; i < count; i++) {
    run_case(names[i]);
  }
  return check_done();
}
