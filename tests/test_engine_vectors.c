/*
 * Replays recorded traces on the engines: every latency, counter and aggregate
 * must be the recorded one, exactly. The vectors come from BLIS (Go,
 * inference-sim f90a1e3a); they lie in $BLIS_SHARED_DIR/vectors/engine, by
 * default beside the checkout, and the test is skipped without them.
 * Arguments: names of cases, none = all.
 */
#include <dirent.h>

#include "base/csv.h"
#include "engine_driver.h"
#include "instance/slo_priority.h"
#include "kv/kv_cache.h"
#include "latency/trained_physics.h"
#include "vector_file.h"

#ifndef BLIS_SHARED_DIR
#define BLIS_SHARED_DIR "../shared"
#endif

enum { CASES_MAX = 1000, NAME_MAX_LENGTH = 100 };

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

/* qwen/qwen3-14b on an H100. */
static const blis_model_spec model_spec = {
    .name = "qwen3-14b",
    .layers = 40,
    .hidden_size = 5120,
    .attention_heads = 40,
    .kv_heads = 8,
    .vocab_size = 151936,
    .intermediate_size = 17408,
    .head_dim = 128,
    .bytes_per_param = 2,
};
static const blis_hardware_spec hardware_spec = {
    .name = "H100",
    .peak_tflops = 989.5,
    .fp8_tflops = 1979.0,
    .bandwidth_tb_s = 3.35,
    .mfu_prefill = 0.45,
    .mfu_decode = 0.30,
    .memory_gib = 80,
};

/* One recorded case. */
typedef struct vector_case {
  char name[NAME_MAX_LENGTH];
  vector_file file;
  blis_latency_model latency;
  blis_instance_config config;
  size_t instance_count;
  BLIS_ARRAY(driver_request) requests;
} vector_case;

static blis_alloc heap;
static char folder[1000];

static void new_latency(vector_case *c) {
  double alpha[16];
  double beta[16];
  blis_parallelism parallelism = {.tp = 1, .dp = 1};
  blis_coefficients fit = {.alpha = alpha, .beta = beta};
  blis_error error;
  fit.alpha_count = vector_doubles(c->file.root, "alpha", alpha, 16);
  fit.beta_count = vector_doubles(c->file.root, "beta", beta, 16);
  CHECK_OK(blis_trained_physics_new(&heap, &model_spec, &hardware_spec,
                                    &parallelism, &fit, &c->latency, &error),
           &error);
}

static blis_scheduler_kind scheduler_of(const char *name) {
  static const char *const names[] = {
      [BLIS_SCHEDULER_FCFS] = "fcfs",
      [BLIS_SCHEDULER_PRIORITY_FCFS] = "priority-fcfs",
      [BLIS_SCHEDULER_SJF] = "sjf",
      [BLIS_SCHEDULER_REVERSE_PRIORITY] = "reverse-priority",
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) == 0) {
      return (blis_scheduler_kind)i;
    }
  }
  check_fail(__FILE__, __LINE__, "unknown scheduler %s", name);
  return BLIS_SCHEDULER_FCFS;
}

static void read_config(vector_case *c) {
  const vector_value *v = vector_member(c->file.root, "config");
  bool by_priority = strcmp(vector_text(v, "preempt"), "priority") == 0;
  c->instance_count = (size_t)vector_int(v, "n", 1);
  c->config = (blis_instance_config){
      .latency = &c->latency,
      .kv_blocks = vector_int(v, "blocks", 0),
      .block_size_tokens = vector_int(v, "bs", 0),
      .max_num_seqs = vector_int(v, "mns", 0),
      .max_batched_tokens = vector_int(v, "mbt", 0),
      .long_prefill_threshold_tokens = vector_int(v, "thr", 0),
      .max_model_len_tokens = vector_int(v, "mml", 0),
      .horizon_us = vector_int(v, "horizon", 0),
      .scheduler = scheduler_of(vector_text(v, "sched")),
      .preemption = by_priority ? BLIS_PREEMPTION_PRIORITY
                                : BLIS_PREEMPTION_FCFS,
      .cpu_blocks = vector_int(v, "cpu", 0),
      .cpu_bandwidth_tokens_per_us = vector_double(v, "bw", 0),
      .cpu_base_latency_us = vector_int(v, "base", 0),
  };
}

