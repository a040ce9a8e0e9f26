/*
 * Forms a batch: admits from the queue and, where blocks or token budget may
 * not suffice for all, walks the running requests one by one in batch order.
 * The state stays that of the fast engine; only this step is walked.
 */
#include <inttypes.h>

#include "base/invariant.h"
#include "instance/arrival.h"
#include "instance/fast_engine.h"
#include "instance/rules.h"
#include "instance/timing.h"

/* Admission. */

bool blis__fast_is_blocked(const fast_engine *engine, int64_t budget_tokens) {
  const fast_block *block = &engine->block;
  return block->head != NULL && engine->queue.head != NULL &&
         block->head == engine->queue.head->request->engine &&
         block->table_version == blis_run_pool_table_version(engine->pool) &&
         block->releases == engine->releases &&
         block->budget_tokens == budget_tokens;
}

/*
 * Nothing the head needs can shrink, and the free blocks can only get fewer,
 * until blocks are given back, the prefix table changes, or the head or the
 * budget is another one.
 */
static void remember_block(fast_engine *engine, const fast_request *head,
                           int64_t budget_tokens) {
  engine->block =
      (fast_block){.head = head,
                   .table_version = blis_run_pool_table_version(engine->pool),
                   .releases = engine->releases,
                   .budget_tokens = budget_tokens};
}

/* The empty prompt: the first output token is stored at admission already. */
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
 * Claims what is cached and takes blocks for chunk more tokens. A chunk of 0
 * (the whole prompt is cached) claims nothing: the blocks stay on the free
 * list while the request runs.
 */
static blis_status allocate(fast_engine *engine, fast_request *request,
                            uint32_t cached_blocks, int64_t chunk_tokens) {
  request->owns_prompt = chunk_tokens > 0;
  if (chunk_tokens == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_run_pool_claim(engine->pool, &request->holder,
                               &request->live->chain, cached_blocks));
  engine->pool_hits += cached_blocks;
  /* What is claimed is stored; extend goes on from there. */
  request->live->progress_tokens =
      (int64_t)cached_blocks * engine->config->block_size_tokens;
  BLIS_TRY(blis__fast_extend(engine, request, chunk_tokens));
  return BLIS_OK;
}

/* *is_admitted = false: there are not enough blocks, and nothing changed. */
static blis_status try_head(fast_engine *engine, fast_request *request,
                            fast_plan *plan, bool *is_admitted) {
  blis_live_request *live = request->live;
  *is_admitted = false;
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
  uint32_t cached = blis_run_pool_match(engine->pool, chain, limit, &unused);
  int64_t cached_tokens = (int64_t)cached * engine->config->block_size_tokens;
  live->progress_tokens = cached_tokens;
  int64_t chunk = blis__fast_wanted_chunk(engine, request);
  chunk = blis_min_i64(chunk, plan->budget_tokens);
  live->progress_tokens = 0;
  if (blis__fast_blocks_of(engine, chunk) + unused >
      blis_run_pool_free_blocks(engine->pool)) {
    return BLIS_OK;
  }
  BLIS_TRY(allocate(engine, request, cached, chunk));
  /* What the latency model is told in this step. */
  bool knows_context = engine->config->rules.knows_cached_context && chunk > 0;
  live->progress_tokens = knows_context ? cached_tokens : 0;
  live->new_tokens = chunk;
  live->computed_tokens = cached_tokens + chunk;
  *is_admitted = true;
  return BLIS_OK;
}

