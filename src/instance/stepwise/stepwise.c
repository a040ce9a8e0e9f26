#include "instance/stepwise/stepwise.h"

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "instance/parts/arrival.h"
#include "instance/parts/timing.h"

blis_status blis__stepwise_schedule(blis__stepwise *engine, int64_t time_us, int32_t event_class,
                                    blis__sequence *sequence, blis_error *error) {
  blis_event event = {.time_us = time_us, .event_class = event_class, .object = sequence};
  blis_event_handle handle;
  BLIS_TRY_MEM(blis_event_queue_push(engine->queue, &event, &handle), error);
  if (sequence != NULL) {
    sequence->event = handle;
  }
  return BLIS_OK;
}

/* Separates the request from its blocks, its pending event, and the engine. */
static blis_status part(blis__stepwise *engine, blis__sequence *sequence, blis_error *error) {
  blis_event_queue_cancel(engine->queue, sequence->event);
  if (sequence->is_loading) {
    blis__stepwise_cancel_load(engine, sequence);
  }
  blis__stepwise_unpark(engine, sequence);
  BLIS_TRY_MEM(engine->serving->release(engine, sequence), error);
  blis__sequences_give(&engine->sequences, sequence);
  return BLIS_OK;
}

blis_status blis__stepwise_end(blis__stepwise *engine, blis__sequence *sequence,
                               blis_request_state state, int64_t end_us, blis_error *error) {
  blis_live_request *request = sequence->place.request;
  BLIS_ASSERT(end_us >= engine->clock_us);
  request->state = state;
  if (request->holds_kv && state == BLIS_REQUEST_COMPLETED) {
    blis__stepwise_hold(engine, sequence);
  } else {
    BLIS_TRY(part(engine, sequence, error));
  }
  return engine->events.ended(engine->events.ud, request, engine->clock_us, end_us, error);
}

blis_status blis__stepwise_ask_rates(blis__stepwise *engine, blis__sequence *sequence,
                                     blis_error *error) {
  const blis_speculation_config *config = engine->config->speculation;
  const blis_live_request *request = sequence->place.request;
  if (config == NULL || config->rates_of == NULL || request->holds_kv) {
    return BLIS_OK; /* or this instance only prefills it */
  }
  BLIS_TRY_MEM(blis_array_reserve(&engine->alloc, &sequence->rates, (size_t)config->tokens), error);
  BLIS_TRY(config->rates_of(config->rates_ud, request, sequence->rates.items, error));
  sequence->rates.count = (size_t)config->tokens;
  return BLIS_OK;
}

static blis_status inject(void *state, blis_live_request *request, int64_t now_us,
                          blis_error *error) {
  blis__stepwise *engine = state;
  blis__sequence *sequence;
  BLIS_ASSERT(now_us >= engine->clock_us && request->engine == NULL);
  BLIS_ASSERT(request->prompt_tokens >= 0 && request->output_tokens >= 0);
  BLIS_TRY_MEM(blis__sequences_take(&engine->alloc, &engine->sequences, request, &sequence), error);
  blis_status status = blis__stepwise_ask_rates(engine, sequence, error);
  if (status == BLIS_OK) {
    status = blis__stepwise_schedule(engine, now_us, BLIS__EVENT_ARRIVAL, sequence, error);
  }
  if (status != BLIS_OK) {
    blis__sequences_give(&engine->sequences, sequence);
    return status;
  }
  blis__reset_request(request);
  sequence->has_waited = false;
  sequence->queued_us = blis__queued_at_us(engine->config, &engine->front_end, request, now_us);
  return BLIS_OK;
}

static blis_status on_arrival(blis__stepwise *engine, blis__sequence *sequence, blis_error *error) {
  return blis__stepwise_schedule(engine, sequence->queued_us, BLIS__EVENT_QUEUED, sequence, error);
}

