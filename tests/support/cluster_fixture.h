/*
 * cluster_fixture.h - a whole cluster for tests: requests from an array, a
 * linear latency model, records and percentiles.
 */
#ifndef BLIS_CLUSTER_FIXTURE_H
#define BLIS_CLUSTER_FIXTURE_H

#include <stdbool.h>
#include <stdlib.h>

#include "base/random.h"
#include "check.h"
#include "cluster/cluster.h"
#include "latency/step/blackbox.h"
#include "policy/contract/go_blis.h"
#include "policy/registry.h"
#include "results/record/recorder.h"
#include "results/summary/summary.h"

enum { SITE_INSTANCES_MAX = 16, SITE_GROUPS = 8 };

/* Requests in order of arrival. */
typedef struct site_source {
  blis_request *requests;
  size_t count;
  size_t next;
  blis_request_source source;
} site_source;

typedef struct site {
  blis_alloc alloc;
  blis_latency_model latency;
  blis_instance_config instances[SITE_INSTANCES_MAX];
  blis_cluster_config config;
  const char *policy;
  const blis_params *params;
  bool is_streaming; /* no records */
  bool go_blis;
  int64_t seed;
  site_source source;
  blis_intern *strings;
  blis_segment segments[SITE_GROUPS];

  blis_histogram itl_us;
  blis_recorder *recorder;
  blis_record *records; /* once site_records was asked for them */
  blis_cluster *cluster;
} site;

static inline blis_status site_next(void *state, blis_request *request, bool *done,
                                    blis_error *error) {
  (void)error;
  site_source *source = state;
  *done = source->next == source->count;
  if (!*done) {
    *request = source->requests[source->next++];
  }
  return BLIS_OK;
}

/* A cluster of n equal instances without requests; set fields before open. */
static inline void site_init(site *s, blis_alloc alloc, uint32_t n) {
  *s = (site){.alloc = alloc, .policy = "round-robin", .seed = 42};
  blis_alloc heap = blis_alloc_heap();
  static const double alpha[] = {500, 0.1, 0};
  static const double beta[] = {6000, 15, 40};
  blis_coefficients coefficients = {alpha, 3, beta, 3};
  CHECK(blis_blackbox_new(&heap, &coefficients, &s->latency, NULL) == BLIS_OK);
  s->strings = blis_intern_new(&heap);
  for (uint32_t i = 0; i < n; i++) {
    s->instances[i] = (blis_instance_config){.kv_blocks = 2000,
                                             .block_size_tokens = 16,
                                             .max_num_seqs = 64,
                                             .max_batched_tokens = 2048,
                                             .horizon_us = BLIS_TIME_NEVER_US,
                                             .engine = BLIS_ENGINE_STEPWISE};
  }
  s->config = (blis_cluster_config){.instance_count = n, .horizon_us = BLIS_TIME_NEVER_US};
  s->source.source = (blis_request_source){.next = site_next, .strings = s->strings};
}

static inline void site_add_requests(site *s, size_t count) {
  blis_alloc heap = blis_alloc_heap();
  s->source.requests = blis_alloc_zeroed(&heap, count, sizeof *s->source.requests);
  s->source.count = count;
  for (size_t i = 0; i < count; i++) {
    s->source.requests[i].number = (int64_t)i;
  }
}

