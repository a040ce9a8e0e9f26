/*
 * Forms a batch. Admits requests from the queue. If the blocks or the token budget may not suffice
 * for all, visits the running requests one by one in batch order. The representation of the state
 * does not change; only this step is formed request by request.
 */
#include <inttypes.h>

#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/arrival.h"
#include "instance/parts/rules.h"
#include "instance/parts/timing.h"

/* Admission. */

bool blis__fast_takes_whole(const fast_engine *engine, const fast_request *request,
                            int64_t budget_tokens) {
  int64_t threshold = engine->config->long_prefill_threshold_tokens;
  int64_t tokens = request->live->prefill_tokens;
  return !request->has_kv && !blis__starts_by_a_token(engine->config, request->was_reserved) &&
         tokens > 0 && tokens <= budget_tokens && (threshold == 0 || tokens <= threshold);
}

const fast_request *blis__fast_next_waiting(const fast_engine *engine, bool *acts) {
  *acts = false;
  if (engine->adapters == NULL) {
    return engine->queue.head->request->engine;
  }
  for (const blis__waiting *place = engine->queue.head; place != NULL; place = place->after) {
    switch (blis__adapters_look(engine->adapters, place->request, engine->step_us)) {
    case BLIS__ADAPTER_READY:
      return place->request->engine;
    case BLIS__ADAPTER_ACTS:
      *acts = true;
      return NULL;
    case BLIS__ADAPTER_WAITS:
      break;
    case BLIS__ADAPTER_BLOCKS:
      return NULL;
    }
  }
  return NULL;
}

/* Returns whether the request's adapter is loaded or not needed. Otherwise, a load may start, and
 *goes_on is set to whether later requests may overtake. */
static bool ask_for_adapter(fast_engine *engine, const fast_request *request, int64_t now_us,
                            bool *goes_on) {
  *goes_on = true;
  return engine->adapters == NULL ||
         blis__adapters_ask(engine->adapters, request->live, now_us, goes_on);
}

bool blis__fast_is_blocked(const fast_engine *engine, const fast_request *head,
                           int64_t budget_tokens) {
  const fast_block *block = &engine->block;
  if (engine->config->kv_source != NULL && !head->live->was_brought) {
    return false; /* the KV source's offer is unknown here */
  }
  bool is_whole = blis__fast_takes_whole(engine, head, budget_tokens);
  if (is_whole && head->live->chain.shared_count == 0) {
    return blis__fast_blocks_of(engine, head->live->prefill_tokens) >
           blis_run_pool_free_blocks(engine->pool);
  }
  return block->head == head && block->releases == engine->releases &&
         block->namings == engine->namings &&
         (is_whole || (block->budget_tokens == budget_tokens &&
                       block->table_version == blis_run_pool_table_version(engine->pool)));
}

static void remember_block(fast_engine *engine, const fast_request *head, int64_t budget_tokens) {
  engine->block = (fast_block){.head = head,
                               .table_version = blis_run_pool_table_version(engine->pool),
                               .namings = engine->namings,
                               .releases = engine->releases,
                               .budget_tokens = budget_tokens};
}

/* Admits a request with an empty prompt, which stores its first output token at admission. */
static bool admit_empty_prompt(fast_engine *engine, fast_request *request) {
  request->owns_prompt = false;
  if (request->live->output_tokens == 0) {
    return true;
  }
  if (blis_run_pool_free_blocks(engine->pool) == 0) {
    return false;
  }
  blis_run_pool_take(engine->pool, &request->holder, 1);
  engine->pool_misses++;
  return true;
}

/*
 * Claims the cached blocks and takes blocks for `chunk` more tokens. If chunk is 0 because the
 * whole prompt is cached, claims nothing: the blocks stay on the free list while the request runs.
 */