blis_status blis__stepwise_wake(blis__stepwise *engine, blis_error *error) {
  if (engine->step_pending || engine->waiting.count == 0) {
    return BLIS_OK;
  }
  const blis_step_gate *gate = engine->config->gate;
  int64_t begin_us = engine->clock_us;
  if (gate != NULL) {
    BLIS_TRY(gate->begins_at(gate->ud, engine->clock_us, &begin_us, error));
  }
  engine->step_pending = true;
  return blis__stepwise_schedule(engine, begin_us, BLIS__EVENT_STEP, NULL, error);
}

blis_status blis__stepwise_reject(blis__stepwise *engine, blis__sequence *sequence,
                                  const char *reason, blis_error *error) {
  sequence->place.request->rejection = reason;
  return blis__stepwise_end(engine, sequence, BLIS_REQUEST_REJECTED, engine->clock_us, error);
}

blis_status blis__stepwise_enqueue(blis__stepwise *engine, blis__sequence *sequence,
                                   blis_error *error) {
  blis_live_request *request = sequence->place.request;
  int64_t deadline_us = request->deadline_us;
  if (deadline_us > 0 && deadline_us <= engine->config->horizon_us) {
    BLIS_TRY(blis__stepwise_schedule(engine, deadline_us, BLIS__EVENT_TIMEOUT, sequence, error));
  }
  blis__wait_queue_push_back(&engine->waiting, &sequence->place);
  request->state = BLIS_REQUEST_QUEUED;
  if (engine->adapters != NULL) {
    blis__adapters_queued(engine->adapters, request);
  }
  if (engine->events.queued != NULL) {
    engine->events.queued(engine->events.ud, request, engine->clock_us);
  }
  if (engine->config->request_queued != NULL) {
    BLIS_TRY(engine->config->request_queued(engine->config->make_batch_ud, request,
                                            engine->clock_us, error));
  }
  return blis__stepwise_wake(engine, error);
}

/* Returns whether a step is running and the batch of the next step is already formed. */
static bool has_next_batch(const blis__stepwise *engine) {
  return engine->step_pending && engine->batch.count > 0 && engine->clock_us <= engine->step_end_us;
}

static blis_status on_queued(blis__stepwise *engine, blis__sequence *sequence, blis_error *error) {
  blis_live_request *request = sequence->place.request;
  if (engine->config->rules.looks_ahead && !sequence->has_waited && has_next_batch(engine)) {
    sequence->has_waited = true;
    return blis__stepwise_schedule(engine, blis_time_after_us(engine->step_end_us, 1),
                                   BLIS__EVENT_QUEUED, sequence, error);
  }
  blis__verdict verdict = blis__judge_arrival(engine->config, request, engine->clock_us);
  if (verdict == BLIS__VERDICT_UNSERVABLE) {
    engine->counts.unservable++;
    return blis__stepwise_end(engine, sequence, BLIS_REQUEST_UNSERVABLE, engine->clock_us, error);
  }
  request->was_counted = true;
  engine->counts.prompt_tokens += request->prompt_tokens;
  if (verdict == BLIS__VERDICT_LATE) {
    engine->counts.timed_out++;
    return blis__stepwise_end(engine, sequence, BLIS_REQUEST_TIMED_OUT, engine->clock_us, error);
  }
  int64_t limit = engine->config->max_queue_depth;
  return limit > 0 && engine->waiting.count >= limit
             ? blis__stepwise_reject(engine, sequence, "queue-full", error)
             : blis__stepwise_enqueue(engine, sequence, error);
}

/*
 * Removes a request from the batch or the queue. A pending step stays pending even if no work
 * remains.
 */
static void leave_batch_or_queue(blis__stepwise *engine, blis__sequence *sequence) {
  blis_live_request *request = sequence->place.request;
  if (request->state == BLIS_REQUEST_RUNNING) {
    blis__stepwise_note_first_itl(engine, sequence);
    size_t index = 0;
    while (engine->batch.items[index] != sequence) {
      index++;
    }
    blis__batch_remove(engine, index);
    if (engine->adapters != NULL) {
      blis__adapters_left_batch(engine->adapters, request);
    }
  } else if (request->state == BLIS_REQUEST_QUEUED) {
    if (!sequence->is_loading) {
      blis__wait_queue_remove(&engine->waiting, &sequence->place);
    }
    if (engine->adapters != NULL) {
      blis__adapters_left_queue(engine->adapters, request);
    }
  }
}

