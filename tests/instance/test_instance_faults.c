/*
 * Requests that are taken out of an engine, engines that come up again with an
 * empty cache, and engines that slow down.
 */
#include "engine_driver.h"

/* One instance, whose steps take 1000 us and 10 more per request. */
typedef struct plant {
  driver d;
  driver_latency state;
  blis_latency_model latency;
} plant;

static void build_capped(plant *p, blis_alloc alloc, blis_engine_kind engine,
                         driver_request *requests, size_t count, double prefill_slowdown,
                         double decode_slowdown) {
  p->state = (driver_latency){0};
  p->latency = (blis_latency_model){.ops = &driver_latency_ops, .state = &p->state};
  blis_instance_config config = driver_base_config(&p->latency);
  config.engine = engine;
  config.max_num_seqs = 1;
  config.prefill_slowdown = prefill_slowdown;
  config.decode_slowdown = decode_slowdown;
  driver_set_up(&p->d, &alloc, &config, requests, count);
}

static void build(plant *p, blis_alloc alloc, blis_engine_kind engine, driver_request *requests,
                  size_t count) {
  build_capped(p, alloc, engine, requests, count, 0, 0);
}

/* Arrivals and events before limit_us, and no event behind it. */
static void run_before(plant *p, int64_t limit_us) {
  driver *d = &p->d;
  blis_error error;
  for (;;) {
    int64_t arrival_us =
        d->arrived < d->request_count ? d->requests[d->arrived].arrival_us : BLIS_TIME_NEVER_US;
    int64_t stop_us = arrival_us < limit_us ? arrival_us : limit_us;
    bool clock_moved;
    if (blis_instance_next_us(d->instances[0]) < stop_us) {
      CHECK_OK(blis_instance_run_next(d->instances[0], stop_us, &clock_moved, &error), &error);
    } else if (arrival_us < limit_us) {
      CHECK_OK(driver_inject(d, &error), &error);
    } else {
      return;
    }
  }
}

static void evict(plant *p, driver_request *r, int64_t now_us) {
  blis_error error;
  CHECK_OK(blis_instance_evict(p->d.instances[0], &r->live, now_us, &error), &error);
  CHECK(r->live.engine == NULL && r->end_us == -1);
  CHECK(blis_instance_check(p->d.instances[0]));
}

/* One is in the batch, one in the queue, one on its way. */
static void evicted_from_every_place(blis_engine_kind engine) {
  driver_request requests[] = {
      DRIVER_REQUEST(0, 0, 500000, 8, 100, 1, 0, 0),
      DRIVER_REQUEST(1, 0, 500000, 8, 5, 1, 0, 0),
      DRIVER_REQUEST(2, 3000, 500000, 8, 5, 1, 0, 0),
      DRIVER_PLAIN(3, 20000, 8, 5),
  };
  plant p;
  build(&p, blis_alloc_heap(), engine, requests, 4);
  run_before(&p, 3050);
  CHECK_EQ_I64(requests[0].live.state, BLIS_REQUEST_RUNNING);
  CHECK_EQ_I64(requests[1].live.state, BLIS_REQUEST_QUEUED);
  CHECK_EQ_I64(requests[2].live.state, BLIS_REQUEST_ARRIVED);
  evict(&p, &requests[2], 3050);
  evict(&p, &requests[1], 3050);
  evict(&p, &requests[0], 3050);
  CHECK_EQ_I64(requests[0].live.ttft_us, 1117);
  CHECK_EQ_I64(requests[0].live.itl_count, 2);
  blis_instance_stats stats = driver_stats(&p.d);
  CHECK_EQ_I64(stats.queue_depth + stats.batch_size + stats.used_kv_blocks, 0);
  run_before(&p, 1000000);
  stats = driver_stats(&p.d);
  CHECK_EQ_I64(stats.completed, 1); /* the one that came later */
  CHECK_EQ_I64(stats.timed_out, 0); /* deadlines went with the requests */
  CHECK_EQ_I64(requests[3].live.ttft_us, 1117);
  blis_error error;
  CHECK_OK(blis_instance_close(p.d.instances[0], &error), &error);
  int64_t value;
  uint64_t count;
  value = -1;
  CHECK(blis_histogram_next(&p.d.itl_us, &value, &count));
  CHECK_EQ_I64(count, 4); /* latencies of completed requests alone */
  driver_deinit(&p.d);
}