static int64_t column(blis_csv *csv, const char *name) {
  int64_t value;
  blis_error error;
  CHECK_OK(blis_csv_int64(csv, blis_csv_column(csv, name), 0, INT64_MAX,
                          &value, &error),
           &error);
  return value;
}

static blis_slice text_column(blis_csv *csv, const char *name) {
  blis_slice text;
  blis_error error;
  CHECK_OK(blis_csv_text(csv, blis_csv_column(csv, name), &text, &error),
           &error);
  return text;
}

static void read_row(vector_case *c, blis_csv *csv,
                     const blis_slo_priority *priorities) {
  blis_slice group = text_column(csv, "prefix_group");
  blis_slice slo = text_column(csv, "slo_class");
  char slo_class[40];
  snprintf(slo_class, sizeof slo_class, "%.*s", (int)slo.length, slo.data);
  driver_request r = {
      .number = column(csv, "request_id"),
      .arrival_us = column(csv, "arrival_time_us"),
      .deadline_us = column(csv, "deadline_us"),
      .output = column(csv, "output_tokens"),
      .group = group.length == 0 ? 0 : group.data[0],
      .prefix = group.length == 0 ? 0 : column(csv, "prefix_length"),
      .priority = blis_slo_priority_of(priorities, slo_class),
  };
  r.prompt = r.prefix + column(csv, "input_tokens");
  r.budget = r.output;
  CHECK(blis_array_push(&heap, &c->requests, r) == BLIS_OK);
}

static void read_trace(vector_case *c) {
  char path[1200];
  blis_csv *csv;
  blis_csv_options options = {.has_header = true};
  blis_slo_priority *priorities;
  blis_error error;
  bool has_row = true;
  snprintf(path, sizeof path, "%s/%s.csv", folder, c->name);
  CHECK_OK(blis_csv_open(&heap, path, &options, &csv, &error), &error);
  CHECK_OK(blis_slo_priority_new(&heap, NULL, 0, &priorities, &error),
           &error);
  CHECK_OK(blis_csv_next(csv, &has_row, &error), &error);
  while (has_row) {
    read_row(c, csv, priorities);
    CHECK_OK(blis_csv_next(csv, &has_row, &error), &error);
  }
  blis_slo_priority_free(priorities);
  blis_csv_close(csv);
}

static void load(vector_case *c, const char *name) {
  char path[1200];
  *c = (vector_case){0};
  snprintf(c->name, sizeof c->name, "%s", name);
  snprintf(path, sizeof path, "%s/%s.json", folder, name);
  vector_open(&c->file, path);
  new_latency(c);
  read_config(c);
  read_trace(c);
}

static void unload(vector_case *c) {
  vector_close(&c->file);
  blis_latency_free(&c->latency);
  blis_array_deinit(&heap, &c->requests);
}

/* Values of requests, sorted, for means and percentiles. */
typedef BLIS_ARRAY(int64_t) sample;

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void collect(const driver *d, sample *s,
                    int64_t (*value)(const blis_live_request *)) {
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
  return low_value / 1000 +
         ((high_value - low_value) * (rank - (double)low)) / 1000;
}

static double mean_ms(const sample *s) {
  double sum = 0;
  for (size_t i = 0; i < s->count; i++) {
    sum += (double)s->items[i];
  }
  return s->count == 0 ? 0 : sum / (double)s->count / 1000;
}

#define CHECK_METRIC(m, key, got)                                              \
  check_eq_double(__FILE__, __LINE__, key, (got), vector_double((m), key, 0))