/* Chat-like requests of some groups with shared prefixes. */
static inline void site_add_random_requests(site *s, size_t count, double rate_per_sec,
                                            int64_t seed) {
  blis_random random;
  blis_random_init(&random, seed);
  site_add_requests(s, count);
  for (uint32_t g = 0; g < SITE_GROUPS; g++) {
    s->segments[g] = (blis_segment){.stream = g + 1, .length_tokens = 200};
  }
  uint32_t classes[2];
  CHECK(blis_intern_add(s->strings, "batch", 5, &classes[0]) == BLIS_OK);
  CHECK(blis_intern_add(s->strings, "critical", 8, &classes[1]) == BLIS_OK);
  double now_us = 0;
  for (size_t i = 0; i < count; i++) {
    blis_request *r = &s->source.requests[i];
    now_us += blis_random_exp(&random) * 1e6 / rate_per_sec;
    r->arrival_us = (int64_t)now_us;
    int32_t g = blis_random_intn(&random, SITE_GROUPS);
    r->segments = &s->segments[g];
    r->segment_count = 1;
    r->shared_tokens = 200;
    r->prefix_group = (uint32_t)g + 1;
    r->prefix_tokens = 200;
    r->prompt_tokens = 200 + (uint32_t)blis_random_intn(&random, 300);
    r->output_tokens = 1 + (uint32_t)blis_random_intn(&random, 120);
    r->max_output_tokens = r->output_tokens;
    r->slo_class = classes[i % 2];
    r->tenant = classes[i % 3 == 0];
  }
}

/* Requests at 20, 40, 60, ... ms that take long. */
static inline void site_add_slow_requests(site *s, size_t count) {
  site_add_requests(s, count);
  for (size_t i = 0; i < count; i++) {
    blis_request *r = &s->source.requests[i];
    r->arrival_us = 20000 * (int64_t)(i + 1);
    r->prompt_tokens = 160;
    r->output_tokens = 500;
    r->max_output_tokens = 500;
  }
}

static inline blis_policy_context site_context(const site *s) {
  return (blis_policy_context){.instance_count = s->config.instance_count,
                               .kv_block_size_tokens = s->instances[0].block_size_tokens,
                               .kv_blocks = s->instances[0].kv_blocks,
                               .seed = s->seed,
                               .profile = s->go_blis ? &blis_policy_go_blis : NULL};
}

/* What a cluster is made of, but the router. */
static inline blis_status site_prepare(site *s, blis_error *error) {
  for (uint32_t i = 0; i < s->config.instance_count; i++) {
    s->instances[i].latency = &s->latency;
  }
  s->config.instances = s->instances;
  s->source.source.state = &s->source;
  blis_histogram_init(&s->itl_us, &s->alloc);
  s->recorder =
      s->is_streaming ? blis_recorder_new_streaming(&s->alloc) : blis_recorder_new(&s->alloc);
  return s->recorder == NULL ? blis_fail_nomem(error) : BLIS_OK;
}

/* Ready to run under a router, which is taken. */
static inline blis_status site_open_with(site *s, blis_router *router, blis_error *error) {
  blis_status status = site_prepare(s, error);
  if (status != BLIS_OK) {
    blis_router_free(router);
    return status;
  }
  return blis_cluster_new(&s->alloc, &s->config, router, &s->source.source,
                          blis_recorder_sink(s->recorder), &s->itl_us, &s->cluster, error);
}

/* Under the policy that is named; a status so that memory may run out. */
static inline blis_status site_open(site *s, blis_error *error) {
  blis_policy_context context = site_context(s);
  blis_router router = {0};
  blis_histogram_init(&s->itl_us, &s->alloc);
  BLIS_TRY(blis_router_create(&s->alloc, s->policy, s->params, &context, &router, error));
  return site_open_with(s, &router, error);
}

/* Frees what open made, so that the same requests can be run again. */
static inline void site_close(site *s) {
  blis_cluster_free(s->cluster);
  free(s->records);
  s->records = NULL;
  blis_recorder_free(s->recorder);
  blis_histogram_deinit(&s->itl_us);
  s->cluster = NULL;
  s->recorder = NULL;
  s->source.next = 0;
}

static inline void site_deinit(site *s) {
  blis_alloc heap = blis_alloc_heap();
  site_close(s);
  blis_alloc_free(&heap, s->source.requests, s->source.count * sizeof *s->source.requests);
  blis_intern_free(s->strings);
  blis_latency_free(&s->latency);
}

static inline void site_must_open(site *s) {
  blis_error error;
  CHECK_OK(site_open(s, &error), &error);
}