static void enter_batch(fast_engine *engine, fast_request *request,
                        fast_plan *plan, int64_t now_us) {
  const blis_instance_config *config = engine->config;
  blis_live_request *live = request->live;
  int64_t cached_tokens = live->computed_tokens - live->new_tokens;
  blis__wait_queue_remove(&engine->queue, &request->waiting);
  request->finish.order = engine->next_order++;
  blis__fast_list_append(&engine->batch, request);
  blis__fast_list_append(&engine->prefills, request);
  blis__count_prompt_blocks(
      config, live, cached_tokens / config->block_size_tokens, &engine->stats);
  blis__note_admission(config, live, now_us,
                       now_us <= engine->last_step_end_us ? engine->last_step_us
                                                          : 0);
  plan->budget_tokens -= live->new_tokens;
  blis_batch_sums_add(
      &plan->sums, &(blis_batch_item){.progress_tokens = live->progress_tokens,
                                      .new_tokens = live->new_tokens,
                                      .prompt_tokens = live->prefill_tokens,
                                      .output_tokens = live->output_tokens});
}

blis_status blis__fast_admit(fast_engine *engine, fast_plan *plan,
                             int64_t now_us, blis_error *error) {
  if (engine->queue.count > 0) {
    BLIS_TRY(blis__wait_queue_order(&engine->queue, error));
  }
  while (engine->queue.count > 0 && plan->budget_tokens > 0 &&
         engine->batch.count < engine->config->max_num_seqs &&
         !blis__fast_is_blocked(engine, plan->budget_tokens)) {
    fast_request *head = engine->queue.head->request->engine;
    bool is_admitted = false;
    BLIS_TRY_MEM(try_head(engine, head, plan, &is_admitted), error);
    if (!is_admitted) {
      remember_block(engine, head, plan->budget_tokens);
      return BLIS_OK;
    }
    enter_batch(engine, head, plan, now_us);
  }
  return BLIS_OK;
}

/* Formation under shortage. */

/*
 * So many preemptions in a row, in which no victim had got further than at
 * its preemption before and nobody completed, mean that nobody ever will.
 */
enum { STUCK_PREEMPTIONS = 1 << 20 };

static fast_request *next_in_batch(const fast_request *request) {
  return request->links[FAST_LINK_BATCH].next;
}

/*
 * Calls visit for the latencies of the steps since it decodes, but those of
 * skipped_steps, which ascend.
 */
static blis_status for_each_step(fast_engine *engine,
                                 const fast_request *request,
                                 blis_status (*visit)(fast_engine *engine,
                                                      void *ud, int64_t itl_us),
                                 void *ud) {
  size_t skipped = 0;
  for (int64_t step = request->first_decode_step; step < engine->step_index;
       step++) {
    if (skipped < request->skipped_steps.count &&
        request->skipped_steps.items[skipped] == step) {
      skipped++;
      continue;
    }
    BLIS_TRY(visit(engine, ud, blis__step_history_at(&engine->history, step)));
  }
  return BLIS_OK;
}

static blis_status uncount(fast_engine *engine, void *ud, int64_t itl_us) {
  (void)ud;
  blis_histogram_remove(engine->events.itl_us, itl_us, 1);
  return BLIS_OK;
}

void blis__fast_uncount_itl(fast_engine *engine, const fast_request *request) {
  if (engine->events.itl_us == NULL) {
    return;
  }
  for (size_t i = 0; i < request->own_itl_us.count; i++) {
    blis_histogram_remove(engine->events.itl_us, request->own_itl_us.items[i],
                          1);
  }
  blis_status status = for_each_step(engine, request, uncount, NULL);
  BLIS_ASSERT(status == BLIS_OK);
}

/* One that is in the histogram already. */
static blis_status own(fast_engine *engine, void *ud, int64_t itl_us) {
  fast_request *request = ud;
  request->own_itl_sum_us = blis_time_after_us(request->own_itl_sum_us, itl_us);
  return engine->events.itl_us == NULL
             ? BLIS_OK
             : blis_array_push(&engine->alloc, &request->own_itl_us, itl_us);
}

blis_status blis__fast_add_own_itl(fast_engine *engine, fast_request *request,
                                   int64_t itl_us, blis_error *error) {
  BLIS_TRY_MEM(own(engine, request, itl_us), error);
  return blis__count_itl(engine->events.itl_us, &itl_us, 1, 1, error);
}