static void check_distribution(const vector_value *m, const char *name,
                               const sample *s) {
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
static void check_latencies(const vector_value *m, driver *d) {
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

static void check_counters(const vector_value *m, const driver *d) {
  blis_instance_stats s = driver_stats(d);
  int64_t injected = s.completed + s.queue_depth + s.batch_size +
                     s.unservable + s.timed_out;
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
static void check_request(const vector_value *expected, const driver *d,
                          size_t slot) {
  const blis_live_request *r = &d->requests[slot].live;
  bool has_completed = r->e2e_us >= 0;
  char instance[40];
  snprintf(instance, sizeof instance, "instance_%zu", slot % d->instance_count);
  CHECK_STR(vector_text(expected, "handled_by"), instance);
  CHECK_METRIC(expected, "ttft_ms",
               r->ttft_us < 0 ? 0 : (double)r->ttft_us / 1e3);
  CHECK_METRIC(expected, "e2e_ms", has_completed ? (double)r->e2e_us / 1e3 : 0);
  CHECK_METRIC(expected, "itl_ms", has_completed ? itl_mean(r) / 1e3 : 0);
  CHECK_METRIC(
      expected, "scheduling_delay_ms",
      r->scheduling_delay_us < 0 ? 0 : (double)r->scheduling_delay_us / 1e3);
}

static void check_requests(const vector_value *m, const driver *d) {
  const vector_value *list = vector_member(m, "requests");
  size_t present = 0;
  for (size_t i = 0; i < vector_count(list); i++) {
    const vector_value *expected = vector_item(list, i);
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
  CHECK_EQ_I64(vector_count(list), present);
}

/* The results proper: completed requests, in order of their numbers. */
static void check_results(const vector_value *results, const driver *d) {
  size_t completed = 0;
  for (size_t i = 0; i < vector_count(results); i++) {
    const vector_value *expected = vector_item(results, i);
    size_t slot = 0;
    while (slot < d->arrived && d->requests[slot].number !=
                                    vector_int(expected, "request_id", -1)) {
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
  CHECK_EQ_I64(vector_count(results), completed);
}

static void replay(driver *d, vector_case *c, blis_engine_kind engine,
                   bool reproduces_defects, int64_t horizon_us) {
  blis_error error;
  *d = (driver){.alloc = heap,
                .config = c->config,
                .requests = c->requests.items,
                .request_count = c->requests.count};
  d->config.engine = engine;
  d->config.reproduce_go_blis_defects = reproduces_defects;
  d->config.horizon_us = horizon_us;
  CHECK_OK(driver_init(d, c->instance_count, &error), &error);
  CHECK_OK(driver_run(d, &error), &error);
  for (size_t i = 0; i < d->instance_count; i++) {
    blis_instance_close(d->instances[i]);
    CHECK(blis_instance_check(d->instances[i]));
  }
}

static void check_equal(vector_case *c, blis_engine_kind engine,
                        bool reproduces_defects) {
  const vector_value *m = vector_member(c->file.root, "expected_metrics");
  driver d;
  replay(&d, c, engine, reproduces_defects, c->config.horizon_us);
  check_results(vector_member(c->file.root, "expected_results"), &d);
  check_requests(m, &d);
  check_counters(m, &d);
  check_latencies(m, &d);
  driver_deinit(&d);
}

/* Without the defect everything ends, even when no horizon ends the run. */
static void check_clean(vector_case *c, blis_engine_kind engine,
                        defect known) {
  const vector_value *m = vector_member(c->file.root, "expected_metrics");
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
  vector_case c;
  defect known = defect_of(name);
  check_name = name;
  load(&c, name);
  static const blis_engine_kind engines[] = {BLIS_ENGINE_STEPWISE,
                                             BLIS_ENGINE_FAST};
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
    check_equal(&c, engines[i], true);
    if (known == NO_DEFECT) {
      check_equal(&c, engines[i], false);
    } else {
      check_clean(&c, engines[i], known);
    }
  }
  unload(&c);
  printf("ok %d - %s\n", ++check_count, name);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(a, b);
}

static size_t list_cases(char (*names)[NAME_MAX_LENGTH]) {
  DIR *directory = opendir(folder);
  if (directory == NULL) {
    SKIP("there are no engine vectors");
  }
  size_t count = 0;
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
    size_t length = strlen(entry->d_name);
    if (length > 5 && length < NAME_MAX_LENGTH &&
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
  static char names[CASES_MAX][NAME_MAX_LENGTH];
  const char *shared = getenv("BLIS_SHARED_DIR");
  heap = blis_alloc_heap();
  snprintf(folder, sizeof folder, "%s/vectors/engine",
           shared != NULL ? shared : BLIS_SHARED_DIR);
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
