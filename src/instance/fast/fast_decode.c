/*
 * Runs of decode steps.
 *
 * While no request enters or leaves the batch and there are enough blocks, steps differ only in
 * their durations. Several durations are computed ahead together and stay valid until another
 * event. An engine that advances in small increments reuses them and records the latencies of all
 * increments together.
 */
#include "base/inline.h"
#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/timing.h"
#include "latency/step/coverage.h"

/* Most models have one KV group, so their path should not branch. */
static inline bool has_groups(const fast_engine *engine) {
  return BLIS_UNLIKELY(engine->groups != NULL);
}

/* Returns the time until which only decode steps can happen. */
static int64_t quiet_until(const fast_engine *engine, int64_t limit_us) {
  const fast_arrivals *arrivals = &engine->arrivals;
  if (arrivals->first < arrivals->pending.count) {
    limit_us = blis_min_i64(limit_us, arrivals->pending.items[arrivals->first].queued_us);
  }
  if (engine->deadlines.head != NULL) {
    /* A step at the same time as the deadline precedes it. */
    int64_t deadline_us = engine->deadlines.head->live->deadline_us;
    limit_us = blis_min_i64(limit_us, blis_time_after_us(deadline_us, 1));
  }
  return blis_min_i64(limit_us, blis__fast_load_end_us(engine));
}

static bool can_admit(const fast_engine *engine) {
  int64_t budget = engine->config->max_batched_tokens - engine->decodes;
  if (engine->queue.count == 0 || budget <= 0 ||
      engine->batch.count >= engine->config->max_num_seqs) {
    return false;
  }
  if (engine->waiting_with_kv > 0 || !engine->queue.is_ordered || engine->groups != NULL) {
    return true;
  }
  bool acts;
  const fast_request *next = blis__fast_next_waiting(engine, &acts);
  return acts || (next != NULL && !blis__fast_is_blocked(engine, next, budget));
}

/*
 * Returns the number of steps to compute ahead: the steps before limit_us, estimated from the last
 * decode-only step, and a few more.
 */
static size_t steps_to_ask(const fast_engine *engine, int64_t limit_us) {
  enum { MORE = 2, LEAST = 8 };
  int64_t left_us = limit_us - engine->step_us;
  int64_t last_us = blis_max_i64(engine->last_decode_us, 1);
  int64_t guess = blis_min_i64(left_us / last_us, BLIS__STEPS_AHEAD);
  int64_t n = blis_max_i64(guess + MORE, LEAST);
  return (size_t)blis_min_i64(n, BLIS__STEPS_AHEAD);
}

/* Returns how many blocks the next n steps take. */
static int64_t blocks_of_steps(const fast_engine *engine, size_t n) {
  int64_t size = engine->config->block_size_tokens;
  int64_t residue = blis__fast_residue(engine, engine->step_index);
  /* In `size` consecutive steps, every decode takes one block. */
  int64_t blocks = (int64_t)n / size * engine->decodes;
  int64_t rest = (int64_t)n % size;
  int64_t before_wrap = blis_min_i64(rest, size - residue);
  for (int64_t i = 0; i < before_wrap; i++) {
    blocks += engine->boundaries[residue + i];
  }
  for (int64_t i = 0; i < rest - before_wrap; i++) {
    blocks += engine->boundaries[i];
  }
  return blocks;
}

/* Returns true if removals from the prefix table may allow the head of the queue to be admitted. */
static bool is_table_watched(const fast_engine *engine) {
  int64_t budget = engine->config->max_batched_tokens - engine->decodes;
  if (engine->queue.count == 0 || budget <= 0 ||
      engine->batch.count >= engine->config->max_num_seqs) {
    return false;
  }
  bool acts;
  const fast_request *next = blis__fast_next_waiting(engine, &acts);
  return acts || (next != NULL && !blis__fast_takes_whole(engine, next, budget));
}

/* Returns how many of the next n steps find enough blocks if only the number of blocks matters. */
static size_t steps_with_enough(const fast_engine *engine, size_t n, int64_t free_blocks) {
  const int64_t *boundaries = engine->boundaries;
  int64_t size = engine->config->block_size_tokens;
  int64_t residue = blis__fast_residue(engine, engine->step_index);
  if (((int64_t)n / size + 1) * engine->decodes <= free_blocks) {
    return n;
  }
  int64_t taken = 0;
  size_t i = 0;
  for (; i < n && taken + boundaries[residue] <= free_blocks; i++) {
    taken += boundaries[residue];
    residue = residue + 1 < size ? residue + 1 : 0;
  }
  return i;
}

