/*
 * engine_twins.h - the same requests through both engines at once, for tests
 * which demand that nobody can tell the two apart: not by a record, a counter,
 * a block of the cache, a latency sample or the order of what is reported.
 */
#ifndef BLIS_ENGINE_TWINS_H
#define BLIS_ENGINE_TWINS_H

#include <string.h>

#include "base/random.h"
#include "base/time.h"
#include "check.h"
#include "instance/instance.h"

enum { TWINS_MAX_REQUESTS = 300 };

/* One run of one engine. */
typedef struct twin {
  blis_instance *instance;
  blis_histogram itl_us;
  blis_live_request requests[TWINS_MAX_REQUESTS];
  int64_t end_us[TWINS_MAX_REQUESTS];
  bool has_ended[TWINS_MAX_REQUESTS];
  int64_t reports;
  uint64_t reports_hash; /* what the owner was told, when, in which order */
} twin;

typedef struct twins {
  twin stepwise;
  twin fast;
  int count; /* of requests injected so far, in order of slots */
  int64_t now_us;
  bool has_no_itl; /* nobody wants latencies; set before twins_begin */
} twins;

static inline int64_t draw(blis_random *random, int64_t n) {
  return blis_random_intn(random, (int32_t)n);
}

static inline int64_t pick(blis_random *random, const int64_t *values, int64_t n) {
  return values[draw(random, n)];
}

static inline void twin_note(twin *t, int kind, const blis_live_request *r, int64_t us) {
  const uint64_t said[] = {(uint64_t)kind, r->slot, (uint64_t)us};
  t->reports++;
  for (int i = 0; i < 3; i++) {
    t->reports_hash = (t->reports_hash ^ said[i]) * UINT64_C(1099511628211);
    t->reports_hash ^= t->reports_hash >> 29;
  }
}

static inline void twin_on_queued(void *ud, blis_live_request *r, int64_t now_us) {
  twin_note(ud, 1, r, now_us);
}

static inline void twin_on_first_token(void *ud, blis_live_request *r, int64_t now_us) {
  twin_note(ud, 2, r, now_us);
}

/* The latencies of some are not wanted. */
static inline blis_status twin_on_completed(void *ud, const blis_live_request *r, int64_t end_us,
                                            bool *counts_itl, blis_error *error) {
  (void)error;
  twin_note(ud, 20, r, end_us);
  *counts_itl = r->slot % 7 != 3;
  return BLIS_OK;
}

static inline blis_status twin_on_ended(void *ud, blis_live_request *r, int64_t now_us,
                                        int64_t end_us, blis_error *error) {
  twin *t = ud;
  (void)error;
  bool holds = r->holds_kv && r->state == BLIS_REQUEST_COMPLETED;
  CHECK(!t->has_ended[r->slot] && (r->engine != NULL) == holds);
  twin_note(t, 3 + (int)r->state, r, now_us);
  t->has_ended[r->slot] = true;
  t->end_us[r->slot] = end_us;
  return BLIS_OK;
}

static inline void twin_begin(twin *t, const blis_alloc *alloc, const blis_instance_config *config,
                              blis_engine_kind engine, bool has_itl) {
  *t = (twin){0};
  blis_histogram_init(&t->itl_us, alloc);
  blis_instance_config own = *config;
  own.engine = engine;
  const blis_instance_events events = {.ud = t,
                                       .queued = twin_on_queued,
                                       .first_token = twin_on_first_token,
                                       .completed = twin_on_completed,
                                       .ended = twin_on_ended,
                                       .itl_us = has_itl ? &t->itl_us : NULL};
  blis_error error;
  CHECK_OK(blis_instance_new(alloc, &own, &events, &t->instance, &error), &error);
}

static inline void twins_begin(twins *t, const blis_alloc *alloc,
                               const blis_instance_config *config) {
  t->count = 0;
  t->now_us = 0;
  bool has_itl = !t->has_no_itl;
  twin_begin(&t->stepwise, alloc, config, BLIS_ENGINE_STEPWISE, has_itl);
  twin_begin(&t->fast, alloc, config, BLIS_ENGINE_FAST, has_itl);
}

static inline void twin_run_before(twin *t, int64_t limit_us) {
  blis_error error;
  while (blis_instance_next_us(t->instance) < limit_us) {
    bool clock_moved = false;
    CHECK_OK(blis_instance_run_next(t->instance, limit_us, &clock_moved, &error), &error);
    CHECK(blis_instance_check(t->instance));
  }
}

/* Brings request r, in the next slot, to both at t->now_us. */
static inline void twins_inject(twins *t, const blis_live_request *r) {
  twin *const both[] = {&t->stepwise, &t->fast};
  blis_error error;
  for (int i = 0; i < 2; i++) {
    both[i]->requests[r->slot] = *r;
    CHECK_OK(
        blis_instance_inject(both[i]->instance, &both[i]->requests[r->slot], t->now_us, &error),
        &error);
  }
}

