/*
 * engine_trial.h - random requests through both engines, with what can happen
 * to them beside: evictions, restarts, changes of speed, marks of the cache, KV
 * that comes from elsewhere and KV that is held.
 */
#ifndef BLIS_ENGINE_TRIAL_H
#define BLIS_ENGINE_TRIAL_H

#include <string.h>

#include "engine_twins.h"
#include "instance/parts/remote_kv.h"

/* Both engines in one case, and what is done to them beside arrivals. */
typedef struct trial {
  twins twins;
  blis_random faults;
  bool has_faults;
  /* KV that comes from elsewhere, or is held for somebody. */
  blis_random moves;
  bool has_moves;
  int64_t reserved_tokens[TWINS_MAX_REQUESTS]; /* 0 = not on its way */
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
    CHECK_OK(blis_instance_evict(both[i]->instance, r, t->twins.now_us, &error), &error);
    CHECK(r->engine == NULL && blis_instance_check(both[i]->instance));
  }
  twins_check_request(&t->twins, k);
  if (draw(&t->faults, 2) == 0) {
    blis_live_request again = *r;
    again.chain.private_base = BLIS_BLOCK_PRIVATE | t->next_private;
    twins_inject(&t->twins, &again);
  }
}

/* KV that moves. */

/* Blocks for the whole prompt, or for all but a few of its tokens. */
static inline bool trial_reserve(trial *t, const blis_live_request *r) {
  twin *const both[] = {&t->twins.stepwise, &t->twins.fast};
  int64_t lacking = draw(&t->moves, 3) == 0 ? 1 + draw(&t->moves, 3) : 0;
  const blis_kv_demand demand = {.tokens = r->prompt_tokens - lacking,
                                 .reuses_cache = draw(&t->moves, 2) == 0,
                                 .is_found_at_once = draw(&t->moves, 2) == 0};
  bool is_done[2];
  int64_t cached[2];
  blis_error error;
  const blis_instance_config *config = blis_instance_get_config(t->twins.fast.instance);
  if (demand.tokens < 1 || r->output_tokens < 1 ||
      r->prompt_tokens >= config->kv_blocks * config->block_size_tokens ||
      (config->rules.resumes_preempted && lacking == 0 &&
       !blis_can_bring_first_token(config, r, demand.tokens)) ||
      ((config->rules.resumes_preempted || lacking > 0 || config->max_model_len_tokens == 0) &&
       !blis_instance_serves(t->twins.fast.instance, r))) {
    return false;
  }
  for (int i = 0; i < 2; i++) {
    both[i]->requests[r->slot] = *r;
    CHECK_OK(blis_instance_reserve(both[i]->instance, &both[i]->requests[r->slot], &demand,
                                   &cached[i], &is_done[i], &error),
             &error);
    CHECK(blis_instance_check(both[i]->instance));
  }
  CHECK(is_done[0] == is_done[1] && (!is_done[0] || cached[0] == cached[1]));
  t->reserved_tokens[r->slot] = is_done[0] ? demand.tokens : 0;
  return is_done[0];
}

static inline void trial_activate(trial *t, int k) {
  twin *const both[] = {&t->twins.stepwise, &t->twins.fast};
  int64_t tokens = t->reserved_tokens[k];
  blis_error error;
  t->reserved_tokens[k] = 0;
  for (int i = 0; i < 2; i++) {
    blis_live_request *r = &both[i]->requests[k];
    const blis_instance_config *config = blis_instance_get_config(both[i]->instance);
    bool resumes = config->rules.resumes_preempted;
    const blis_kv_arrival arrival = {
        .tokens = tokens,
        .scheduling_delay_us = resumes ? t->twins.now_us - r->arrival_us : -1,
        .ttft_us = resumes && blis_can_bring_first_token(config, r, tokens)
                       ? t->twins.now_us - r->arrival_us
                       : -1};
    CHECK_OK(blis_instance_activate(both[i]->instance, r, &arrival, t->twins.now_us, &error),
             &error);
    CHECK(blis_instance_check(both[i]->instance));
  }
}