/* It stops decoding, but what it has given stays given. */
static blis_status keep_tokens(fast_engine *engine, fast_request *request) {
  if (!request->is_decoding) {
    return BLIS_OK;
  }
  blis_live_request *live = request->live;
  BLIS_TRY(for_each_step(engine, request, own, request));
  blis__fast_note_progress(engine, request);
  live->itl_sum_us = request->own_itl_sum_us;
  request->token_end_us = engine->clock_us - request->gap_us;
  return BLIS_OK;
}

blis_status blis__fast_leave_batch(fast_engine *engine, fast_request *request,
                                   int64_t stored_tokens) {
  blis__fast_list_remove(&engine->batch, request);
  if (request->awaits_first) {
    request->awaits_first = false;
    blis__fast_list_remove(&engine->firsts, request);
  }
  if (request->is_decoding) {
    blis__fast_stop_decoding(engine, request);
  } else {
    blis__fast_list_remove(&engine->prefills, request);
  }
  return blis__fast_release(engine, request, stored_tokens);
}

/*
 * A preempted request may find its own blocks again, so from now on all that
 * its prefills fill are named: first those it holds, with those that decoding
 * has filled where it resumes. Blocks of one token are not named by decoding.
 */
static blis_status track(fast_engine *engine, fast_request *request,
                         int64_t stored_tokens) {
  const blis_instance_config *config = engine->config;
  request->is_tracked = true;
  if (!request->owns_prompt) {
    return BLIS_OK;
  }
  const blis_block_chain *chain = &request->live->chain;
  int64_t tokens = stored_tokens;
  if (!config->rules.resumes_preempted || config->block_size_tokens == 1) {
    tokens = blis_min_i64(tokens, request->live->prefill_tokens);
  }
  size_t limit = (size_t)(tokens / config->block_size_tokens);
  blis_run_holder *holder = &request->holder;
  /* While decoding, nobody has kept count of the anonymous blocks. */
  holder->anonymous += (int64_t)limit;
  while (holder->named.count < limit) {
    BLIS_TRY(blis_run_pool_name(
        engine->pool, holder,
        blis_block_chain_at(chain, (uint32_t)holder->named.count)));
  }
  return BLIS_OK;
}

static bool is_more_urgent(const blis_live_request *a,
                           const blis_live_request *b) {
  return a->priority != b->priority ? a->priority > b->priority
                                    : a->arrival_us < b->arrival_us;
}

/* The last of the least urgent, latest ones. */
static fast_request *least_urgent(const fast_engine *engine) {
  fast_request *victim = engine->batch.tail;
  for (fast_request *r = victim; r != NULL;
       r = r->links[FAST_LINK_BATCH].previous) {
    if (is_more_urgent(victim->live, r->live)) {
      victim = r;
    }
  }
  return victim;
}

static blis_status ask_for_victim(fast_engine *engine, fast_request **victim,
                                  blis_error *error) {
  engine->running.count = 0;
  for (const fast_request *r = engine->batch.head; r != NULL;
       r = next_in_batch(r)) {
    const blis_running_request shown = {r->live,
                                        blis__fast_progress(engine, r)};
    BLIS_TRY_MEM(blis_array_push(&engine->alloc, &engine->running, shown),
                 error);
  }
  size_t index = 0;
  BLIS_TRY(engine->config->choose_victim(engine->config->choose_victim_ud,
                                         engine->running.items,
                                         engine->running.count, &index, error));
  *victim = engine->batch.head;
  while (index-- > 0) {
    *victim = next_in_batch(*victim);
  }
  return BLIS_OK;
}

