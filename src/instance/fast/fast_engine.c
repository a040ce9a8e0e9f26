#include "instance/fast/fast_engine.h"

#include "base/invariant.h"
#include "instance/parts/arrival.h"
#include "instance/parts/engine.h"
#include "instance/parts/timing.h"

static void engine_free(void *state) {
  fast_engine *engine = state;
  if (engine == NULL) {
    return;
  }
  blis_alloc alloc = engine->alloc;
  for (size_t i = 0; i < engine->records.count; i++) {
    fast_request *record = engine->records.items[i];
    blis_array_deinit(&alloc, &record->holder.parts);
    blis_group_holder_deinit(&alloc, &record->groups);
    blis_array_deinit(&alloc, &record->kept_steps);
    blis_array_deinit(&alloc, &record->own_itl_us);
    blis_alloc_free(&alloc, record, sizeof *record);
  }
  blis_array_deinit(&alloc, &engine->records);
  blis_array_deinit(&alloc, &engine->items);
  blis_array_deinit(&alloc, &engine->running);
  blis_array_deinit(&alloc, &engine->arrivals.pending);
  blis_array_deinit(&alloc, &engine->finishes.slots);
  blis__step_history_deinit(&alloc, &engine->history);
  blis_alloc_free(&alloc, engine->boundaries,
                  (size_t)engine->config->block_size_tokens * sizeof *engine->boundaries);
  blis_alloc_free(&alloc, engine->naming,
                  (size_t)engine->config->block_size_tokens * sizeof *engine->naming);
  blis_run_pool_free(engine->pool);
  blis__fast_groups_deinit(engine);
  blis_alloc_free(&alloc, engine, sizeof *engine);
}

static blis_status engine_inject(void *state, blis_live_request *live, int64_t now_us,
                                 blis_error *error) {
  fast_engine *engine = state;
  fast_request *request = NULL;
  BLIS_ASSERT(now_us >= engine->clock_us && live->engine == NULL);
  BLIS_TRY_MEM(blis__fast_request_new(engine, live, &request), error);
  blis__reset_request(live);
  fast_arrival arrival = {.queued_us =
                              blis__queued_at_us(engine->config, &engine->front_end, live, now_us),
                          .request = request};
  if (blis__fast_arrivals_add(engine, arrival) != BLIS_OK) {
    blis__fast_request_spare(engine, request);
    return blis_fail_nomem(error);
  }
  engine->clock_us = now_us; /* the arrival is itself an event */
  return BLIS_OK;
}

static int64_t next_arrival_us(const fast_engine *engine) {
  const fast_arrivals *arrivals = &engine->arrivals;
  return arrivals->first < arrivals->pending.count
             ? arrivals->pending.items[arrivals->first].queued_us
             : BLIS_TIME_NEVER_US;
}

static int64_t next_deadline_us(const fast_engine *engine) {
  return engine->deadlines.head == NULL ? BLIS_TIME_NEVER_US
                                        : engine->deadlines.head->live->deadline_us;
}

static int64_t engine_next_us(const void *state) {
  const fast_engine *engine = state;
  int64_t next_us = blis_min_i64(blis_min_i64(next_arrival_us(engine), engine->step_us),
                                 next_deadline_us(engine));
  return blis_min_i64(next_us, blis__fast_load_end_us(engine));
}

/* Ends a request that never entered the queue, or that is no longer in it. */
static BLIS_NOT_INLINE blis_status end(fast_engine *engine, fast_request *request,
                                       blis_request_state outcome, blis_error *error) {
  blis_live_request *live = request->live;
  live->state = outcome;
  blis__fast_request_spare(engine, request);
  return engine->events.ended(engine->events.ud, live, engine->clock_us, engine->clock_us, error);
}

void blis__fast_wake(fast_engine *engine) {
  if (engine->step_us == BLIS_TIME_NEVER_US && engine->queue.count > 0 && !engine->hangs) {
    engine->step_us = engine->clock_us;
  }
}

void blis__fast_enter_queue(fast_engine *engine, fast_request *request) {
  blis_live_request *live = request->live;
  BLIS_ASSERT(live->state == BLIS_REQUEST_ARRIVED);
  live->state = BLIS_REQUEST_QUEUED;
  blis__wait_queue_push_back(&engine->queue, &request->waiting);
  if (engine->adapters != NULL) {
    blis__adapters_queued(engine->adapters, live);
  }
  if (live->deadline_us > 0 && live->deadline_us <= engine->config->horizon_us) {
    blis__fast_deadline_add(engine, request);
  }
  blis__fast_wake(engine);
  if (engine->events.queued != NULL) {
    engine->events.queued(engine->events.ud, live, engine->clock_us);
  }
}

