/* KV transfers of the fast engine, see remote_kv.h. */
#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/arrival.h"
#include "instance/parts/rules.h"

void blis__fast_park(fast_engine *engine, fast_request *request) {
  BLIS_ASSERT(!request->is_parked && !request->has_kv);
  request->is_parked = true;
  engine->parked_blocks += request->holder.anonymous + request->groups.held;
}

/* Stops counting its anonymous blocks as parked. */
void blis__fast_unpark(fast_engine *engine, fast_request *request) {
  engine->parked_blocks -= request->holder.anonymous + request->groups.held;
  engine->waiting_with_kv -= request->has_kv;
  BLIS_ASSERT(engine->parked_blocks >= 0 && engine->waiting_with_kv >= 0);
  request->is_parked = false;
}

void blis__fast_hold(fast_engine *engine, fast_request *request, int64_t stored_tokens) {
  if (engine->groups == NULL) {
    request->holder.anonymous =
        blis__fast_blocks_of(engine, stored_tokens) - request->holder.named_blocks;
    BLIS_ASSERT(request->holder.anonymous >= 0);
  }
  if (request->has_deadline) {
    blis__fast_list_remove(&engine->deadlines, request);
    request->has_deadline = false;
  }
  blis__fast_park(engine, request);
}

blis_status blis__fast_give_up_kv(fast_engine *engine, fast_request *request) {
  if (!request->is_parked && !request->has_kv) {
    return BLIS_OK;
  }
  blis__fast_unpark(engine, request);
  request->has_kv = false;
  return blis__fast_give_back(engine, request);
}

/* Returns the last queued request that has its KV and can be recomputed here. With `needs_adapter`,
   skips requests whose adapter is ready. NULL = none. */
static fast_request *last_with_kv(const fast_engine *engine, bool needs_adapter) {
  for (blis__waiting *place = engine->queue.tail; place != NULL; place = place->before) {
    bool is_ready = engine->adapters == NULL ||
                    blis__adapters_look(engine->adapters, place->request, engine->clock_us) ==
                        BLIS__ADAPTER_READY;
    fast_request *request = place->request->engine;
    if (request->has_kv && !(needs_adapter && is_ready) &&
        !blis__goes_without_block(engine->config, place->request)) {
      return request;
    }
  }
  return NULL;
}

static blis_status drop_kv(fast_engine *engine, fast_request *request) {
  int64_t stored = request->live->progress_tokens;
  blis__fast_unpark(engine, request);
  request->has_kv = false;
  request->loaded_blocks = 0;
  BLIS_TRY(blis__fast_track(engine, request, stored));
  BLIS_TRY(blis__fast_release(engine, request, stored));
  blis__note_lost_kv(request->live);
  engine->stats.preemptions++;
  return BLIS_OK;
}

blis_status blis__fast_drop_kv(fast_engine *engine, bool *is_dropped) {
  fast_request *last = engine->waiting_with_kv < 2 ? NULL : last_with_kv(engine, false);
  *is_dropped = last != NULL;
  return last == NULL ? BLIS_OK : drop_kv(engine, last);
}

BLIS_NOT_INLINE blis_status blis__fast_drop_idle_kv(fast_engine *engine) {
  bool may_be_idle =
      engine->batch.count == 0 && engine->waiting_with_kv > 0 && engine->adapters != NULL;
  fast_request *last = may_be_idle ? last_with_kv(engine, true) : NULL;
  return last == NULL ? BLIS_OK : drop_kv(engine, last);
}

/* Returns the number of blocks to name: only blocks with content that other requests may share. */
static int64_t nameable_blocks(const fast_engine *engine, const blis_live_request *live,
                               int64_t tokens) {
  return blis_min_i64(live->chain.shared_count, tokens / engine->config->block_size_tokens);
}

/*
 * Finds the cached prefix. At least one token must remain to be computed, so that the prefix is
 * claimed.
 */
static uint32_t find_cached(const fast_engine *engine, const blis_live_request *live,
                            const blis_kv_demand *demand, int64_t *unused) {
  *unused = 0;
  if (!demand->reuses_cache) {
    return 0;
  }
  int64_t limit =
      blis_min_i64(nameable_blocks(engine, live, demand->tokens - 1), live->chain.prompt_blocks);
  return blis_run_pool_match(engine->pool, &live->chain, (uint32_t)limit, unused);
}

static blis_status take(fast_engine *engine, fast_request *request, const blis_kv_demand *demand,
                        uint32_t cached, int64_t fresh) {
  blis_live_request *live = request->live;
  BLIS_TRY(blis_run_pool_claim(engine->pool, &request->holder, &live->chain, cached));
  int64_t taken = 0;
  if (demand->is_found_at_once) {
    engine->namings++;
    BLIS_TRY(blis_run_pool_name_up_to(engine->pool, &request->holder, &live->chain,
                                      nameable_blocks(engine, live, demand->tokens), &taken));
  }
  blis_run_pool_take(engine->pool, &request->holder, fresh - taken);
  engine->pool_hits += cached;
  engine->pool_misses += fresh;
  return BLIS_OK;
}