static blis_status allocate(fast_engine *engine, fast_request *request, uint32_t cached_blocks,
                            int64_t chunk_tokens) {
  request->owns_prompt = chunk_tokens > 0;
  if (chunk_tokens == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(
      blis_run_pool_claim(engine->pool, &request->holder, &request->live->chain, cached_blocks));
  engine->pool_hits += cached_blocks;
  /* The claimed blocks are stored; extend continues after them. */
  request->live->progress_tokens = (int64_t)cached_blocks * engine->config->block_size_tokens;
  BLIS_TRY(blis__fast_extend(engine, request, chunk_tokens));
  return BLIS_OK;
}

/*
 * Admits a waiting request. If there are not enough blocks, *is_admitted is false and nothing
 * changes.
 */
static blis_status try_waiting(fast_engine *engine, fast_request *request, fast_plan *plan,
                               bool *is_admitted) {
  blis_live_request *live = request->live;
  *is_admitted = false;
  if (request->has_kv) {
    return blis__fast_try_with_kv(engine, request, plan, is_admitted);
  }
  if (engine->groups != NULL) {
    return blis__fast_groups_admit(engine, request, plan, is_admitted);
  }
  if (live->prefill_tokens == 0) {
    *is_admitted = admit_empty_prompt(engine, request);
    live->new_tokens = 0;
    live->computed_tokens = 0;
    return BLIS_OK;
  }
  int64_t unused = 0;
  const blis_block_chain *chain = &live->chain;
  uint32_t limit = blis__findable_blocks(engine->config, live);
  if (!request->is_tracked && limit > chain->shared_count) {
    limit = chain->shared_count;
  }
  bool is_token = blis__starts_by_a_token(engine->config, request->was_reserved);
  uint32_t cached = is_token ? 0 : blis_run_pool_match(engine->pool, chain, limit, &unused);
  int64_t cached_tokens = (int64_t)cached * engine->config->block_size_tokens;
  live->progress_tokens = cached_tokens;
  int64_t chunk = is_token ? 1 : blis__fast_wanted_chunk(engine, request);
  chunk = blis_min_i64(chunk, plan->budget_tokens);
  live->progress_tokens = 0;
  if (blis__fast_blocks_of(engine, chunk) + unused > blis_run_pool_free_blocks(engine->pool)) {
    return BLIS_OK;
  }
  BLIS_TRY(allocate(engine, request, cached, chunk));
  /* Input of the latency model for this step. */
  bool knows_context = engine->config->rules.knows_cached_context && chunk > 0;
  live->progress_tokens = knows_context ? cached_tokens : 0;
  live->new_tokens = chunk;
  live->computed_tokens = cached_tokens + chunk;
  *is_admitted = true;
  return BLIS_OK;
}

static blis_status enter_batch(fast_engine *engine, fast_request *request, fast_plan *plan,
                               int64_t now_us) {
  const blis_instance_config *config = engine->config;
  blis_live_request *live = request->live;
  int64_t cached_tokens = request->has_kv ? request->loaded_blocks * config->block_size_tokens
                                          : live->computed_tokens - live->new_tokens;
  request->has_kv = false;
  request->loaded_blocks = 0;
  blis__wait_queue_remove(&engine->queue, &request->waiting);
  if (engine->adapters != NULL) {
    blis__adapters_admitted(engine->adapters, live);
  }
  request->finish.order = engine->next_order++;
  blis__fast_list_append(&engine->batch, request);
  blis__count_prompt_blocks(config, live, cached_tokens / config->block_size_tokens,
                            &engine->stats);
  live->was_brought = false; /* the source can be queried again */
  blis__note_admission(config, &engine->events, live, now_us,
                       now_us <= engine->last_step_end_us ? engine->last_step_us : 0);
  plan->budget_tokens -= live->new_tokens;
  blis_batch_sums_add(&plan->sums, &(blis_batch_item){.progress_tokens = live->progress_tokens,
                                                      .new_tokens = live->new_tokens,
                                                      .prompt_tokens = live->prefill_tokens,
                                                      .output_tokens = live->output_tokens});
  if (live->new_tokens > 0 && live->progress_tokens >= live->prefill_tokens) {
    BLIS_TRY(blis__fast_start_decoding(engine, request, 1));
    return blis__fast_name_output(engine, request, blis__fast_stored(engine, request) + 1);
  }
  blis__fast_list_append(&engine->prefills, request);
  return BLIS_OK;
}

/* Admits requests with loaded KV first, so that no other request takes the blocks that they need.
 *lacking is set to the request that lacks only blocks, if there is one. */
static blis_status admit_those_with_kv(fast_engine *engine, fast_plan *plan, int64_t now_us,
                                       const fast_request **lacking) {
  bool goes_on = true;
  blis__waiting *next = NULL;
  for (blis__waiting *place = engine->queue.head;
       place != NULL && goes_on && plan->budget_tokens > 0 &&
       engine->batch.count < engine->config->max_num_seqs && engine->waiting_with_kv > 0;
       place = next) {
    next = place->after;
    fast_request *request = place->request->engine;
    if (!request->has_kv || !ask_for_adapter(engine, request, now_us, &goes_on)) {
      continue;
    }
    BLIS_TRY(blis__fast_try_with_kv(engine, request, plan, &goes_on));
    if (goes_on) {
      BLIS_TRY(enter_batch(engine, request, plan, now_us));
    }
    *lacking = goes_on ? *lacking : request;
  }
  return BLIS_OK;
}

static blis_status admit_the_ready(fast_engine *engine, fast_plan *plan, int64_t now_us,
                                   const fast_request **lacking, blis_error *error) {
  BLIS_TRY_MEM(admit_those_with_kv(engine, plan, now_us, lacking), error);
  return BLIS_OK;
}

/* Called if no request runs and the head of the queue lacks blocks. Admits a request with loaded
   KV, unless it only waits for an adapter that will be loaded. lacking is the candidate found so
   far in this step. */
static blis_status admit_somebody(fast_engine *engine, fast_plan *plan, int64_t now_us,
                                  const fast_request *lacking, blis_error *error) {
  while (engine->batch.count == 0 && engine->waiting_with_kv > 0) {
    BLIS_TRY(admit_the_ready(engine, plan, now_us, &lacking, error));
    bool waits = lacking == NULL && blis__fast_load_end_us(engine) < BLIS_TIME_NEVER_US;
    bool is_dropped = false;
    if (engine->batch.count == 0 && !waits) {
      BLIS_TRY_MEM(blis__fast_drop_kv(engine, &is_dropped), error);
    }
    if (!is_dropped) {
      return BLIS_OK;
    }
    lacking = NULL;
  }
  return BLIS_OK;
}

blis_status blis__fast_admit(fast_engine *engine, fast_plan *plan, int64_t now_us,
                             blis_error *error) {
  bool goes_by_head = engine->config->defects.admits_by_head;
  if (plan->is_preempted) {
    BLIS_TRY_MEM(blis__fast_drop_idle_kv(engine), error);
    return goes_by_head ? admit_somebody(engine, plan, now_us, NULL, error) : BLIS_OK;
  }
  const fast_request *lacking = NULL;
  if (!goes_by_head) {
    BLIS_TRY(admit_the_ready(engine, plan, now_us, &lacking, error));
  }
  /* A request with loaded KV must not lose its blocks to others indefinitely. */
  bool goes_on = lacking == NULL || lacking->loaded_blocks == 0;
  blis__waiting *after = NULL;
  for (blis__waiting *place = engine->queue.head;
       goes_on && place != NULL && plan->budget_tokens > 0 &&
       engine->batch.count < engine->config->max_num_seqs;
       place = after) {
    after = place->after;
    fast_request *next = place->request->engine;
    bool is_admitted = false;
    if (!ask_for_adapter(engine, next, now_us, &goes_on)) {
      continue;
    }
    bool is_loading;
    bool is_blocked;
    BLIS_TRY(blis__fast_load(engine, next, now_us, &is_loading, &is_blocked, error));
    if (is_loading) {
      continue;
    }
    /* With a KV layout, decodes also return blocks. */
    is_blocked = is_blocked || (engine->groups == NULL &&
                                blis__fast_is_blocked(engine, next, plan->budget_tokens));
    if (!is_blocked) {
      BLIS_TRY_MEM(try_waiting(engine, next, plan, &is_admitted), error);
    }
    if (!is_admitted && !is_blocked && engine->groups == NULL) {
      remember_block(engine, next, plan->budget_tokens);
    }
    if (!is_admitted) {
      break;
    }
    BLIS_TRY_MEM(enter_batch(engine, next, plan, now_us), error);
  }
  return admit_somebody(engine, plan, now_us, lacking, error);
}

/* Formation under shortage. */

static fast_request *next_in_batch(const fast_request *request) {
  return request->links[FAST_LINK_BATCH].next;
}

static blis_status schedule_prefill(fast_engine *engine, fast_plan *plan, fast_request *request,
                                    bool *is_there, blis_error *error) {
  blis_live_request *live = request->live;
  int64_t chunk = blis__fast_wanted_chunk(engine, request);
  chunk = blis_min_i64(chunk, plan->budget_tokens);
  if (engine->groups != NULL) {
    chunk = blis__aligned_chunk(engine->config, live, live->progress_tokens, chunk);
    *is_there = true;
    if (chunk > 0) {
      BLIS_TRY(blis__fast_groups_schedule(engine, plan, request, chunk, is_there, error));
      live->computed_tokens = live->progress_tokens + live->new_tokens;
    }
    return BLIS_OK;
  }
  BLIS_TRY(blis__fast_make_room(engine, plan, request,
                                blis__fast_blocks_for(engine, request, chunk), is_there, error));
  if (!*is_there) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__fast_extend(engine, request, chunk), error);
  live->new_tokens = chunk;
  live->computed_tokens = live->progress_tokens + chunk;
  plan->budget_tokens -= chunk;
  return BLIS_OK;
}