/* Three requests with one prefix; the engine dies between the last two. */
static void restarted_with_a_cold_cache(blis_engine_kind engine) {
  driver_request requests[] = {
      DRIVER_REQUEST(0, 0, 0, 40, 5, 1, 1, 32),
      DRIVER_REQUEST(1, 100000, 0, 40, 5, 1, 1, 32),
      DRIVER_REQUEST(2, 200000, 0, 40, 5, 1, 1, 32),
  };
  plant p;
  blis_error error;
  build(&p, blis_alloc_heap(), engine, requests, 3);
  blis_instance *instance = p.d.instances[0];
  blis_instance_mark_cache(instance);
  run_before(&p, 101500);
  CHECK_EQ_I64(blis_instance_cached_blocks(instance, &requests[0].live.chain),
               engine == BLIS_ENGINE_FAST ? 8 : 10);
  uint32_t at_mark = 99;
  CHECK(blis_instance_cached_blocks_at_mark(instance, &requests[0].live.chain, &at_mark) ==
        BLIS_OK);
  CHECK_EQ_I64(at_mark, 0);
  evict(&p, &requests[1], 101500);
  CHECK_OK(blis_instance_restart(instance, &error), &error);
  CHECK_EQ_I64(blis_instance_cached_blocks(instance, &requests[0].live.chain), 0);
  run_before(&p, 1000000);
  blis_instance_stats stats = driver_stats(&p.d);
  CHECK_EQ_I64(stats.completed, 2);
  CHECK_EQ_I64(stats.cache_hits, 8); /* of the one that was lost */
  CHECK_EQ_I64(stats.prompt_tokens, 120);
  driver_deinit(&p.d);
}

enum { HALF = 7, TIER_COUNTERS = 4, COUNTERS = 19 };

/* Everything that is counted up; those of the tier come first. */
static void get_counters(const plant *p, int64_t counters[COUNTERS]) {
  blis_instance_stats s;
  blis_instance_get_stats(p->d.instances[0], &s);
  const int64_t all[COUNTERS] = {s.cpu_reloads,
                                 s.cpu_misses,
                                 s.cpu_saved,
                                 s.cpu_evictions,
                                 s.preemptions,
                                 s.cache_hits,
                                 s.cache_misses,
                                 s.completed,
                                 s.length_capped,
                                 s.timed_out,
                                 s.unservable,
                                 s.prompt_tokens,
                                 s.output_tokens,
                                 s.steps,
                                 s.busy_us,
                                 s.prefill_us,
                                 s.queue_depth_sum,
                                 s.uncovered_steps,
                                 s.kv_allocation_failures};
  memcpy(counters, all, sizeof all);
}

/* The same requests before a restart and behind it count twice. */
static void counted_over_a_restart(blis_engine_kind engine) {
  bool has_tier = engine == BLIS_ENGINE_STEPWISE;
  driver_request requests[2 * HALF] = {
      DRIVER_REQUEST(0, 0, 0, 8, 2, 1, 1, 8),
      DRIVER_PLAIN(1, 10000, 8, 9),
      DRIVER_PLAIN(2, 10010, 7, 8),
      DRIVER_REQUEST(3, 10020, 15000, 4, 3, 1, 0, 0),
      DRIVER_PLAIN(4, 10030, 200, 1),
      DRIVER_REQUEST(5, 35000, 0, 8, 2, 1, 1, 8),
      {.number = 6, .arrival_us = 90000, .prompt = 8, .output = 20},
  };
  for (int i = 0; i < HALF; i++) {
    driver_request *again = &requests[HALF + i];
    *again = requests[i];
    again->number += HALF;
    again->arrival_us += 1000000;
    again->deadline_us += again->deadline_us > 0 ? 1000000 : 0;
  }
  plant p;
  blis_error error;
  blis_alloc heap = blis_alloc_heap();
  p.state = (driver_latency){0};
  p.latency = (blis_latency_model){.ops = &driver_latency_ops, .state = &p.state};
  blis_instance_config config = driver_base_config(&p.latency);
  config.engine = engine;
  config.kv_blocks = 6;
  config.max_model_len_tokens = 20;
  config.max_num_seqs = 2;
  config.cpu_blocks = has_tier ? 12 : 0;
  config.cpu_bandwidth_tokens_per_us = has_tier;
  driver_set_up(&p.d, &heap, &config, requests, 2 * HALF);
  int64_t once[COUNTERS];
  int64_t counted[COUNTERS];
  run_before(&p, 1000000);
  get_counters(&p, once);
  for (int i = has_tier ? 0 : TIER_COUNTERS; i < COUNTERS - 1; i++) {
    CHECK(once[i] > 0);
  }
  CHECK_OK(blis_instance_restart(p.d.instances[0], &error), &error);
  run_before(&p, 2000000);
  get_counters(&p, counted);
  for (int i = 0; i < COUNTERS; i++) {
    CHECK_EQ_I64(counted[i], 2 * once[i]);
  }
  driver_deinit(&p.d);
}