static inline bool trial_is_late(const twins *t, int k) {
  int64_t deadline_us = t->fast.requests[k].deadline_us;
  return deadline_us > 0 && deadline_us < t->now_us;
}

static inline bool trial_is_held(const twins *t, int k) {
  return t->fast.has_ended[k] && t->fast.requests[k].engine != NULL;
}

static inline void trial_let_go(trial *t, int k) {
  twin *const both[] = {&t->twins.stepwise, &t->twins.fast};
  blis_error error;
  t->reserved_tokens[k] = 0;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(blis_instance_evict(both[i]->instance, &both[i]->requests[k], t->twins.now_us, &error),
             &error);
    CHECK(blis_instance_check(both[i]->instance));
  }
}

/* KV arrives or is let go, that of one request or of all. */
static inline void trial_move_kv(trial *t, bool all) {
  for (int k = 0; k < t->twins.count; k++) {
    if (!all && draw(&t->moves, 4) != 0) {
      continue;
    }
    bool is_reserved = t->reserved_tokens[k] > 0;
    if (trial_is_held(&t->twins, k) || (is_reserved && trial_is_late(&t->twins, k))) {
      trial_let_go(t, k);
    } else if (is_reserved) {
      trial_activate(t, k);
    }
  }
}

static inline void trial_restart(twins *t) {
  twin *const both[] = {&t->stepwise, &t->fast};
  blis_error error;
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < t->count; k++) {
      blis_live_request *r = &both[i]->requests[k];
      if (r->engine != NULL) {
        CHECK_OK(blis_instance_evict(both[i]->instance, r, t->now_us, &error), &error);
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
    if (k < both->count && both->fast.requests[k].engine != NULL && !trial_is_held(both, k)) {
      t->reserved_tokens[k] = 0;
      trial_evict(t, k);
    }
    return;
  case 2:
    if (draw(&t->faults, 8) == 0) {
      memset(t->reserved_tokens, 0, sizeof t->reserved_tokens);
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

static inline void trial_check_mark(const twins *t, const blis_block_chain *chain) {
  uint32_t x = 0;
  uint32_t y = 0;
  CHECK(blis_instance_cached_blocks_at_mark(t->stepwise.instance, chain, &x) == BLIS_OK);
  CHECK(blis_instance_cached_blocks_at_mark(t->fast.instance, chain, &y) == BLIS_OK);
  CHECK_EQ_I64(x, y);
}

static inline void trial_begin(trial *t, const blis_alloc *alloc,
                               const blis_instance_config *config, int64_t seed) {
  t->next_private = UINT64_C(1) << 40;
  t->has_faults = false;
  t->has_moves = false;
  memset(t->reserved_tokens, 0, sizeof t->reserved_tokens);
  blis_random_init_named(&t->moves, seed, "moves");
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

static inline bool trial_has_parked(const trial *t) {
  for (int k = 0; k < t->twins.count; k++) {
    if (trial_is_held(&t->twins, k) || t->reserved_tokens[k] > 0 ||
        (t->twins.fast.requests[k].holds_kv && t->twins.fast.requests[k].engine != NULL)) {
      return true;
    }
  }
  return false;
}

/* Nothing stays parked: the others may wait for its blocks. */
static inline void trial_bring_home(trial *t, int64_t limit_us) {
  while (t->has_moves && trial_has_parked(t) && t->twins.now_us < limit_us) {
    trial_run_before(t, t->twins.now_us);
    trial_move_kv(t, true);
    t->twins.now_us += 5000;
  }
}

/* Runs up to now, looks, and brings the next request. */
static inline void trial_arrive(trial *t, blis_live_request *r) {
  twins *both = &t->twins;
  trial_run_before(t, both->now_us);
  if (t->has_faults) {
    trial_suffer(t);
  }
  twins_check_cache(both, &r->chain);
  trial_check_mark(both, &r->chain);
  if (t->has_moves) {
    trial_move_kv(t, false);
    r->holds_kv = draw(&t->moves, 3) == 0;
  }
  if (!t->has_moves || draw(&t->moves, 2) == 0 || !trial_reserve(t, r)) {
    twins_inject(both, r);
  }
  both->count++;
  if (t->has_faults) {
    trial_suffer(t);
  }
}

#endif