static inline void twins_check_stats(const twins *t) {
  blis_instance_stats x;
  blis_instance_stats y;
  blis_instance_get_stats(t->stepwise.instance, &x);
  blis_instance_get_stats(t->fast.instance, &y);
#define SAME(field) CHECK_EQ_I64(x.field, y.field)
  SAME(queue_depth);
  SAME(batch_size);
  SAME(used_kv_blocks);
  SAME(cache_hits);
  SAME(cache_misses);
  SAME(preemptions);
  SAME(kv_allocation_failures);
  SAME(completed);
  SAME(length_capped);
  SAME(timed_out);
  SAME(unservable);
  SAME(prompt_tokens);
  SAME(output_tokens);
  SAME(decoded_tokens);
  SAME(steps);
  SAME(uncovered_steps);
  SAME(queue_depth_sum);
#undef SAME
  blis_instance_energy e;
  blis_instance_energy f;
  blis_instance_get_energy(t->stepwise.instance, &e);
  blis_instance_get_energy(t->fast.instance, &f);
  CHECK(memcmp(&e, &f, sizeof e) == 0);
  blis_adapter_stats a;
  blis_adapter_stats b;
  blis_instance_get_adapters(t->stepwise.instance, &a);
  blis_instance_get_adapters(t->fast.instance, &b);
  CHECK(memcmp(&a, &b, sizeof a) == 0);
  CHECK_EQ_I64(t->stepwise.reports, t->fast.reports);
  CHECK(t->stepwise.reports_hash == t->fast.reports_hash);
}

static inline void twins_check_request(const twins *t, int i) {
  const blis_live_request *x = &t->stepwise.requests[i];
  const blis_live_request *y = &t->fast.requests[i];
  CHECK_EQ_I64(x->state, y->state);
  CHECK_EQ_I64(x->was_counted, y->was_counted);
  CHECK_EQ_I64(x->ttft_us, y->ttft_us);
  CHECK_EQ_I64(x->scheduling_delay_us, y->scheduling_delay_us);
  CHECK_EQ_I64(x->itl_sum_us, y->itl_sum_us);
  CHECK_EQ_I64(x->itl_count, y->itl_count);
  CHECK_EQ_I64(x->first_itl_us, y->first_itl_us);
  CHECK_EQ_I64(x->e2e_us, y->e2e_us);
  CHECK_EQ_I64(x->adapter_wait_us, y->adapter_wait_us);
  CHECK(x->drawn.nj == y->drawn.nj);
  CHECK(x->drawn.carbon_pg == y->drawn.carbon_pg);
  CHECK_EQ_I64(x->is_adapter_counted, y->is_adapter_counted);
  CHECK_EQ_I64(x->had_adapter, y->had_adapter);
  CHECK_EQ_I64(t->stepwise.has_ended[i], t->fast.has_ended[i]);
  CHECK_EQ_I64(t->stepwise.end_us[i], t->fast.end_us[i]);
}

static inline void twins_check_itl(twins *t) {
  int64_t x = -1;
  int64_t y = -1;
  uint64_t count_x = 0;
  uint64_t count_y = 0;
  while (blis_histogram_next(&t->stepwise.itl_us, &x, &count_x)) {
    CHECK(blis_histogram_next(&t->fast.itl_us, &y, &count_y));
    CHECK_EQ_I64(x, y);
    CHECK_EQ_I64(count_x, count_y);
  }
  CHECK(!blis_histogram_next(&t->fast.itl_us, &y, &count_y));
}

/* Nobody's energy is lost: it is that of requests, but for a rest. */
static inline void twins_check_energy(const twins *t) {
  blis_instance_energy energy;
  blis_instance_get_energy(t->fast.instance, &energy);
  uint64_t sum_nj = energy.rest_nj;
  for (int i = 0; i < t->count; i++) {
    sum_nj += t->fast.requests[i].drawn.nj;
  }
  CHECK(sum_nj == energy.busy_nj);
  CHECK(energy.prefill_nj <= energy.busy_nj);
}

static inline int64_t twin_end_us(const twin *t) {
  blis_instance_stats stats;
  blis_instance_get_stats(t->instance, &stats);
  return stats.end_us;
}

static inline void twin_free(twin *t) {
  blis_instance_free(t->instance);
  blis_histogram_deinit(&t->itl_us);
}

/*
 * Closes both, compares all there is, frees both. The end is known to both
 * only when there are no events left up to the horizon.
 */
static inline void twins_finish(twins *t, bool is_over) {
  twins_check_stats(t);
  CHECK(!is_over || twin_end_us(&t->stepwise) == twin_end_us(&t->fast));
  blis_error error;
  CHECK_OK(blis_instance_close(t->stepwise.instance, &error), &error);
  CHECK_OK(blis_instance_close(t->fast.instance, &error), &error);
  for (int i = 0; i < t->count; i++) {
    twins_check_request(t, i);
  }
  twins_check_energy(t);
  twins_check_itl(t);
  twin_free(&t->stepwise);
  twin_free(&t->fast);
}

static inline void twins_check_cache(const twins *t, const blis_block_chain *chain) {
  CHECK_EQ_I64(blis_instance_cached_blocks(t->stepwise.instance, chain),
               blis_instance_cached_blocks(t->fast.instance, chain));
}

/*
 * How many cases to run: the program's first argument, else BLIS_CASES of the
 * environment, else the usual number (CASES).
 */
static inline int64_t twins_case_count(int argc, char **argv, int64_t usual) {
  const char *wanted = argc > 1 ? argv[1] : getenv("BLIS_CASES");
  return wanted != NULL ? strtoll(wanted, NULL, 10) : CASES(usual);
}

/* The number of the first one: the second argument, else 1. */
static inline int64_t twins_first_case(int argc, char **argv) {
  return argc > 2 ? strtoll(argv[2], NULL, 10) : 1;
}

#endif