static blis_status on_timeout(blis__stepwise *engine, blis__sequence *sequence, blis_error *error) {
  leave_batch_or_queue(engine, sequence);
  engine->counts.timed_out++;
  BLIS_TRY(blis__stepwise_end(engine, sequence, BLIS_REQUEST_TIMED_OUT, engine->clock_us, error));
  return blis__stepwise_wake(engine, error);
}

static blis_status execute(blis__stepwise *engine, const blis_event *event, blis_error *error) {
  blis__sequence *sequence = event->object;
  BLIS_ASSERT(event->time_us >= engine->clock_us);
  engine->clock_us = event->time_us;
  switch (event->event_class) {
  case BLIS__EVENT_ARRIVAL:
    return on_arrival(engine, sequence, error);
  case BLIS__EVENT_QUEUED:
    return on_queued(engine, sequence, error);
  case BLIS__EVENT_LOADED:
    blis__adapters_loaded(engine->adapters);
    return blis__stepwise_wake(engine, error);
  case BLIS__EVENT_STEP:
    return blis__step(engine, error);
  case BLIS__EVENT_TIMEOUT:
    return on_timeout(engine, sequence, error);
  default: /* BLIS__EVENT_LEFT: only advances the clock */
    return BLIS_OK;
  }
}

/* All events of one time run together, so that the engine is never visible between two of them.
   Events that follow an open step wait for its end. */
static blis_status run_next(void *state, int64_t limit_us, bool *clock_moved, blis_error *error) {
  blis__stepwise *engine = state;
  int64_t now_us = blis_event_queue_next_us(engine->queue);
  blis_event event;
  BLIS_ASSERT(now_us < limit_us);
  *clock_moved = false; /* timeouts of ended requests were canceled */
  while (blis_event_queue_next_us(engine->queue) == now_us && !engine->is_open) {
    bool is_there = blis_event_queue_pop(engine->queue, &event);
    BLIS_ASSERT(is_there);
    if (engine->hangs && event.event_class == BLIS__EVENT_STEP) {
      continue; /* the hung step stays pending, so that no other step is scheduled */
    }
    *clock_moved = true;
    BLIS_TRY(execute(engine, &event, error));
  }
  return BLIS_OK;
}

static blis_status evict(void *state, blis_live_request *request, int64_t now_us,
                         blis_error *error) {
  blis__stepwise *engine = state;
  blis__sequence *sequence = request->engine;
  engine->clock_us = now_us;
  leave_batch_or_queue(engine, sequence);
  BLIS_TRY(part(engine, sequence, error));
  return blis__stepwise_wake(engine, error);
}

/* A request that is not in the queue yet gets its timeout when it reaches the queue. */
static blis_status leave_at(void *state, blis_live_request *request, int64_t deadline_us,
                            blis_error *error) {
  blis__stepwise *engine = state;
  blis__sequence *sequence = request->engine;
  BLIS_ASSERT(deadline_us > engine->clock_us);
  request->deadline_us = deadline_us;
  bool is_in_queue_or_batch =
      request->state == BLIS_REQUEST_QUEUED || request->state == BLIS_REQUEST_RUNNING;
  if (!is_in_queue_or_batch) {
    return BLIS_OK;
  }
  blis_event_queue_cancel(engine->queue, sequence->event); /* the previous timeout, if any */
  return deadline_us > engine->config->horizon_us
             ? BLIS_OK
             : blis__stepwise_schedule(engine, deadline_us, BLIS__EVENT_TIMEOUT, sequence, error);
}

