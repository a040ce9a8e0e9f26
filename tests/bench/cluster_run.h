/*
 * cluster_run.h - whole runs for benchmarks: source, admission, routing,
 * instances, records and the hash, on requests that cost nothing to generate.
 * CPU time of one core.
 */
#ifndef BLIS_BENCH_CLUSTER_RUN_H
#define BLIS_BENCH_CLUSTER_RUN_H

#include <time.h>

#include "cluster/cluster.h"
#include "latency/step/trained_physics.h"
#include "latency_fixture.h"
#include "policy/contract/go_blis.h"
#include "policy/registry.h"
#include "results/record/recorder.h"
#include "results/summary/summary.h"

#include "base/random.h"

typedef struct workload {
  int64_t count;
  double rate_per_s;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint32_t groups; /* of requests that share prefix_tokens */
  uint32_t prefix_tokens;
} workload;

typedef struct row {
  const char *name;
  const char *policy;
  uint32_t instances;
  workload load;
  int64_t lag_us; /* of engine and cache signals */
  bool go_blis;   /* profile */
} row;

enum { MAX_GROUPS = 512 };

typedef struct source {
  workload load;
  blis_random random;
  double now_us;
  int64_t made;
  blis_segment prefixes[MAX_GROUPS];
  blis_request_source interface;
} source;

static blis_latency_model latency;

static double cpu_s(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static blis_status next_request(void *state, blis_request *request, bool *done, blis_error *error) {
  source *s = state;
  (void)error;
  *done = s->made == s->load.count;
  if (*done) {
    return BLIS_OK;
  }
  s->now_us += blis_random_exp(&s->random) * 1e6 / s->load.rate_per_s;
  *request = (blis_request){.arrival_us = (int64_t)s->now_us,
                            .number = s->made++,
                            .prompt_tokens = s->load.prompt_tokens,
                            .output_tokens = s->load.output_tokens,
                            .max_output_tokens = s->load.output_tokens};
  request->deadline_us = request->arrival_us + 300000000;
  if (s->load.groups > 0) {
    int32_t group = blis_random_intn(&s->random, (int32_t)s->load.groups);
    request->segments = &s->prefixes[group];
    request->segment_count = 1;
    request->shared_tokens = s->load.prefix_tokens;
  }
  return BLIS_OK;
}

static void source_init(source *s, const workload *load, const blis_intern *strings) {
  *s = (source){.load = *load};
  blis_random_init(&s->random, 42);
  for (uint32_t g = 0; g < load->groups; g++) {
    s->prefixes[g] = (blis_segment){.stream = g + 1, .length_tokens = load->prefix_tokens};
  }
  s->interface = (blis_request_source){
      .next = next_request, .state = s, .strings = strings, .count = load->count};
}

static void configure(blis_instance_config *instances, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    instances[i] = (blis_instance_config){.latency = &latency,
                                          .kv_blocks = 15909,
                                          .block_size_tokens = 16,
                                          .max_num_seqs = 256,
                                          .max_batched_tokens = 2048,
                                          .max_model_len_tokens = 40960,
                                          .horizon_us = BLIS_TIME_NEVER_US};
  }
}

static double run(const row *r, uint64_t *hash, size_t *peak_bytes, double *hit_rate) {
  static blis_instance_config instances[10000];
  static source requests;
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  blis_error error;
  blis_intern *strings = blis_intern_new(&alloc);
  configure(instances, r->instances);
  source_init(&requests, &r->load, strings);
  const blis_policy_context context = {.instance_count = r->instances,
                                       .kv_block_size_tokens = 16,
                                       .kv_blocks = 15909,
                                       .seed = 42,
                                       .profile = r->go_blis ? &blis_policy_go_blis : NULL};
  blis_router router;
  CHECK_OK(blis_router_create(&alloc, r->policy, NULL, &context, &router, &error), &error);
  blis_recorder *recorder = blis_recorder_new(&alloc);
  blis_histogram itl_us;
  blis_histogram_init(&itl_us, &alloc);
  const blis_cluster_config config = {.instances = instances,
                                      .instance_count = r->instances,
                                      .snapshot_refresh_us = r->lag_us,
                                      .cache_signal_delay_us = r->lag_us,
                                      .load_counts_in_flight = r->go_blis,
                                      .horizon_us = BLIS_TIME_NEVER_US};
  blis_cluster *cluster = NULL;
  CHECK_OK(blis_cluster_new(&alloc, &config, &router, &requests.interface,
                            blis_recorder_sink(recorder), &itl_us, &cluster, &error),
           &error);
  double start = cpu_s();
  CHECK_OK(blis_cluster_run_until(cluster, BLIS_TIME_NEVER_US, &error), &error);
  CHECK_OK(blis_cluster_finish(cluster, &error), &error);
  double spent = cpu_s() - start;
  blis_summary summary;
  CHECK_OK(blis_summary_init(&summary, &alloc, cluster, recorder, &itl_us, &error), &error);
  *hash = blis_recorder_hash(recorder);
  *peak_bytes = probe.peak_bytes;
  *hit_rate = summary.cache_hit_rate_overall;
  blis_summary_deinit(&summary, &alloc);
  blis_cluster_free(cluster);
  blis_recorder_free(recorder);
  blis_histogram_deinit(&itl_us);
  blis_intern_free(strings);
  CHECK_EQ_I64(probe.live_bytes, 0);
  return spent;
}

/* The latency model of all runs, in latency; once at the start and the end. */
static blis_catalogue *open_latency(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  blis_model_spec model = fixture_model(catalogue, "qwen/qwen3-14b");
  blis_hardware_spec hardware = fixture_hardware(catalogue, "H100");
  blis_parallelism parallelism = {.tp = 1, .dp = 1};
  blis_error error;
  CHECK_OK(blis_trained_physics_new(&heap, &model, &hardware, &parallelism, &FIXTURE_FIT, &latency,
                                    &error),
           &error);
  return catalogue;
}

static void close_latency(blis_catalogue *catalogue) {
  blis_latency_free(&latency);
  blis_catalogue_free(catalogue);
}

#endif