static blis_status schedule_decode(fast_engine *engine, fast_plan *plan, fast_request *request,
                                   bool *is_there, blis_error *error) {
  if (engine->groups != NULL) {
    return blis__fast_groups_schedule(engine, plan, request, 1, is_there, error);
  }
  int64_t stored = blis__fast_stored(engine, request);
  int64_t blocks = stored % engine->config->block_size_tokens == 0;
  BLIS_TRY(blis__fast_make_room(engine, plan, request, blocks, is_there, error));
  if (!*is_there) {
    return BLIS_OK;
  }
  blis_run_pool_take_uncounted(engine->pool, blocks);
  engine->pool_misses += blocks;
  request->live->new_tokens = 1;
  plan->budget_tokens--;
  return blis__fast_name_output(engine, request, stored + 1) == BLIS_OK ? BLIS_OK
                                                                        : blis_fail_nomem(error);
}

static void sum_scheduled(const fast_engine *engine, fast_plan *plan) {
  for (const fast_request *r = engine->batch.head; r != NULL; r = next_in_batch(r)) {
    blis_batch_sums_add(&plan->sums,
                        &(blis_batch_item){.progress_tokens = blis__fast_progress(engine, r),
                                           .new_tokens = r->live->new_tokens,
                                           .prompt_tokens = r->live->prefill_tokens,
                                           .output_tokens = r->live->output_tokens});
  }
}