/* Steps are 1010 us, then three times as long, then as before. */
static void slowed_down(blis_engine_kind engine) {
  driver_request requests[] = {DRIVER_PLAIN(0, 0, 8, 11)};
  plant p;
  build(&p, blis_alloc_heap(), engine, requests, 1);
  run_before(&p, 100 + 4 * 1010);
  blis_instance_slow_down(p.d.instances[0], 3);
  run_before(&p, 100 + 4 * 1010 + 2 * 3030);
  blis_instance_slow_down(p.d.instances[0], 1);
  run_before(&p, 1000000);
  CHECK_EQ_I64(driver_stats(&p.d).end_us, 100 + 9 * 1010 + 2 * 3030);
  CHECK_EQ_I64(requests[0].live.e2e_us, 100 + 1010 + 7 + 8 * 1017 + 2 * 3037 + 50);
  driver_deinit(&p.d);
}

/* A prompt twice as long, and decodes half as long again; beside that they are
   slowed down as above. */
static void capped(blis_engine_kind engine) {
  driver_request requests[] = {DRIVER_PLAIN(0, 0, 8, 11)};
  plant p;
  build_capped(&p, blis_alloc_heap(), engine, requests, 1, 2, 1.5);
  run_before(&p, 100 + 2 * 1010 + 3 * 1515);
  blis_instance_slow_down(p.d.instances[0], 3);
  run_before(&p, 100 + 2 * 1010 + 3 * 1515 + 2 * 4545);
  blis_instance_slow_down(p.d.instances[0], 1);
  run_before(&p, 1000000);
  CHECK_EQ_I64(driver_stats(&p.d).end_us, 100 + 2 * 1010 + 8 * 1515 + 2 * 4545);
  driver_deinit(&p.d);
}

static void both(void (*test)(blis_engine_kind engine)) {
  test(BLIS_ENGINE_STEPWISE);
  test(BLIS_ENGINE_FAST);
}

static void requests_are_evicted_from_every_place(void) {
  both(evicted_from_every_place);
}

static void a_restart_empties_the_cache(void) {
  both(restarted_with_a_cold_cache);
}

static void counters_go_on_over_a_restart(void) {
  both(counted_over_a_restart);
}

static void steps_slow_down(void) {
  both(slowed_down);
}

static void caps_slow_steps_by_kind(void) {
  both(capped);
}

static void no_memory_for_a_restart(void) {
  blis_alloc_probe memory = {0};
  driver_request requests[] = {DRIVER_PLAIN(0, 0, 40, 5)};
  plant p;
  build(&p, blis_alloc_probed(&memory), BLIS_ENGINE_FAST, requests, 1);
  run_before(&p, 1000000);
  blis_error error;
  blis_status status = BLIS_ERR_NOMEM;
  for (long after = 1; status != BLIS_OK; after++) {
    memory.fail_at = memory.requests + after;
    status = blis_instance_restart(p.d.instances[0], &error);
    CHECK_EQ_I64(driver_stats(&p.d).completed, 1);
    CHECK(blis_instance_check(p.d.instances[0]));
  }
  driver_deinit(&p.d);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

int main(void) {
  RUN(requests_are_evicted_from_every_place);
  RUN(a_restart_empties_the_cache);
  RUN(counters_go_on_over_a_restart);
  RUN(steps_slow_down);
  RUN(caps_slow_steps_by_kind);
  RUN(no_memory_for_a_restart);
  return check_done();
}
