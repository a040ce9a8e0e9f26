/*
 * Several KV groups in the fast engine.
 *
 * Blocks are managed by kv/group_cache.h, as in the stepwise engine. A decode needs attention only
 * in steps in which one of its groups takes, returns, or names a block. The layout determines these
 * steps. A heap contains the next such step of each decode, in the order of steps and admission.
 * All other steps are skipped. A run of decode steps costs O(log decodes) for each block that
 * changes.
 */
#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/rules.h"

static int64_t next_multiple(int64_t at_least, int64_t size) {
  return (at_least + size - 1) / size * size;
}

/*
 * Returns the smallest number of tokens >= at_least at which a group of this kind takes, returns,
 * or names a block.
 */
static int64_t next_change(const blis_kv_layout *layout, const blis_kv_group *group,
                           int64_t at_least) {
  int64_t size = group->block_tokens;
  if (group->kind == BLIS_KV_STATE && group->states == BLIS_KV_STATES_NONE) {
    return at_least == 0 ? 0 : INT64_MAX;
  }
  /* A block is taken for its first token and full after its last one. */
  int64_t next = blis_min_i64(next_multiple(at_least, size), next_multiple(at_least + 1, size) - 1);
  if (group->kind == BLIS_KV_FULL || (group->kind != BLIS_KV_STATE && layout->keeps_all_tokens)) {
    return next;
  }
  if (group->kind == BLIS_KV_CHUNK) {
    return blis_min_i64(next, next_multiple(at_least, group->span_tokens));
  }
  /* A state needs the same tokens as a window of two tokens. */
  int64_t behind = (group->kind == BLIS_KV_STATE ? 2 : group->span_tokens) - 1;
  int64_t returned = blis_max_i64(next_multiple(at_least - behind, size), size);
  return at_least < behind ? blis_min_i64(next, behind + size)
                           : blis_min_i64(next, behind + returned);
}

/*
 * Returns the next step in which its blocks change, starting with the step that stores token
 * at_least.
 */
static int64_t next_step(const fast_engine *engine, const fast_request *request, int64_t at_least) {
  const blis_kv_layout *layout = engine->config->kv_layout;
  int64_t next = INT64_MAX;
  for (size_t i = 0; i < layout->count; i++) {
    next = blis_min_i64(next, next_change(layout, &layout->groups[i], at_least));
  }
  return next == INT64_MAX ? INT64_MAX : next + request->decode_base;
}

static blis_status store(fast_engine *engine, fast_request *request, int64_t from, int64_t count,
                         bool *is_done) {
  const blis_block_span span = {.chain = &request->live->chain,
                                .prompt_tokens = request->live->prefill_tokens,
                                .start_tokens = from,
                                .end_tokens = from + count};
  return blis_group_cache_allocate(engine->groups, &request->groups, &span, from, NULL, is_done);
}

blis_status blis__fast_groups_start(fast_engine *engine, fast_request *request, bool has_token) {
  /* The first decode step returns the blocks that the last chunk kept beyond the window. */
  request->change = (finish_entry){.step = engine->step_index, .order = request->finish.order};
  if (has_token) {
    int64_t stored = engine->step_index - request->decode_base;
    request->change.step = next_step(engine, request, stored + 1);
  }
  return blis__finish_heap_add(&engine->alloc, &engine->changes, &request->change);
}

void blis__fast_groups_stop(fast_engine *engine, fast_request *request) {
  blis__finish_heap_remove(&engine->changes, &request->change);
}

void blis__fast_groups_postpone(fast_engine *engine, fast_request *request) {
  if (request->change.step < INT64_MAX) {
    request->change.step++;
    blis__finish_heap_postpone(&engine->changes, &request->change);
  }
}

/* Updates the blocks of a decode in this step, which must be the step of its next change. */
static blis_status change(fast_engine *engine, fast_request *request, bool *is_done) {
  int64_t stored = request->change.step - request->decode_base;
  BLIS_TRY(store(engine, request, stored, 1, is_done));
  if (*is_done) {
    request->change.step = next_step(engine, request, stored + 1);
    blis__finish_heap_postpone(&engine->changes, &request->change);
  }
  return BLIS_OK;
}

static fast_request *next_changing(const fast_engine *engine, int64_t before_step) {
  finish_entry *first = blis__finish_heap_first(&engine->changes);
  return first == NULL || first->step >= before_step
             ? NULL
             : (fast_request *)((char *)first - offsetof(fast_request, change));
}

blis_status blis__fast_groups_run(fast_engine *engine, size_t steps) {
  int64_t end = engine->step_index + (int64_t)steps;
  for (fast_request *r; (r = next_changing(engine, end)) != NULL;) {
    bool is_done;
    BLIS_TRY(change(engine, r, &is_done));
    BLIS_ASSERT(is_done);
  }
  return BLIS_OK;
}