static inline void site_must_open_with(site *s, blis_router *router) {
  blis_error error;
  CHECK_OK(site_open_with(s, router, &error), &error);
}

/* Takes *admission. */
static inline void site_set_admission(site *s, blis_admission *admission) {
  blis_error error;
  CHECK_OK(blis_cluster_set_admission(s->cluster, admission, &error), &error);
}

/* Runs to the end and closes the books. */
static inline blis_status site_try_run(site *s, blis_error *error) {
  BLIS_TRY(blis_cluster_run_until(s->cluster, BLIS_TIME_NEVER_US, error));
  return blis_cluster_finish(s->cluster, error);
}

static inline void site_run(site *s) {
  blis_error error;
  CHECK_OK(site_try_run(s, &error), &error);
}

/* Event by event until nothing is left to do; `check`, or NULL, after each. */
static inline blis_status site_step_to_end(site *s, void (*check)(const site *s),
                                           blis_error *error) {
  for (bool done = false; !done;) {
    BLIS_TRY(blis_cluster_step(s->cluster, &done, error));
    if (check != NULL) {
      check(s);
    }
  }
  return BLIS_OK;
}

/* Tries to run the requests of a site; false when there was no memory. */
static inline bool site_run_with_failure_at(site *s, long request,
                                            blis_status (*run)(site *s, blis_error *error)) {
  blis_alloc_probe memory = {.fail_at = request, .fail_forever = 1};
  s->alloc = blis_alloc_probed(&memory);
  blis_error error = {0};
  blis_status status = site_open(s, &error);
  if (status == BLIS_OK) {
    status = run(s, &error);
  }
  CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
  site_close(s);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status == BLIS_OK;
}

/* Opens, runs and closes; the result hash. */
static inline uint64_t site_hash(site *s) {
  site_must_open(s);
  site_run(s);
  uint64_t hash = blis_recorder_hash(s->recorder);
  site_close(s);
  return hash;
}

/* All records as they are now; until the site is closed or asked again. */
static inline const blis_record *site_records(site *s) {
  size_t count = blis_recorder_count(s->recorder);
  free(s->records);
  s->records = malloc((count + 1) * sizeof *s->records);
  for (size_t i = 0; i < count; i++) {
    s->records[i] = blis_recorder_record(s->recorder, i);
  }
  return s->records;
}

/* An extra field of a record; -1 = not set. */
#define SITE_EXTRA(site, index, name)                                                              \
  blis_recorder_extra((site)->recorder, index, BLIS_EXTRA_##name)

static inline void site_check_states_sum_up(const site *s, int64_t arrived) {
  blis_cluster_counts c;
  blis_cluster_get_counts(s->cluster, &c);
  CHECK_EQ_I64(c.arrived, arrived);
  CHECK_EQ_I64(c.in_flight, 0);
  CHECK_EQ_I64(c.arrived,
               c.completed + c.rejected + c.timed_out + c.unservable + c.failed + c.unfinished);
  CHECK_EQ_I64(blis_recorder_count(s->recorder), arrived);
}

/* Counters of the router side are back at zero when everybody has left. */
static inline void site_check_counters_are_zero(const site *s) {
  for (uint32_t i = 0; i < blis_cluster_instance_count(s->cluster); i++) {
    CHECK_EQ_DOUBLE(blis_cluster_signal(s->cluster, i, BLIS_SIGNAL_PENDING), 0.0);
    CHECK_EQ_DOUBLE(blis_cluster_signal(s->cluster, i, BLIS_SIGNAL_IN_FLIGHT), 0.0);
    CHECK_EQ_DOUBLE(blis_cluster_signal(s->cluster, i, BLIS_SIGNAL_EFFECTIVE_LOAD), 0.0);
    CHECK_EQ_DOUBLE(blis_cluster_signal(s->cluster, i, BLIS_SIGNAL_PENDING_PREFILL_TOKENS), 0.0);
    CHECK(blis_instance_check(blis_cluster_instance(s->cluster, i)));
  }
}

#endif