static blis_status choose_victim(fast_engine *engine, fast_request **victim,
                                 blis_error *error) {
  switch (engine->config->preemption) {
  case BLIS_PREEMPTION_FCFS:
    *victim = engine->batch.tail;
    return BLIS_OK;
  case BLIS_PREEMPTION_PRIORITY:
    *victim = least_urgent(engine);
    return BLIS_OK;
  case BLIS_PREEMPTION_SCRIPTED:
    break;
  }
  return ask_for_victim(engine, victim, error);
}

/* What the victim has stored, what it got in this very step included. */
static int64_t stored_now(const fast_engine *engine,
                          const fast_request *victim) {
  return blis__fast_stored(engine, victim) + victim->live->new_tokens;
}

static blis_status check_progress(fast_engine *engine, fast_request *victim,
                                  blis_error *error) {
  int64_t progress = blis__fast_progress(engine, victim);
  if (progress > victim->furthest_tokens) {
    victim->furthest_tokens = progress;
    engine->fruitless_preemptions = 0;
    return BLIS_OK;
  }
  if (++engine->fruitless_preemptions < STUCK_PREEMPTIONS) {
    return BLIS_OK;
  }
  return blis_fail(
      error, BLIS_ERR_STUCK,
      "no request has made progress in %d preemptions up to %" PRId64
      " us: request_%" PRId64 " needs %" PRId64 " KV blocks and holds %" PRId64
      " tokens; %" PRId64 " of %" PRId64 " blocks are free",
      STUCK_PREEMPTIONS, engine->clock_us, victim->live->number,
      blis__needed_blocks(engine->config, victim->live), progress,
      blis_run_pool_free_blocks(engine->pool), engine->config->kv_blocks);
}

static blis_status preempt(fast_engine *engine, fast_plan *plan,
                           fast_request *victim) {
  blis_live_request *live = victim->live;
  int64_t progress = blis__fast_progress(engine, victim);
  int64_t stored = stored_now(engine, victim);
  if (engine->config->rules.resumes_preempted) {
    BLIS_TRY(keep_tokens(engine, victim));
  } else {
    blis__fast_uncount_itl(engine, victim);
  }
  BLIS_TRY(track(engine, victim, stored));
  BLIS_TRY(blis__fast_leave_batch(engine, victim, stored));
  plan->budget_tokens += live->new_tokens;
  BLIS_ASSERT(plan->budget_tokens <= engine->config->max_batched_tokens);
  plan->is_preempted = true;
  victim->skipped_steps.count = 0;
  victim->first_decode_step = INT64_MAX;
  blis__note_preemption(engine->config, live, progress);
  engine->stats.preemptions++;
  blis__wait_queue_push_front(&engine->queue, &victim->waiting);
  return BLIS_OK;
}

/* *is_there = false: request itself was preempted to make room. */
static blis_status make_room(fast_engine *engine, fast_plan *plan,
                             fast_request *request, int64_t blocks,
                             bool *is_there, blis_error *error) {
  *is_there = true;
  while (blis_run_pool_free_blocks(engine->pool) < blocks) {
    fast_request *victim = NULL;
    BLIS_TRY(choose_victim(engine, &victim, error));
    BLIS_TRY(check_progress(engine, victim, error));
    BLIS_TRY_MEM(preempt(engine, plan, victim), error);
    if (victim == request) {
      *is_there = false;
      return BLIS_OK;
    }
  }
  return BLIS_OK;
}

static blis_status schedule_prefill(fast_engine *engine, fast_plan *plan,
                                    fast_request *request, bool *is_there,
                                    blis_error *error) {
  blis_live_request *live = request->live;
  int64_t chunk = blis__fast_wanted_chunk(engine, request);
  chunk = blis_min_i64(chunk, plan->budget_tokens);
  BLIS_TRY(make_room(engine, plan, request,
                     blis__fast_blocks_for(engine, request, chunk), is_there,
                     error));
  if (!*is_there) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__fast_extend(engine, request, chunk), error);
  live->new_tokens = chunk;
  live->computed_tokens = live->progress_tokens + chunk;
  plan->budget_tokens -= chunk;
  return BLIS_OK;
}