/* Returns whether a step is running and the batch of the next step is already formed. */
static BLIS_NOT_INLINE bool has_next_batch(const fast_engine *engine) {
  return engine->step_us < BLIS_TIME_NEVER_US && engine->batch.count > 0 &&
         engine->clock_us <= engine->last_step_end_us;
}

/* Delays the arrival to the end of the current step. */
static BLIS_NOT_INLINE blis_status wait_a_step(fast_engine *engine, fast_arrival arrival,
                                               blis_error *error) {
  arrival.has_waited = true;
  arrival.queued_us = blis_time_after_us(engine->last_step_end_us, 1);
  return blis__fast_arrivals_add(engine, arrival) == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

static blis_status run_queued(fast_engine *engine, blis_error *error) {
  fast_arrivals *arrivals = &engine->arrivals;
  const fast_arrival *arrival = &arrivals->pending.items[arrivals->first++];
  fast_request *request = arrival->request;
  engine->clock_us = arrival->queued_us;
  if (engine->config->rules.looks_ahead && !arrival->has_waited && has_next_batch(engine)) {
    return wait_a_step(engine, *arrival, error);
  }
  blis_live_request *live = request->live;
  blis__verdict verdict = blis__judge_arrival(engine->config, live, engine->clock_us);
  if (verdict == BLIS__VERDICT_UNSERVABLE) {
    engine->stats.unservable++;
    return end(engine, request, BLIS_REQUEST_UNSERVABLE, error);
  }
  live->was_counted = true;
  engine->stats.prompt_tokens += live->prompt_tokens;
  if (verdict == BLIS__VERDICT_LATE) {
    engine->stats.timed_out++;
    return end(engine, request, BLIS_REQUEST_TIMED_OUT, error);
  }
  blis__fast_enter_queue(engine, request);
  return BLIS_OK;
}

/* Removes a request from the batch, the queue, or the arrivals, whichever contains it. */
static blis_status take_out(fast_engine *engine, fast_request *request, blis_error *error) {
  switch (request->live->state) {
  case BLIS_REQUEST_RUNNING:
    blis__fast_note_progress(engine, request);
    blis__fast_note_first_itl(engine, request);
    blis__fast_withdraw_itl(engine, request);
    BLIS_TRY_MEM(blis__fast_leave_batch(engine, request, blis__fast_stored(engine, request)),
                 error);
    if (engine->adapters != NULL) {
      blis__adapters_left_batch(engine->adapters, request->live);
    }
    return BLIS_OK;
  case BLIS_REQUEST_QUEUED:
    /* The stored state of the queue head may refer to this record. */
    engine->block.head = NULL;
    blis__fast_withdraw_itl(engine, request);
    if (engine->adapters != NULL) {
      blis__adapters_left_queue(engine->adapters, request->live);
    }
    if (request->is_loading) {
      BLIS_TRY_MEM(blis__fast_cancel_load(engine, request), error);
      return BLIS_OK;
    }
    blis__wait_queue_remove(&engine->queue, &request->waiting);
    BLIS_TRY_MEM(blis__fast_give_up_kv(engine, request), error);
    return BLIS_OK;
  default:
    if (request->is_parked) {
      BLIS_TRY_MEM(blis__fast_give_up_kv(engine, request), error);
    } else {
      blis__fast_arrivals_remove(engine, request);
    }
    return BLIS_OK;
  }
}

static blis_status engine_evict(void *state, blis_live_request *live, int64_t now_us,
                                blis_error *error) {
  fast_engine *engine = state;
  fast_request *request = live->engine;
  BLIS_TRY(blis__fast_end_run(engine, error));
  engine->clock_us = now_us;
  BLIS_TRY(take_out(engine, request, error));
  blis__fast_request_spare(engine, request);
  blis__fast_wake(engine);
  return BLIS_OK;
}

/* A request that is not in the queue yet gets its timeout when it reaches the queue. */
static blis_status engine_leave_at(void *state, blis_live_request *live, int64_t deadline_us,
                                   blis_error *error) {
  (void)error;
  fast_engine *engine = state;
  fast_request *request = live->engine;
  BLIS_ASSERT(deadline_us > engine->clock_us);
  if (request->has_deadline) {
    blis__fast_list_remove(&engine->deadlines, request);
    request->has_deadline = false;
  }
  live->deadline_us = deadline_us;
  bool is_in_queue_or_batch =
      live->state == BLIS_REQUEST_QUEUED || live->state == BLIS_REQUEST_RUNNING;
  if (is_in_queue_or_batch && deadline_us <= engine->config->horizon_us) {
    blis__fast_deadline_add(engine, request);
  }
  return BLIS_OK;
}

static BLIS_NOT_INLINE blis_status run_timeout(fast_engine *engine, blis_error *error) {
  fast_request *request = engine->deadlines.head;
  engine->clock_us = request->live->deadline_us;
  engine->stats.timed_out++;
  BLIS_TRY(take_out(engine, request, error));
  BLIS_TRY(end(engine, request, BLIS_REQUEST_TIMED_OUT, error));
  blis__fast_wake(engine);
  return BLIS_OK;
}

/* Continues after an adapter was loaded. */
static BLIS_NOT_INLINE void run_loaded(fast_engine *engine) {
  engine->clock_us = blis__adapters_load_end_us(engine->adapters);
  blis__adapters_loaded(engine->adapters);
  blis__fast_wake(engine);
}

/*
 * Executes the events of one time, in this order: entries into the queue, adapter loads, the step,
 * timeouts.
 */
static blis_status run_event(fast_engine *engine, int64_t now_us, int64_t limit_us,
                             blis_error *error) {
  BLIS_ASSERT(now_us >= engine->clock_us);
  if (next_arrival_us(engine) == now_us) {
    BLIS_TRY(blis__fast_end_run(engine, error));
    return run_queued(engine, error);
  }
  if (blis__fast_load_end_us(engine) == now_us) {
    BLIS_TRY(blis__fast_end_run(engine, error));
    run_loaded(engine);
    return BLIS_OK;
  }
  if (engine->step_us != now_us) {
    BLIS_TRY(blis__fast_end_run(engine, error));
    return run_timeout(engine, error);
  }
  if (engine->idles) {
    return blis__fast_idle(engine, limit_us, error);
  }
  if (!blis__fast_knows_ahead(engine)) {
    BLIS_TRY(blis__fast_end_run(engine, error));
    BLIS_TRY(blis__fast_land(engine, error));
  }
  BLIS_TRY(blis__fast_decode_run(engine, limit_us, error));
  return engine->step_us == now_us ? blis__fast_step(engine, error) : BLIS_OK;
}

static blis_status engine_run_next(void *state, int64_t limit_us, bool *clock_moved,
                                   blis_error *error) {
  fast_engine *engine = state;
  *clock_moved = true;
  if (engine->config->horizon_us < BLIS_TIME_NEVER_US) {
    limit_us = blis_min_i64(limit_us, engine->config->horizon_us + 1);
  }
  for (int64_t now_us = engine_next_us(engine); now_us < limit_us;
       now_us = engine_next_us(engine)) {
    BLIS_TRY(run_event(engine, now_us, limit_us, error));
    BLIS_INVARIANT(blis__fast_check(engine));
  }
  return BLIS_OK;
}

static int64_t engine_next_work_us(const void *state) {
  const fast_engine *engine = state;
  return engine->idles ? blis_min_i64(next_arrival_us(engine), next_deadline_us(engine))
                       : engine_next_us(engine);
}

static blis_instance_load engine_get_load(const void *state) {
  const fast_engine *engine = state;
  int64_t blocks = engine->config->kv_blocks;
  return (blis_instance_load){.queue_depth = engine->queue.count + engine->loads.count,
                              .batch_size = engine->batch.count,
                              .kv_blocks = blocks,
                              .used_kv_blocks = blocks - blis__fast_free_blocks(engine)};
}

static void engine_get_stats(const void *state, blis_instance_stats *stats) {
  const fast_engine *engine = state;
  blis_instance_load load = engine_get_load(engine);
  *stats = engine->stats;
  stats->queue_depth = load.queue_depth;
  stats->batch_size = load.batch_size;
  stats->decoded_tokens = engine->decode_context - engine->decode_prompts;
  if (!engine->config->rules.counts_prompt_blocks) {
    stats->cache_hits = engine->pool_hits;
    stats->cache_misses = engine->pool_misses;
    if (engine->groups != NULL) {
      blis_block_pool_stats pool;
      blis_block_pool_get_stats(engine->block_pool, &pool);
      stats->cache_hits = pool.hits;
      stats->cache_misses = pool.misses;
    }
  }
  stats->kv_blocks = load.kv_blocks;
  stats->used_kv_blocks = load.used_kv_blocks;
  stats->end_us =
      blis_min_i64(blis_max_i64(engine->clock_us, engine->left_us), engine->config->horizon_us);
}

static uint32_t engine_cached_blocks(const void *state, const blis_block_chain *chain) {
  const fast_engine *engine = state;
  return engine->groups != NULL
             ? blis__fast_groups_cached(engine, chain, false)
             : blis_run_pool_match(engine->pool, chain, chain->prompt_blocks, NULL);
}

static void engine_set_journal(void *state, blis_block_journal *journal) {
  fast_engine *engine = state;
  if (engine->groups != NULL) {
    blis_block_pool_set_journal(engine->block_pool, journal);
  } else {
    blis_run_pool_set_journal(engine->pool, journal);
  }
}

static uint32_t engine_cached_blocks_at_mark(const void *state, const blis_block_chain *chain) {
  const fast_engine *engine = state;
  return engine->groups != NULL ? blis__fast_groups_cached(engine, chain, true)
                                : blis_run_pool_match_at_mark(engine->pool, chain);
}

static blis_status engine_close(void *state, blis_error *error) {
  fast_engine *engine = state;
  BLIS_TRY(blis__fast_end_run(engine, error));
  for (fast_request *r = engine->batch.head; r != NULL; r = r->links[FAST_LINK_BATCH].next) {
    blis__fast_note_progress(engine, r);
    blis__fast_withdraw_itl(engine, r);
  }
  for (const blis__waiting *place = engine->queue.head; place != NULL; place = place->after) {
    blis__fast_withdraw_itl(engine, place->request->engine);
  }
  for (fast_request *r = engine->loads.head; r != NULL; r = r->links[FAST_LINK_PREFILL].next) {
    blis__fast_withdraw_itl(engine, r);
  }
  blis__fast_settle_itl(engine);
  return BLIS_OK;
}

static blis_status engine_forget(void *state, blis_error *error) {
  fast_engine *engine = state;
  BLIS_TRY(blis__fast_end_run(engine, error));
  if (engine->groups != NULL) {
    blis_block_pool_forget(engine->block_pool);
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis_run_pool_forget(engine->pool), error);
  return BLIS_OK;
}

static void engine_retime(void *state) {
  fast_engine *engine = state;
  engine->idles = false;
  engine->ahead.end = engine->ahead.next;
}

static blis_status engine_hang(void *state, blis_error *error) {
  fast_engine *engine = state;
  BLIS_TRY(blis__fast_end_run(engine, error));
  engine->hangs = true;
  engine->step_us = BLIS_TIME_NEVER_US;
  return BLIS_OK;
}

static bool engine_check(const void *state) {
  return blis__fast_check(state);
}

static const blis__engine_ops fast_ops = {
    .free = engine_free,
    .inject = engine_inject,
    .reserve = blis__fast_reserve,
    .activate = blis__fast_activate,
    .loaded = blis__fast_loaded,
    .leave_at = engine_leave_at,
    .evict = engine_evict,
    .next_us = engine_next_us,
    .run_next = engine_run_next,
    .next_work_us = engine_next_work_us,
    .get_stats = engine_get_stats,
    .get_load = engine_get_load,
    .cached_blocks = engine_cached_blocks,
    .set_journal = engine_set_journal,
    .cached_blocks_at_mark = engine_cached_blocks_at_mark,
    .forget = engine_forget,
    .retime = engine_retime,
    .hang = engine_hang,
    .close = engine_close,
    .check = engine_check,
};

static blis_status init(fast_engine *engine, blis_error *error) {
  const blis_instance_config *config = engine->config;
  blis__wait_queue_init(&engine->queue, config);
  engine->boundaries = blis_alloc_zeroed(&engine->alloc, (size_t)config->block_size_tokens,
                                         sizeof *engine->boundaries);
  if (engine->boundaries == NULL) {
    return blis_fail_nomem(error);
  }
  if (config->kv_layout != NULL) {
    return blis__fast_groups_init(engine, error);
  }
  engine->pool = blis_run_pool_new(&engine->alloc, config->kv_blocks);
  return engine->pool == NULL ? blis_fail_nomem(error) : BLIS_OK;
}

blis_status blis__fast_new(const blis_alloc *alloc, const blis_instance_config *config,
                           const blis_instance_events *events, blis__adapters *adapters,
                           blis__power *power, blis__engine *engine, blis_error *error) {
  fast_engine *fast = blis_alloc_new(alloc, sizeof *fast);
  BLIS_TRY_NEW(fast, error);
  *fast = (fast_engine){.alloc = *alloc,
                        .config = config,
                        .events = *events,
                        .adapters = adapters,
                        .power = power,
                        .output_token_us = blis_latency_output_token_time(config->latency),
                        .fixed_overhead_us = blis_latency_fixed_overhead(config->latency),
                        .step_us = BLIS_TIME_NEVER_US,
                        .batch.kind = FAST_LINK_BATCH,
                        .prefills.kind = FAST_LINK_PREFILL,
                        .firsts.kind = FAST_LINK_PREFILL,
                        .loads.kind = FAST_LINK_PREFILL,
                        .deadlines.kind = FAST_LINK_DEADLINE,
                        .keepers.kind = FAST_LINK_KEEPER};
  blis_status status = init(fast, error);
  if (status != BLIS_OK) {
    engine_free(fast);
    return status;
  }
  *engine = (blis__engine){.ops = &fast_ops, .state = fast};
  return BLIS_OK;
}
