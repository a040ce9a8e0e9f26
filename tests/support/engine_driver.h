/*
 * engine_driver.h - runs requests on one or more instances, for tests of the
 * engines: the two-level loop of a cluster with round-robin routing and
 * nothing else.
 */
#ifndef BLIS_ENGINE_DRIVER_H
#define BLIS_ENGINE_DRIVER_H

#include "base/array.h"
#include "base/containers/histogram.h"
#include "check.h"
#include "instance/instance.h"
#include "latency/step/coverage.h"

typedef struct driver_request {
  int64_t number;
  int64_t arrival_us;
  int64_t deadline_us;
  int64_t prompt;
  int64_t output;
  int64_t budget;
  double priority; /* higher is more urgent */
  int group;       /* 0 = none */
  int64_t prefix;  /* leading prompt tokens that the group shares */

  blis_live_request live;
  blis_block_id *shared;
  int64_t end_us; /* -1 = has not ended */
} driver_request;

typedef struct driver {
  blis_alloc alloc;
  blis_instance_config config;
  blis_instance **instances;
  size_t instance_count;
  driver_request *requests; /* in order of arrival */
  size_t request_count;
  size_t arrived;
  blis_histogram itl_us;
  int64_t event_us; /* of the event being executed */
  int64_t ended;
  bool check_always;
  /* Called after every instance event; may be NULL. */
  void (*after_event)(struct driver *driver, size_t instance);
  void *ud;
} driver;

static inline driver_request *driver_request_of(driver *d, const blis_live_request *r) {
  return &d->requests[r->slot];
}

static inline blis_status driver_on_ended(void *ud, blis_live_request *request, int64_t now_us,
                                          int64_t end_us, blis_error *error) {
  driver *d = ud;
  (void)error;
  CHECK(now_us >= d->event_us); /* a fast engine may be further */
  CHECK(end_us >= now_us && request->engine == NULL);
  CHECK(driver_request_of(d, request)->end_us == -1);
  driver_request_of(d, request)->end_us = end_us;
  d->ended++;
  return BLIS_OK;
}