static blis_status reserve_in_groups(fast_engine *engine, blis_live_request *live,
                                     const blis_kv_demand *demand, int64_t *cached_tokens,
                                     bool *is_done, blis_error *error) {
  fast_request *request;
  BLIS_TRY(blis__fast_end_run(engine, error));
  BLIS_TRY_MEM(blis__fast_request_new(engine, live, &request), error);
  blis__reset_request(live);
  BLIS_TRY_MEM(blis__fast_groups_reserve(engine, request, demand, cached_tokens, is_done), error);
  if (!*is_done) {
    blis__fast_request_spare(engine, request);
    return BLIS_OK;
  }
  request->was_reserved = true;
  blis__fast_park(engine, request);
  return BLIS_OK;
}

/* Adds the blocks of the first `tokens` tokens to the prefix table. */
static blis_status name(fast_engine *engine, fast_request *request, int64_t tokens) {
  engine->namings++;
  if (engine->groups != NULL) {
    return blis__fast_groups_name(engine, request, tokens);
  }
  int64_t taken;
  BLIS_TRY(blis_run_pool_name_up_to(engine->pool, &request->holder, &request->live->chain,
                                    nameable_blocks(engine, request->live, tokens), &taken));
  BLIS_ASSERT(taken == 0);
  return BLIS_OK;
}

blis_status blis__fast_reserve(void *state, blis_live_request *live, const blis_kv_demand *demand,
                               int64_t *cached_tokens, bool *is_done, blis_error *error) {
  fast_engine *engine = state;
  fast_request *request;
  int64_t unused;
  if (engine->groups != NULL) {
    return reserve_in_groups(engine, live, demand, cached_tokens, is_done, error);
  }
  uint32_t cached = find_cached(engine, live, demand, &unused);
  int64_t fresh = blis__fast_blocks_of(engine, demand->tokens) - cached;
  *cached_tokens = (int64_t)cached * engine->config->block_size_tokens;
  *is_done = fresh + unused <= blis_run_pool_free_blocks(engine->pool);
  if (!*is_done) {
    return BLIS_OK;
  }
  BLIS_TRY(blis__fast_end_run(engine, error));
  BLIS_TRY_MEM(blis__fast_request_new(engine, live, &request), error);
  blis__reset_request(live);
  BLIS_TRY_MEM(take(engine, request, demand, cached, fresh), error);
  request->was_reserved = true;
  blis__fast_park(engine, request);
  return BLIS_OK;
}

blis_status blis__fast_activate(void *state, blis_live_request *live,
                                const blis_kv_arrival *arrival, int64_t now_us, blis_error *error) {
  fast_engine *engine = state;
  fast_request *request = live->engine;
  BLIS_ASSERT(request->is_parked && now_us >= engine->clock_us);
  BLIS_TRY(blis__fast_end_run(engine, error));
  engine->clock_us = now_us;
  blis__fast_unpark(engine, request);
  BLIS_TRY_MEM(name(engine, request, arrival->tokens), error);
  engine->parked_blocks += request->holder.anonymous + request->groups.held;
  engine->waiting_with_kv++;
  blis__note_kv(engine->config, live, arrival, now_us);
  request->has_kv = true;
  request->token_end_us = now_us;
  request->furthest_tokens = arrival->tokens;
  blis__fast_enter_queue(engine, request);
  return BLIS_OK;
}

blis_status blis__fast_try_with_kv(fast_engine *engine, fast_request *request, fast_plan *plan,
                                   bool *is_admitted) {
  if (engine->groups != NULL) {
    return blis__fast_groups_admit_with_kv(engine, request, plan, is_admitted);
  }
  blis_live_request *live = request->live;
  int64_t progress = live->progress_tokens;
  bool is_whole = progress >= live->prefill_tokens;
  int64_t chunk =
      is_whole ? 1 : blis_min_i64(blis__fast_wanted_chunk(engine, request), plan->budget_tokens);
  int64_t blocks = blis__fast_blocks_for(engine, request, chunk);
  *is_admitted = blocks <= blis_run_pool_free_blocks(engine->pool);
  if (!*is_admitted && blis__goes_without_block(engine->config, live)) {
    *is_admitted = true;
    chunk = 0;
    blocks = 0;
  }
  if (!*is_admitted) {
    return BLIS_OK;
  }
  blis__fast_unpark(engine, request);
  live->new_tokens = chunk;
  live->computed_tokens = progress + chunk;
  if (!is_whole) {
    return blis__fast_extend(engine, request, chunk);
  }
  blis_run_pool_take(engine->pool, &request->holder, blocks);
  engine->pool_misses += blocks;
  return BLIS_OK;
}