blis_status blis__fast_form_carefully(fast_engine *engine, fast_plan *plan, blis_error *error) {
  plan->is_careful = true;
  for (fast_request *r = engine->batch.head; r != NULL; r = next_in_batch(r)) {
    r->live->new_tokens = 0;
  }
  bool is_there = true;
  for (fast_request *r = engine->batch.head; r != NULL && plan->budget_tokens > 0;
       r = next_in_batch(r)) {
    BLIS_TRY(r->is_decoding ? schedule_decode(engine, plan, r, &is_there, error)
                            : schedule_prefill(engine, plan, r, &is_there, error));
    if (!is_there) {
      break; /* later requests are not admitted in this step either */
    }
  }
  sum_scheduled(engine, plan);
  return BLIS_OK;
}

static blis_status leave_behind(fast_engine *engine, fast_request *request, int64_t itl_us) {
  BLIS_TRY(blis__fast_skip_itl(engine, request, itl_us));
  if (engine->power != NULL) {
    blis_drawn_add(&request->token_before, &engine->power->step, 1);
  }
  --*blis__fast_boundary(engine, request->stored_base);
  blis__fast_naming_remove(engine, request);
  request->stored_base++;
  request->decode_base++;
  ++*blis__fast_boundary(engine, request->stored_base);
  BLIS_TRY(blis__fast_naming_add(engine, request));
  if (engine->groups != NULL) {
    blis__fast_groups_postpone(engine, request);
  }
  request->finish.step++;
  blis__finish_heap_postpone(&engine->finishes, &request->finish);
  if (engine->config->rules.resumes_preempted) {
    engine->gaps += request->gap_us == 0;
    request->gap_us += itl_us - engine->output_token_us;
  }
  return BLIS_OK;
}

/*
 * Records the latency of a token that follows skipped steps, so that it exceeds the duration of
 * this step.
 */
static blis_status close_gap(fast_engine *engine, fast_request *request, int64_t itl_us,
                             blis_error *error) {
  BLIS_TRY_MEM(blis__fast_skip_itl(engine, request, itl_us), error);
  if (engine->events.itl_us != NULL) {
    blis_histogram_remove(engine->events.itl_us, itl_us, 1);
  }
  int64_t gap_us = request->gap_us;
  request->gap_us = 0;
  engine->gaps--;
  return blis__fast_add_own_itl(engine, request, blis_time_after_us(itl_us, gap_us), error);
}

blis_status blis__fast_leave_behind(fast_engine *engine, int64_t itl_us, blis_error *error) {
  for (fast_request *r = engine->batch.head; r != NULL; r = next_in_batch(r)) {
    if (!r->is_decoding) {
      continue;
    }
    if (r->live->new_tokens == 0) {
      BLIS_TRY_MEM(leave_behind(engine, r, itl_us), error);
    } else if (r->gap_us > 0) {
      BLIS_TRY(close_gap(engine, r, itl_us, error));
    }
  }
  return BLIS_OK;
}