/* Returns how many of the next n steps find their blocks regardless of the order of requests. */
static size_t steps_with_blocks(fast_engine *engine, size_t n) {
  int64_t free_blocks = blis_run_pool_free_blocks(engine->pool);
  int64_t size = engine->config->block_size_tokens;
  int64_t residue = blis__fast_residue(engine, engine->step_index);
  const fast_list *naming = engine->naming;
  bool is_watched = is_table_watched(engine);
  if (naming == NULL && !is_watched) {
    return steps_with_enough(engine, n, free_blocks);
  }
  int64_t blocks = blocks_of_steps(engine, n);
  /* The head of the queue may wait for these names. */
  if (blocks <= free_blocks && !is_watched && engine->queue.count == 0 &&
      blis__fast_names_avoid(engine, n, blocks)) {
    return n;
  }
  blocks = 0;
  for (size_t i = 0; i < n; i++) {
    blocks += engine->boundaries[residue];
    residue = residue + 1 < size ? residue + 1 : 0;
    /* A block is named in the step that fills it, one step before the next block is needed. */
    if (blocks > free_blocks || (naming != NULL && naming[residue].count > 0) ||
        (is_watched && !blis_run_pool_next_are_anonymous(engine->pool, blocks))) {
      return i;
    }
  }
  return n;
}

/* Returns the number of steps until a request leaves. */
static int64_t steps_to_leaving(const fast_engine *engine) {
  const finish_entry *first = blis__finish_heap_first(&engine->finishes);
  if (first == NULL) {
    return 0;
  }
  /* The completing step is included if requests leave at the end of steps. */
  int at_end = engine->config->rules.leaves_at_step_end;
  return first->step - 1 + at_end - engine->step_index;
}

/* Adds the slowdown by the adapters of the batch to the steps computed ahead. */
static void slow_steps(fast_engine *engine) {
  if (engine->adapters == NULL || !blis__adapters_slow_steps(engine->adapters)) {
    return;
  }
  for (size_t i = 0; i < engine->ahead.end; i++) {
    engine->ahead.step_us[i] = blis__adapters_step_us(engine->adapters, engine->ahead.step_us[i]);
  }
}

/* Computes the next steps, if they consist only of decodes. */
static void look_ahead(fast_engine *engine, int64_t limit_us) {
  int64_t left = steps_to_leaving(engine);
  if (left <= 0 || engine->prefills.count > 0 || engine->gaps > 0 || can_admit(engine) ||
      engine->decodes > engine->config->max_batched_tokens) {
    return;
  }
  size_t n = steps_to_ask(engine, limit_us);
  n = (int64_t)n < left ? n : (size_t)left;
  if (has_groups(engine)) {
    n = blis__fast_groups_steps(engine, n);
  } else {
    n = steps_with_blocks(engine, n);
  }
  if (n > 0) {
    engine->ahead.end = blis_latency_decode_times(engine->config->latency, engine->decodes,
                                                  engine->decode_context, n, engine->ahead.step_us);
    slow_steps(engine);
  }
}

/*
 * Determines how many of the steps computed ahead begin before limit_us, and when the last of them
 * begins.
 */
static blis_status steps_before(fast_engine *engine, int64_t limit_us, size_t *wanted,
                                int64_t *last_us, blis_error *error) {
  fast_ahead *ahead = &engine->ahead;
  int64_t left_us = limit_us - engine->step_us;
  size_t i = ahead->next;
  for (; i < ahead->end && left_us > 0; i++) {
    int64_t *step_us = &ahead->step_us[i];
    if (*step_us < 1 || *step_us > BLIS__DURATION_MAX_US) {
      BLIS_TRY(blis__check_step_time(engine->config->latency, step_us, error));
    }
    left_us -= *step_us;
  }
  *wanted = i - ahead->next;
  *last_us = limit_us - (left_us + ahead->step_us[i - 1]);
  return BLIS_OK;
}

/* Counts the steps outside the model's range among the next n decode steps. */
static void count_uncovered_run(fast_engine *engine, size_t n) {
  const blis_coverage *coverage = blis_latency_coverage(engine->config->latency);
  if (coverage != NULL) {
    engine->stats.uncovered_steps +=
        blis_coverage_beyond(coverage, engine->decodes, engine->decode_context, (int64_t)n);
  }
}

