/*
 * engine_trial.h - random requests through both engines, with what can happen
 * to them beside: evictions, restarts, changes of speed, marks of the cache.
 */
#ifndef BLIS_ENGINE_TRIAL_H
#define BLIS_ENGINE_TRIAL_H

#include "engine_twins.h"

/* Both engines in one case, and what is done to them beside arrivals. */
typedef struct trial {
  twins twins;
  blis_random faults;
  bool has_faults;
  uint64_t next_private;
} trial;

/* Out of the instance; sometimes it comes back as if it were a new one. */
static inline void trial_evict(trial *t, int k) {
  twin *const both[] = {&t->twins.stepwise, &t->twins.fast};
  blis_live_request *r = NULL;
  blis_error error;
  t->next_private += 1 << 20;
  for (int i = 0; i < 2; i++) {
    r = &both[i]->requests[k];
    CHECK_OK(blis_instance_evict(both[i]->instance, r, t->twins.now_us, &error),
             &error);
    CHECK(r->engine == NULL && blis_instance_check(both[i]->instance));
  }
  twins_check_request(&t->twins, k);
  if (draw(&t->faults, 2) == 0) {
    blis_live_request again = *r;
    again.chain.private_base = BLIS_BLOCK_PRIVATE | t->next_private;
    twins_inject(&t->twins, &again);
  }
}

static inline void trial_restart(twins *t) {
  twin *const both[] = {&t->stepwise, &t->fast};
  blis_error error;
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < t->count; k++) {
      blis_live_request *r = &both[i]->requests[k];
      if (r->engine != NULL) {
        CHECK_OK(blis_instance_evict(both[i]->instance, r, t->now_us, &error),
                 &error);
      }
    }
    CHECK_OK(blis_instance_restart(both[i]->instance, &error), &error);
  }
}

static inline void trial_suffer(trial *t) {
  static const double factors[] = {0.5, 1, 1, 3.25};
  twins *both = &t->twins;
  int k = (int)draw(&t->faults, both->count + 1);
  switch (draw(&t->faults, 12)) {
  case 0:
  case 1:
    if (k < both->count && both->fast.requests[k].engine != NULL) {
      trial_evict(t, k);
    }
    return;
  case 2:
    if (draw(&t->faults, 8) == 0) {
      trial_restart(both);
    }
    return;
  case 3: {
    double factor = factors[draw(&t->faults, 4)];
    blis_instance_slow_down(both->stepwise.instance, factor);
    blis_instance_slow_down(both->fast.instance, factor);
    return;
  }
  case 4:
    blis_instance_mark_cache(both->stepwise.instance);
    blis_instance_mark_cache(both->fast.instance);
    return;
  default:
    return;
  }
}

static inline void trial_check_mark(const twins *t,
                                    const blis_block_chain *chain) {
  uint32_t x = 0;
  uint32_t y = 0;
  CHECK(blis_instance_cached_blocks_at_mark(t->stepwise.instance, chain, &x) ==
        BLIS_OK);
  CHECK(blis_instance_cached_blocks_at_mark(t->fast.instance, chain, &y) ==
        BLIS_OK);
  CHECK_EQ_I64(x, y);
}

static inline void trial_begin(trial *t, const blis_alloc *alloc,
                               const blis_instance_config *config,
                               int64_t seed) {
  t->next_private = UINT64_C(1) << 40;
  t->has_faults = false;
  blis_random_init_named(&t->faults, seed, "faults");
  twins_begin(&t->twins, alloc, config);
  blis_instance_mark_cache(t->twins.stepwise.instance);
  blis_instance_mark_cache(t->twins.fast.instance);
}

static inline void trial_run_before(trial *t, int64_t limit_us) {
  twin_run_before(&t->twins.stepwise, limit_us);
  twin_run_before(&t->twins.fast, limit_us);
  twins_check_stats(&t->twins);
}

/* Runs up to now, looks, and brings the next request. */
static inline void trial_arrive(trial *t, const blis_live_request *r) {
  twins *both = &t->twins;
  trial_run_before(t, both->now_us);
  if (t->has_faults) {
    trial_suffer(t);
  }
  twins_check_cache(both, &r->chain);
  trial_check_mark(both, &r->chain);
  twins_inject(both, r);
  both->count++;
  if (t->has_faults) {
    trial_suffer(t);
  }
}

#endif