size_t blis__fast_groups_steps(const fast_engine *engine, size_t n) {
  int64_t size = engine->config->block_size_tokens;
  int64_t residue = blis__fast_residue(engine, engine->step_index);
  int64_t groups = blis_kv_layout_groups(engine->config->kv_layout);
  int64_t free_blocks = blis__fast_free_blocks(engine);
  int64_t taken = 0; /* upper bound: returned blocks are not subtracted */
  for (size_t i = 0; i < n; i++) {
    taken += engine->boundaries[residue] * groups;
    if (taken > free_blocks) {
      return i;
    }
    residue = residue + 1 < size ? residue + 1 : 0;
  }
  return n;
}

int64_t blis__fast_groups_need(const fast_engine *engine, const fast_request *request,
                               int64_t chunk_tokens) {
  int64_t stored = request->live->progress_tokens;
  return blis_group_cache_need(engine->groups, &request->groups, stored, stored + chunk_tokens);
}

int64_t blis__fast_groups_decode_need(fast_engine *engine) {
  return *blis__fast_boundary(engine, engine->step_index) *
         blis_kv_layout_groups(engine->config->kv_layout);
}

blis_status blis__fast_groups_serve(fast_engine *engine, fast_plan *plan) {
  fast_request *prefill = engine->prefills.head;
  for (;;) {
    bool is_done = true;
    fast_request *decode = next_changing(engine, engine->step_index + 1);
    if (decode != NULL && (prefill == NULL || decode->finish.order < prefill->finish.order)) {
      BLIS_TRY(change(engine, decode, &is_done));
    } else if (prefill != NULL) {
      blis_live_request *live = prefill->live;
      if (live->new_tokens > 0) {
        BLIS_TRY(store(engine, prefill, live->progress_tokens, live->new_tokens, &is_done));
      }
      live->computed_tokens = live->progress_tokens + live->new_tokens;
      plan->budget_tokens -= live->new_tokens;
      blis_batch_sums_add(&plan->sums, &(blis_batch_item){.progress_tokens = live->progress_tokens,
                                                          .new_tokens = live->new_tokens,
                                                          .prompt_tokens = live->prefill_tokens,
                                                          .output_tokens = live->output_tokens});
      prefill = prefill->links[FAST_LINK_PREFILL].next;
    } else {
      return BLIS_OK;
    }
    BLIS_ASSERT(is_done);
  }
}

/* Tries once to get blocks for `tokens` more tokens of the request. */
static blis_status try_to_store(fast_engine *engine, fast_request *request, int64_t tokens,
                                bool *is_done, blis_error *error) {
  *is_done = true;
  if (!request->is_decoding) {
    BLIS_TRY_MEM(store(engine, request, request->live->progress_tokens, tokens, is_done), error);
  } else if (request->change.step == engine->step_index) {
    BLIS_TRY_MEM(change(engine, request, is_done), error);
  }
  return BLIS_OK;
}

blis_status blis__fast_groups_schedule(fast_engine *engine, fast_plan *plan, fast_request *request,
                                       int64_t tokens, bool *is_there, blis_error *error) {
  *is_there = true;
  for (bool is_done = false; *is_there;) {
    BLIS_TRY(try_to_store(engine, request, tokens, &is_done, error));
    if (is_done) {
      request->live->new_tokens = tokens;
      plan->budget_tokens -= tokens;
      return BLIS_OK;
    }
    BLIS_TRY(blis__fast_preempt_one(engine, plan, request, is_there, error));
  }
  return BLIS_OK;
}

blis_status blis__fast_groups_store_last(fast_engine *engine, fast_request *request,
                                         int64_t stored) {
  bool is_done;
  BLIS_TRY(store(engine, request, stored, 1, &is_done));
  engine->stats.kv_allocation_failures += !is_done;
  return BLIS_OK;
}

/* Admission. */

/*
 * Finds the cached part of the first `blocks` blocks of its prefill and stores it in engine->found.
 */
static blis_status find(fast_engine *engine, const blis_live_request *live, uint32_t blocks) {
  return blis_group_cache_match(engine->groups, &live->chain,
                                blocks * engine->config->block_size_tokens, &engine->found);
}

blis_status blis__fast_groups_admit(fast_engine *engine, fast_request *request, fast_plan *plan,
                                    bool *is_admitted) {
  blis_live_request *live = request->live;
  BLIS_TRY(find(engine, live, blis__findable_blocks(engine->config, live)));
  int64_t cached = engine->found.tokens;
  live->progress_tokens = cached;
  int64_t chunk = blis_min_i64(blis__fast_wanted_chunk(engine, request), plan->budget_tokens);
  chunk = blis__aligned_chunk(engine->config, live, cached, chunk);
  live->progress_tokens = 0;
  *is_admitted = live->prefill_tokens == 0 &&
                 !blis__lacks_first_blocks(engine->config, live, blis__fast_free_blocks(engine));
  if (chunk > 0) {
    const blis_block_span span = {.chain = &live->chain,
                                  .prompt_tokens = live->prefill_tokens,
                                  .start_tokens = cached,
                                  .end_tokens = cached + chunk};
    BLIS_TRY(blis_group_cache_allocate(engine->groups, &request->groups, &span, cached,
                                       &engine->found, is_admitted));
  }
  if (*is_admitted) {
    bool knows_context = engine->config->rules.knows_cached_context && chunk > 0;
    live->progress_tokens = knows_context ? cached : 0;
    live->new_tokens = chunk;
    live->computed_tokens = cached + chunk;
  }
  return BLIS_OK;
}