/* Advances by n > 0 steps; the last one begins at last_us and takes duration_us. */
static void move_clock(fast_engine *engine, size_t n, int64_t last_us, int64_t duration_us) {
  engine->clock_us = last_us;
  engine->stats.busy_us = blis_time_after_us(
      engine->stats.busy_us, blis_time_after_us(last_us, duration_us) - engine->step_us);
  engine->step_us = blis_time_after_us(last_us, duration_us);
  engine->last_decode_us = duration_us;
  engine->last_step_us = duration_us;
  engine->last_step_end_us = engine->step_us;
  engine->step_index += (int64_t)n;
  count_uncovered_run(engine, n);
  engine->stats.steps += (int64_t)n;
  engine->stats.queue_depth_sum += (engine->queue.count + engine->loads.count) * (int64_t)n;
  engine->decode_context += engine->decodes * (int64_t)n;
}

/* Takes the blocks of the decodes for the next steps. */
static blis_status take_blocks(fast_engine *engine, size_t steps) {
  int64_t blocks = blocks_of_steps(engine, steps);
  if (blocks > 0) {
    blis_run_pool_take_uncounted(engine->pool, blocks);
    engine->pool_misses += blocks;
  }
  return blis__fast_name_outputs(engine, steps);
}

/* Executes the steps computed ahead that begin before limit_us. There must be at least one. */
static blis_status decode_steps(fast_engine *engine, int64_t limit_us, blis_error *error) {
  size_t steps;
  int64_t last_us;
  BLIS_TRY(steps_before(engine, limit_us, &steps, &last_us, error));
  BLIS_ASSERT(steps > 0 && (int64_t)steps <= steps_to_leaving(engine));
  int64_t *step_us = &engine->ahead.step_us[engine->ahead.next];
  engine->ahead.next += steps;
  blis_status status =
      has_groups(engine) ? blis__fast_groups_run(engine, steps) : take_blocks(engine, steps);
  BLIS_TRY_MEM(status, error);
  if (engine->power != NULL) {
    BLIS_TRY(blis__power_decodes(engine->power, engine->decodes, engine->decode_context,
                                 engine->step_us, step_us, steps, error));
  }
  move_clock(engine, steps, last_us, step_us[steps - 1]);
  return BLIS_OK;
}

/* Idle steps compute nothing, so they have no index and no latency. */
blis_status blis__fast_idle(fast_engine *engine, int64_t limit_us, blis_error *error) {
  int64_t us = engine->last_step_us;
  int64_t until_us = quiet_until(engine, limit_us);
  int64_t n = until_us < BLIS_TIME_NEVER_US ? (until_us - engine->step_us + us - 1) / us : 1;
  BLIS_ASSERT(n > 0 && engine->batch.count == 0 && engine->ahead.end == 0);
  engine->clock_us = engine->step_us + (n - 1) * us;
  engine->step_us += n * us;
  engine->last_step_end_us = engine->step_us;
  engine->stats.steps += n;
  engine->stats.queue_depth_sum += engine->queue.count * n;
  engine->stats.busy_us = blis_time_after_us(engine->stats.busy_us, n * us);
  const blis_coverage *coverage = blis_latency_coverage(engine->config->latency);
  if (coverage != NULL) {
    engine->stats.uncovered_steps += n * blis_coverage_is_beyond(coverage, &(blis_batch_sums){0});
  }
  return engine->power == NULL
             ? BLIS_OK
             : blis__power_idle_steps(engine->power, engine->step_us - n * us, us, n, error);
}

blis_status blis__fast_book_run(fast_engine *engine, blis_error *error) {
  fast_ahead *ahead = &engine->ahead;
  int64_t *itl_us = ahead->step_us;
  size_t n = ahead->next;
  ahead->next = 0;
  ahead->end = 0;
  uint64_t sum_us = 0;
  for (size_t i = 0; i < n; i++) {
    itl_us[i] += engine->output_token_us;
    sum_us += (uint64_t)itl_us[i];
  }
  return n == 0 ? BLIS_OK
                : blis__fast_record_itl(engine, itl_us, n, sum_us, engine->decodes, error);
}

blis_status blis__fast_decode_run(fast_engine *engine, int64_t limit_us, blis_error *error) {
  limit_us = quiet_until(engine, limit_us);
  while (engine->step_us < limit_us) {
    if (!blis__fast_knows_ahead(engine)) {
      BLIS_TRY(blis__fast_end_run(engine, error));
      look_ahead(engine, limit_us);
    }
    if (!blis__fast_knows_ahead(engine)) {
      return BLIS_OK;
    }
    BLIS_TRY(decode_steps(engine, limit_us, error));
  }
  return BLIS_OK;
}