static blis_status schedule_decode(fast_engine *engine, fast_plan *plan,
                                   fast_request *request, bool *is_there,
                                   blis_error *error) {
  int64_t stored = blis__fast_stored(engine, request);
  int64_t blocks = stored % engine->config->block_size_tokens == 0;
  BLIS_TRY(make_room(engine, plan, request, blocks, is_there, error));
  if (!*is_there) {
    return BLIS_OK;
  }
  blis_run_pool_take_uncounted(engine->pool, blocks);
  engine->pool_misses += blocks;
  request->live->new_tokens = 1;
  plan->budget_tokens--;
  return blis__fast_name_output(engine, request, stored + 1) == BLIS_OK
             ? BLIS_OK
             : blis_fail_nomem(error);
}

static void sum_scheduled(const fast_engine *engine, fast_plan *plan) {
  for (const fast_request *r = engine->batch.head; r != NULL;
       r = next_in_batch(r)) {
    blis_batch_sums_add(
        &plan->sums,
        &(blis_batch_item){.progress_tokens = blis__fast_progress(engine, r),
                           .new_tokens = r->live->new_tokens,
                           .prompt_tokens = r->live->prefill_tokens,
                           .output_tokens = r->live->output_tokens});
  }
}

blis_status blis__fast_form_carefully(fast_engine *engine, fast_plan *plan,
                                      blis_error *error) {
  plan->is_careful = true;
  for (fast_request *r = engine->batch.head; r != NULL; r = next_in_batch(r)) {
    r->live->new_tokens = 0;
  }
  bool is_there = true;
  for (fast_request *r = engine->batch.head;
       r != NULL && plan->budget_tokens > 0; r = next_in_batch(r)) {
    BLIS_TRY(r->is_decoding
                 ? schedule_decode(engine, plan, r, &is_there, error)
                 : schedule_prefill(engine, plan, r, &is_there, error));
    if (!is_there) {
      break; /* nobody behind it is served in this step either */
    }
  }
  sum_scheduled(engine, plan);
  return BLIS_OK;
}

/* The latency of this step is not one of the request's. */
static blis_status skip_latency(fast_engine *engine, fast_request *request,
                                int64_t itl_us) {
  request->itl_total_before += (uint64_t)itl_us;
  return blis_array_push(&engine->alloc, &request->skipped_steps,
                         engine->step_index);
}

static blis_status leave_behind(fast_engine *engine, fast_request *request,
                                int64_t itl_us) {
  BLIS_TRY(skip_latency(engine, request, itl_us));
  --*blis__fast_boundary(engine, request->stored_base);
  blis__fast_naming_remove(engine, request);
  request->stored_base++;
  request->decode_base++;
  ++*blis__fast_boundary(engine, request->stored_base);
  BLIS_TRY(blis__fast_naming_add(engine, request));
  request->finish.step++;
  blis__finish_heap_postpone(&engine->finishes, &request->finish);
  if (engine->config->rules.resumes_preempted) {
    engine->gaps += request->gap_us == 0;
    request->gap_us += itl_us - engine->output_token_us;
  }
  return BLIS_OK;
}

/* The token of this step has come later than the step alone would say. */
static blis_status close_gap(fast_engine *engine, fast_request *request,
                             int64_t itl_us, blis_error *error) {
  BLIS_TRY_MEM(skip_latency(engine, request, itl_us), error);
  if (engine->events.itl_us != NULL) {
    blis_histogram_remove(engine->events.itl_us, itl_us, 1);
  }
  int64_t gap_us = request->gap_us;
  request->gap_us = 0;
  engine->gaps--;
  return blis__fast_add_own_itl(engine, request,
                                blis_time_after_us(itl_us, gap_us), error);
}

blis_status blis__fast_leave_behind(fast_engine *engine, int64_t itl_us,
                                    blis_error *error) {
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