/* Blocks that lie wholly in the prefix of the group belong to the group. */
static inline blis_status driver_name_blocks(driver *d, driver_request *r) {
  int64_t size = d->config.block_size_tokens;
  int64_t prefix = r->prefix < r->prompt ? r->prefix : r->prompt;
  uint32_t shared = r->group == 0 ? 0 : (uint32_t)(prefix / size);
  if (shared > 0) {
    r->shared = blis_alloc_zeroed(&d->alloc, shared, sizeof *r->shared);
    if (r->shared == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  for (uint32_t k = 0; k < shared; k++) {
    r->shared[k] = (uint64_t)r->group * 1000000 + k;
  }
  r->live.chain = (blis_block_chain){
      .shared = r->shared,
      .shared_count = shared,
      .prompt_blocks = (uint32_t)(r->prompt / size),
      .private_base = BLIS_BLOCK_PRIVATE | ((uint64_t)r->number << 24),
  };
  return BLIS_OK;
}

static inline blis_status driver_inject(driver *d, blis_error *error) {
  size_t slot = d->arrived;
  driver_request *r = &d->requests[slot];
  r->end_us = -1;
  r->live = (blis_live_request){
      .arrival_us = r->arrival_us,
      .deadline_us = r->deadline_us,
      .number = r->number,
      .prompt_tokens = r->prompt,
      .output_tokens = r->output,
      .output_budget_tokens = r->budget,
      .priority = r->priority,
      .slot = (uint32_t)slot,
  };
  BLIS_TRY_MEM(driver_name_blocks(d, r), error);
  BLIS_TRY(
      blis_instance_inject(d->instances[slot % d->instance_count], &r->live, r->arrival_us, error));
  d->arrived++;
  return BLIS_OK;
}

/* The instance with the earliest event, the first one among equals. */
static inline size_t driver_next_instance(const driver *d) {
  size_t next = 0;
  for (size_t i = 1; i < d->instance_count; i++) {
    if (blis_instance_next_us(d->instances[i]) < blis_instance_next_us(d->instances[next])) {
      next = i;
    }
  }
  return next;
}

/* Frees everything but the requests themselves. */
static inline void driver_deinit(driver *d) {
  for (size_t i = 0; d->instances != NULL && i < d->instance_count; i++) {
    blis_instance_free(d->instances[i]);
  }
  blis_alloc_free(&d->alloc, d->instances, d->instance_count * sizeof *d->instances);
  for (size_t i = 0; i < d->request_count; i++) {
    driver_request *r = &d->requests[i];
    if (r->shared != NULL) {
      blis_alloc_free(&d->alloc, r->shared, r->live.chain.shared_count * sizeof *r->shared);
      r->shared = NULL;
    }
  }
  blis_histogram_deinit(&d->itl_us);
}

/*
 * Sets up instance_count instances of d->config; the caller has filled in
 * alloc, config, requests and what is optional. Deinit in any case.
 */
static inline blis_status driver_init(driver *d, size_t instance_count, blis_error *error) {
  d->arrived = 0;
  d->ended = 0;
  d->instance_count = instance_count;
  for (size_t i = 0; i < d->request_count; i++) {
    d->requests[i].shared = NULL;
  }
  blis_histogram_init(&d->itl_us, &d->alloc);
  d->instances = blis_alloc_zeroed(&d->alloc, instance_count, sizeof *d->instances);
  BLIS_TRY_NEW(d->instances, error);
  blis_instance_events events = {.ud = d, .ended = driver_on_ended, .itl_us = &d->itl_us};
  for (size_t i = 0; i < instance_count; i++) {
    BLIS_TRY(blis_instance_new(&d->alloc, &d->config, &events, &d->instances[i], error));
  }
  return BLIS_OK;
}

/* Executes the next event; *done when there is none up to the horizon. */
static inline blis_status driver_step(driver *d, bool *done, blis_error *error) {
  int64_t arrival_us =
      d->arrived < d->request_count ? d->requests[d->arrived].arrival_us : BLIS_TIME_NEVER_US;
  size_t next = driver_next_instance(d);
  int64_t instance_us = blis_instance_next_us(d->instances[next]);
  int64_t event_us = arrival_us <= instance_us ? arrival_us : instance_us;
  *done = event_us > d->config.horizon_us || event_us == BLIS_TIME_NEVER_US;
  if (*done) {
    return BLIS_OK;
  }
  d->event_us = event_us;
  if (arrival_us <= instance_us) {
    return driver_inject(d, error);
  }
  bool clock_moved;
  BLIS_TRY(blis_instance_run_next(d->instances[next], arrival_us, &clock_moved, error));
  if (d->check_always) {
    CHECK(blis_instance_check(d->instances[next]));
  }
  if (d->after_event != NULL) {
    d->after_event(d, next);
  }
  return BLIS_OK;
}

static inline blis_status driver_run(driver *d, blis_error *error) {
  bool done = false;
  while (!done) {
    BLIS_TRY(driver_step(d, &done, error));
  }
  return BLIS_OK;
}

/* Counters summed over instances; end_us is the latest. */
static inline blis_instance_stats driver_stats(const driver *d) {
  blis_instance_stats sum = {0};
  for (size_t i = 0; i < d->instance_count; i++) {
    blis_instance_stats s;
    blis_instance_get_stats(d->instances[i], &s);
    sum.queue_depth += s.queue_depth;
    sum.batch_size += s.batch_size;
    sum.used_kv_blocks += s.used_kv_blocks;
    sum.cache_hits += s.cache_hits;
    sum.cache_misses += s.cache_misses;
    sum.cpu_misses += s.cpu_misses;
    sum.preemptions += s.preemptions;
    sum.kv_allocation_failures += s.kv_allocation_failures;
    sum.completed += s.completed;
    sum.length_capped += s.length_capped;
    sum.timed_out += s.timed_out;
    sum.unservable += s.unservable;
    sum.prompt_tokens += s.prompt_tokens;
    sum.output_tokens += s.output_tokens;
    sum.steps += s.steps;
    sum.end_us = s.end_us > sum.end_us ? s.end_us : sum.end_us;
  }
  return sum;
}

/*
 * A latency model that can be reckoned by hand: a step takes 1000 us and 10
 * more for each scheduled request, an empty one 1 us; 100 us until queued, 7
 * per output token, 50 once; where batches are built ahead, first tokens come
 * 300 us and one and a half steps later.
 */
typedef struct driver_latency {
  int64_t last_step_us;
  int64_t fail_after; /* steps that go well; 0 = all of them */
} driver_latency;

static inline blis_status driver_step_time(void *state, const blis_batch_item *items, size_t count,
                                           int64_t *step_us, blis_error *error) {
  driver_latency *latency = state;
  (void)items;
  if (latency->fail_after > 0 && --latency->fail_after == 0) {
    return blis_fail(error, BLIS_ERR_POLICY, "no idea how long this takes");
  }
  latency->last_step_us = count == 0 ? 1 : 1000 + 10 * (int64_t)count;
  *step_us = latency->last_step_us;
  return BLIS_OK;
}

static inline int64_t driver_queueing(const void *state, int64_t prompt_tokens) {
  (void)state;
  (void)prompt_tokens;
  return 100;
}

static inline int64_t driver_token_time(const void *state) {
  (void)state;
  return 7;
}

static inline int64_t driver_overhead(const void *state) {
  (void)state;
  return 50;
}

static inline blis_first_token driver_first_token(const void *state) {
  (void)state;
  return (blis_first_token){.delay_us = 300, .depth = 1.5};
}

/* A step of more than one request is beyond it. */
static inline const blis_coverage *driver_coverage(const void *state) {
  static const blis_coverage ONE = {.requests_max = 1};
  (void)state;
  return &ONE;
}

static const blis_latency_ops driver_latency_ops = {
    .name = "by hand",
    .step_time = driver_step_time,
    .queueing_time = driver_queueing,
    .output_token_time = driver_token_time,
    .fixed_overhead = driver_overhead,
    .first_token = driver_first_token,
    .coverage = driver_coverage,
};

/* Roomy, and stepwise. */
static inline blis_instance_config driver_base_config(const blis_latency_model *latency) {
  return (blis_instance_config){
      .latency = latency,
      .kv_blocks = 100,
      .block_size_tokens = 4,
      .max_num_seqs = 256,
      .max_batched_tokens = 2048,
      .horizon_us = 10000000,
      .engine = BLIS_ENGINE_STEPWISE,
  };
}

/* One instance for these requests; the caller deinits. */
static inline void driver_set_up(driver *d, const blis_alloc *alloc,
                                 const blis_instance_config *config, driver_request *requests,
                                 size_t count) {
  blis_error error;
  *d = (driver){.alloc = *alloc,
                .config = *config,
                .requests = requests,
                .request_count = count,
                .check_always = true};
  CHECK_OK(driver_init(d, 1, &error), &error);
}

/*
 * Number, arrival, deadline, prompt, output, priority (here lower is more
 * urgent), group, prefix.
 */
#define DRIVER_REQUEST(n, at, deadline, in, out, urgency, g, pre)                                  \
  {                                                                                                \
    .number = (n), .arrival_us = (at), .deadline_us = (deadline), .prompt = (in), .output = (out), \
    .budget = (out), .priority = -(urgency), .group = (g), .prefix = (pre)                         \
  }

/* Number, arrival, prompt, output. */
#define DRIVER_PLAIN(n, at, in, out) DRIVER_REQUEST(n, at, 0, in, out, 1, 0, 0)

#endif
