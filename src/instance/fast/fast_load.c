/* KV loads of the fast engine, see kv_source.h. */
#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/rules.h"

/* Counts cached blocks. Private blocks are in the cache only after their request was preempted. */
static uint32_t count_cached(const fast_engine *engine, const fast_request *request,
                             uint32_t findable, int64_t *unused) {
  const blis_block_chain *chain = &request->live->chain;
  uint32_t limit =
      !request->is_tracked && findable > chain->shared_count ? chain->shared_count : findable;
  return blis_run_pool_match(engine->pool, chain, limit, unused);
}

static blis_status set_aside(fast_engine *engine, fast_request *request,
                             const blis_kv_stretch *stretch) {
  int64_t fresh = (int64_t)stretch->end - stretch->first;
  BLIS_TRY(
      blis_run_pool_claim(engine->pool, &request->holder, &request->live->chain, stretch->first));
  blis_run_pool_take(engine->pool, &request->holder, fresh);
  engine->pool_hits += stretch->first;
  engine->pool_misses += fresh;
  return BLIS_OK;
}

static blis_status begin(fast_engine *engine, fast_request *request, const blis_kv_stretch *stretch,
                         int64_t now_us, blis_error *error) {
  const blis_kv_source *source = engine->config->kv_source;
  if (engine->groups == NULL) {
    BLIS_TRY_MEM(set_aside(engine, request, stretch), error);
  }
  request->live->was_brought = true;
  request->is_loading = true;
  request->owns_prompt = true;
  engine->block.head = NULL; /* the stored state of the queue head may refer to this record */
  blis__wait_queue_remove(&engine->queue, &request->waiting);
  blis__fast_list_append(&engine->loads, request);
  blis__fast_park(engine, request);
  return source->bring(source->ud, request->live, stretch, now_us, error);
}

blis_status blis__fast_load(fast_engine *engine, fast_request *request, int64_t now_us,
                            bool *is_loading, bool *is_blocked, blis_error *error) {
  const blis_kv_source *source = engine->config->kv_source;
  *is_loading = false;
  *is_blocked = false;
  if (source == NULL || request->live->was_brought || request->has_kv) {
    return BLIS_OK;
  }
  int64_t unused = 0;
  uint32_t findable = blis__findable_blocks(engine->config, request->live);
  blis_kv_stretch stretch = {.end = findable};
  if (engine->groups != NULL) {
    BLIS_TRY_MEM(blis__fast_groups_count_cached(engine, request, findable, &stretch.first), error);
  } else {
    stretch.first = count_cached(engine, request, findable, &unused);
  }
  if (stretch.end <= stretch.first) {
    return BLIS_OK;
  }
  BLIS_TRY(source->offer(source->ud, request->live, &stretch, now_us, error));
  BLIS_ASSERT(stretch.end <= findable);
  if (stretch.end <= stretch.first) {
    return BLIS_OK;
  }
  if (engine->groups != NULL) {
    BLIS_TRY_MEM(blis__fast_groups_load(engine, request, &stretch, is_loading), error);
  } else {
    int64_t needed = (int64_t)stretch.end - stretch.first + unused;
    *is_loading = needed <= blis_run_pool_free_blocks(engine->pool);
  }
  *is_blocked = !*is_loading;
  return *is_loading ? begin(engine, request, &stretch, now_us, error) : BLIS_OK;
}

static void end_load(fast_engine *engine, fast_request *request) {
  BLIS_ASSERT(request->is_loading);
  request->is_loading = false;
  blis__fast_list_remove(&engine->loads, request);
}

blis_status blis__fast_cancel_load(fast_engine *engine, fast_request *request) {
  const blis_kv_source *source = engine->config->kv_source;
  end_load(engine, request);
  source->cancel(source->ud, request->live);
  return blis__fast_give_up_kv(engine, request);
}

/*
 * Names the loaded blocks. Blocks that no other request can use need names only if this request may
 * look for them again.
 */
static blis_status name(fast_engine *engine, fast_request *request, uint32_t end) {
  int64_t limit = end;
  int64_t taken;
  if (engine->groups != NULL) {
    return blis__fast_groups_name(engine, request, end * engine->config->block_size_tokens);
  }
  if (!request->is_tracked) {
    limit = blis_min_i64(limit, request->live->chain.shared_count);
  }
  engine->namings++;
  BLIS_TRY(blis_run_pool_name_up_to(engine->pool, &request->holder, &request->live->chain, limit,
                                    &taken));
  BLIS_ASSERT(taken == 0);
  return BLIS_OK;
}

static blis_status take_back(fast_engine *engine, fast_request *request, uint32_t end) {
  blis_live_request *live = request->live;
  int64_t blocks = engine->groups != NULL
                       ? request->awaited_blocks
                       : request->holder.named_blocks + request->holder.anonymous;
  BLIS_ASSERT(end <= blocks);
  blis__fast_unpark(engine, request);
  request->is_tracked |= end < blocks;
  BLIS_TRY(name(engine, request, end));
  if (end < blocks) {
    return blis__fast_give_back(engine, request);
  }
  engine->parked_blocks += request->holder.anonymous + request->groups.held;
  engine->waiting_with_kv++;
  request->has_kv = true;
  request->loaded_blocks = end;
  live->progress_tokens = end * engine->config->block_size_tokens;
  live->computed_tokens = live->progress_tokens;
  return BLIS_OK;
}

blis_status blis__fast_loaded(void *state, blis_live_request *live, uint32_t end, int64_t now_us,
                              blis_error *error) {
  fast_engine *engine = state;
  fast_request *request = live->engine;
  BLIS_ASSERT(now_us >= engine->clock_us);
  BLIS_TRY(blis__fast_end_run(engine, error));
  engine->clock_us = now_us;
  engine->block.head = NULL;
  end_load(engine, request);
  BLIS_TRY_MEM(take_back(engine, request, end), error);
  blis__wait_queue_push_front(&engine->queue, &request->waiting);
  blis__fast_wake(engine);
  return BLIS_OK;
}