blis_status blis__fast_groups_admit_with_kv(fast_engine *engine, fast_request *request,
                                            fast_plan *plan, bool *is_admitted) {
  blis_live_request *live = request->live;
  int64_t progress = live->progress_tokens;
  bool is_whole = progress >= live->prefill_tokens;
  int64_t chunk =
      is_whole ? 1 : blis_min_i64(blis__fast_wanted_chunk(engine, request), plan->budget_tokens);
  chunk = is_whole ? 1 : blis__aligned_chunk(engine->config, live, progress, chunk);
  *is_admitted = false;
  if (chunk == 0) {
    return BLIS_OK;
  }
  int64_t held = request->groups.held;
  BLIS_TRY(store(engine, request, progress, chunk, is_admitted));
  engine->parked_blocks += request->groups.held - held;
  if (!*is_admitted && blis__goes_without_block(engine->config, live)) {
    *is_admitted = true;
    chunk = 0;
  }
  if (*is_admitted) {
    blis__fast_unpark(engine, request);
    live->new_tokens = chunk;
    live->computed_tokens = progress + chunk;
  }
  return BLIS_OK;
}

/* KV from elsewhere. */

static blis_status set_aside(fast_engine *engine, fast_request *request, int64_t from, int64_t end,
                             bool has_names, bool *is_done) {
  const blis_block_span span = {.chain = has_names ? &request->live->chain : NULL,
                                .prompt_tokens = request->live->prefill_tokens,
                                .start_tokens = from,
                                .end_tokens = end};
  return blis_group_cache_allocate(engine->groups, &request->groups, &span, end, &engine->found,
                                   is_done);
}

blis_status blis__fast_groups_reserve(fast_engine *engine, fast_request *request,
                                      const blis_kv_demand *demand, int64_t *cached_tokens,
                                      bool *is_done) {
  int64_t size = engine->config->block_size_tokens;
  engine->found.blocks.count = 0;
  engine->found.tokens = 0;
  if (demand->reuses_cache) {
    BLIS_TRY(find(engine, request->live, (uint32_t)((demand->tokens - 1) / size)));
  }
  *cached_tokens = engine->found.tokens;
  return set_aside(engine, request, *cached_tokens, demand->tokens, demand->is_found_at_once,
                   is_done);
}

blis_status blis__fast_groups_count_cached(fast_engine *engine, const fast_request *request,
                                           uint32_t findable, uint32_t *blocks) {
  BLIS_TRY(find(engine, request->live, findable));
  *blocks = (uint32_t)(engine->found.tokens / engine->config->block_size_tokens);
  return BLIS_OK;
}

blis_status blis__fast_groups_load(fast_engine *engine, fast_request *request,
                                   const blis_kv_stretch *stretch, bool *is_done) {
  int64_t size = engine->config->block_size_tokens;
  request->awaited_blocks = stretch->end;
  return set_aside(engine, request, stretch->first * size, stretch->end * size, false, is_done);
}

blis_status blis__fast_groups_name(fast_engine *engine, fast_request *request, int64_t tokens) {
  return blis_group_cache_name(engine->groups, &request->groups, &request->live->chain, tokens);
}

/* Creation, state, and checks. */

blis_status blis__fast_groups_init(fast_engine *engine, blis_error *error) {
  const blis_instance_config *config = engine->config;
  BLIS_TRY(blis_block_pool_new(&engine->alloc, config->kv_blocks, config->block_size_tokens,
                               &engine->block_pool, error));
  engine->groups = blis_group_cache_new(&engine->alloc, config->kv_layout, engine->block_pool,
                                        config->block_size_tokens, 0);
  return engine->groups == NULL ? blis_fail_nomem(error) : BLIS_OK;
}

void blis__fast_groups_deinit(fast_engine *engine) {
  blis_array_deinit(&engine->alloc, &engine->found.blocks);
  blis_array_deinit(&engine->alloc, &engine->changes.slots);
  blis_group_cache_free(engine->groups);
  blis_block_pool_free(engine->block_pool);
}

uint32_t blis__fast_groups_cached(const fast_engine *engine, const blis_block_chain *chain,
                                  bool at_mark) {
  int64_t size = engine->config->block_size_tokens;
  return (uint32_t)(blis_group_cache_count(engine->groups, chain, chain->prompt_blocks * size,
                                           at_mark) /
                    size);
}

bool blis__fast_groups_check(const fast_engine *engine) {
  blis_block_pool_stats stats;
  int64_t held = engine->parked_blocks;
  bool is_sound = engine->changes.slots.count == (size_t)engine->decodes &&
                  blis__finish_heap_check(&engine->changes);
  for (const fast_request *r = engine->batch.head; r != NULL; r = r->links[FAST_LINK_BATCH].next) {
    held += r->groups.held;
    is_sound &= !r->is_decoding || r->change.step >= engine->step_index;
  }
  blis_block_pool_get_stats(engine->block_pool, &stats);
  return is_sound && held == stats.references && blis_block_pool_check(engine->block_pool);
}