static int64_t next_us(const void *state) {
  const blis__stepwise *engine = state;
  return engine->is_open ? BLIS_TIME_NEVER_US : blis_event_queue_next_us(engine->queue);
}

static int64_t open_us(const void *state) {
  const blis__stepwise *engine = state;
  return engine->is_open ? engine->open_us : -1;
}

static blis_status go_on(void *state, int64_t step_us, blis_error *error) {
  return blis__step_go_on(state, step_us, error);
}

static blis_status be_busy(void *state, int64_t start_us, int64_t us, blis_error *error) {
  const blis_batch_sums nothing = {0};
  blis__stepwise *engine = state;
  engine->counts.busy_us = blis_time_after_us(engine->counts.busy_us, us);
  return engine->power == NULL || us == 0
             ? BLIS_OK
             : blis__power_step(engine->power, &nothing, start_us, us, error);
}

static const blis_draft_stats *drafts(const void *state) {
  const blis__stepwise *engine = state;
  return &engine->drafts;
}

static int64_t decoded_tokens(const blis__stepwise *engine) {
  int64_t decoded = 0;
  for (size_t i = 0; i < engine->batch.count; i++) {
    const blis_live_request *live = engine->batch.items[i]->place.request;
    if (live->progress_tokens >= live->prefill_tokens) {
      decoded += live->progress_tokens - live->prompt_tokens;
    }
  }
  return decoded;
}

static void get_stats(const void *state, blis_instance_stats *stats) {
  const blis__stepwise *engine = state;
  blis_kv_cache_stats cache;
  engine->serving->get_kv(engine, &cache);
  *stats = engine->counts;
  stats->queue_depth = engine->waiting.count + engine->loading;
  stats->batch_size = (int64_t)engine->batch.count;
  stats->decoded_tokens = decoded_tokens(engine);
  stats->kv_blocks = cache.blocks;
  stats->used_kv_blocks = cache.blocks - cache.free_blocks;
  if (!engine->config->rules.counts_prompt_blocks) {
    stats->cache_hits = cache.hits;
    stats->cache_misses = cache.misses;
    stats->cpu_misses = cache.cpu_misses; /* counts failed attempts, not blocks */
  }
  stats->cpu_reloads = cache.cpu_reloads;
  stats->cpu_immediate_reloads = cache.cpu_immediate_reloads;
  stats->cpu_saved = cache.cpu_saved;
  stats->cpu_evictions = cache.cpu_evictions;
  stats->cpu_transfers = cache.cpu_transfers;
  stats->cpu_transfer_us = cache.cpu_transfer_us;
  stats->end_us =
      engine->clock_us < engine->config->horizon_us ? engine->clock_us : engine->config->horizon_us;
}

static blis_instance_load get_load(const void *state) {
  blis_instance_stats stats;
  get_stats(state, &stats);
  return (blis_instance_load){.queue_depth = stats.queue_depth,
                              .batch_size = stats.batch_size,
                              .kv_blocks = stats.kv_blocks,
                              .used_kv_blocks = stats.used_kv_blocks};
}

static uint32_t cached_blocks(const void *state, const blis_block_chain *chain) {
  const blis__stepwise *engine = state;
  return engine->serving->cached_blocks(engine, chain);
}

static void set_journal(void *state, blis_block_journal *journal) {
  blis__stepwise *engine = state;
  engine->serving->set_journal(engine, journal);
}

static uint32_t cached_blocks_at_mark(const void *state, const blis_block_chain *chain) {
  const blis__stepwise *engine = state;
  return engine->serving->cached_blocks_at_mark(engine, chain);
}

static blis_status forget(void *state, blis_error *error) {
  blis__stepwise *engine = state;
  BLIS_TRY_MEM(engine->serving->forget(engine), error);
  return BLIS_OK;
}

static blis_status hang(void *state, blis_error *error) {
  (void)error;
  blis__stepwise *engine = state;
  engine->hangs = true;
  return BLIS_OK;
}

/* Nothing to do: live records are always up to date, and the histogram contains only completed
   requests. */
static blis_status close_engine(void *state, blis_error *error) {
  (void)state;
  (void)error;
  return BLIS_OK;
}

static bool check(const void *state) {
  const blis__stepwise *engine = state;
  blis_kv_cache_stats cache;
  engine->serving->get_kv(engine, &cache);
  for (size_t i = 0; i < engine->batch.count; i++) {
    const blis__sequence *sequence = engine->batch.items[i];
    if (sequence->place.request->state != BLIS_REQUEST_RUNNING ||
        sequence->place.request->engine != sequence) {
      return false;
    }
    cache.references -= blis__kv_held(sequence) + (int64_t)sequence->ahead.count;
  }
  for (blis__waiting *place = engine->waiting.head; place != NULL; place = place->after) {
    if (place->request->state != BLIS_REQUEST_QUEUED) {
      return false;
    }
    cache.references -= blis__kv_held(blis__sequence_at(place));
  }
  return cache.references == engine->parked_blocks && engine->serving->check(engine) &&
         blis__wait_queue_check(&engine->waiting) &&
         (engine->adapters == NULL || blis__adapters_are_sound(engine->adapters)) &&
         blis_event_queue_check(engine->queue);
}

static void free_engine(void *state) {
  blis__stepwise *engine = state;
  blis_alloc alloc = engine->alloc;
  blis__sequences_deinit(&alloc, &engine->sequences);
  blis_array_deinit(&alloc, &engine->batch);
  blis_array_deinit(&alloc, &engine->found);
  blis_array_deinit(&alloc, &engine->found_groups.blocks);
  blis_array_deinit(&alloc, &engine->items);
  blis_array_deinit(&alloc, &engine->wasted);
  blis_array_deinit(&alloc, &engine->running);
  blis_array_deinit(&alloc, &engine->plan.shown);
  blis_array_deinit(&alloc, &engine->plan.sequences);
  blis_array_deinit(&alloc, &engine->plan.entries);
  blis_array_deinit(&alloc, &engine->plan.preempted);
  blis_event_queue_free(engine->queue);
  engine->serving->deinit(engine);
  blis_alloc_free(&alloc, engine, sizeof *engine);
}

static const blis__engine_ops stepwise_ops = {
    .free = free_engine,
    .inject = inject,
    .reserve = blis__stepwise_reserve,
    .activate = blis__stepwise_activate,
    .loaded = blis__stepwise_loaded,
    .leave_at = leave_at,
    .evict = evict,
    .next_us = next_us,
    .run_next = run_next,
    .get_stats = get_stats,
    .drafts = drafts,
    .get_load = get_load,
    .cached_blocks = cached_blocks,
    .set_journal = set_journal,
    .cached_blocks_at_mark = cached_blocks_at_mark,
    .forget = forget,
    .open_us = open_us,
    .go_on = go_on,
    .be_busy = be_busy,
    .hang = hang,
    .close = close_engine,
    .check = check,
};

blis_status blis__stepwise_new(const blis_alloc *alloc, const blis_instance_config *config,
                               const blis_instance_events *events, blis__adapters *adapters,
                               blis__power *power, const blis__serving_ops *serving,
                               blis__engine *engine, blis_error *error) {
  blis__stepwise *e = blis_alloc_zeroed(alloc, 1, sizeof *e);
  BLIS_TRY_NEW(e, error);
  e->alloc = *alloc;
  e->config = config;
  e->events = *events;
  e->adapters = adapters;
  e->power = power;
  e->serving = serving;
  blis__wait_queue_init(&e->waiting, config);
  e->queue = blis_event_queue_new(alloc);
  blis_status status = e->queue == NULL ? blis_fail_nomem(error) : serving->init(e, error);
  if (status != BLIS_OK) {
    free_engine(e);
    return status;
  }
  *engine = (blis__engine){.ops = &stepwise_ops, .state = e};
  return BLIS_OK;
}
