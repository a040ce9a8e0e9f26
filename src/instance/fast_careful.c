/*
 * Forms the running part of a batch request by request, in batch order, when
 * there may not be enough blocks or token budget for everybody. The state is
 * that of the fast engine; only this one step is walked.
 */
#include <inttypes.h>

#include "instance/arrival.h"
#include "instance/fast_engine.h"

/*
 * So many preemptions in a row, in which no victim had got further than at
 * its preemption before and nobody completed, mean that nobody ever will.
 */
enum { STUCK_PREEMPTIONS = 1 << 20 };

static fast_request *next_in_batch(const fast_request *request) {
  return request->links[FAST_LINK_BATCH].next;
}

void blis__fast_uncount_itl(fast_engine *engine, const fast_request *request) {
  if (request->is_decoding) {
    blis__fast_take_back_itl(engine, request);
  }
}

void blis__fast_take_back_itl(fast_engine *engine,
                              const fast_request *request) {
  if (engine->events.itl_us == NULL) {
    return;
  }
  size_t skipped = 0; /* steps, of those in skipped_steps, which ascend */
  for (int64_t step = request->first_decode_step; step < engine->step_index;
       step++) {
    if (skipped < request->skipped_steps.count &&
        request->skipped_steps.items[skipped] == step) {
      skipped++;
      continue;
    }
    blis_histogram_remove(engine->events.itl_us,
                          blis__step_history_at(&engine->history, step), 1);
  }
}

blis_status blis__fast_leave_batch(fast_engine *engine, fast_request *request,
                                   int64_t stored_tokens) {
  blis__fast_list_remove(&engine->batch, request);
  if (request->is_decoding) {
    blis__fast_stop_decoding(engine, request);
  } else {
    blis__fast_list_remove(&engine->prefills, request);
  }
  return blis__fast_release(engine, request, stored_tokens);
}

/*
 * A preempted request may find its own prompt blocks again, so from now on
 * all of them are named: first those it holds.
 */
static blis_status track(fast_engine *engine, fast_request *request,
                         int64_t stored_tokens) {
  if (request->is_tracked) {
    return BLIS_OK;
  }
  request->is_tracked = true;
  if (!request->owns_prompt) {
    return BLIS_OK;
  }
  const blis_block_chain *chain = &request->live->chain;
  int64_t full = stored_tokens / engine->config->block_size_tokens;
  size_t limit = (size_t)blis_min_i64(full, chain->prompt_blocks);
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
  return a->priority != b->priority ? a->priority < b->priority
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
      "no request has got any further in %d preemptions up to %" PRId64
      " us: request_%" PRId64 " needs %" PRId64 " KV blocks and holds %" PRId64
      " tokens; %" PRId64 " of %" PRId64 " blocks are free",
      STUCK_PREEMPTIONS, engine->clock_us, victim->live->number,
      blis__needed_blocks(engine->config, victim->live), progress,
      blis_run_pool_free_blocks(engine->pool), engine->config->kv_blocks);
}

static blis_status preempt(fast_engine *engine, fast_plan *plan,
                           fast_request *victim) {
  blis_live_request *live = victim->live;
  int64_t stored = stored_now(engine, victim);
  blis__fast_uncount_itl(engine, victim);
  BLIS_TRY(track(engine, victim, stored));
  BLIS_TRY(blis__fast_leave_batch(engine, victim, stored));
  plan->budget_tokens += live->new_tokens;
  plan->is_preempted = true;
  live->new_tokens = 0;
  live->progress_tokens = 0;
  live->computed_tokens = 0;
  live->has_first_token = false;
  live->state = BLIS_REQUEST_QUEUED;
  victim->skipped_steps.count = 0;
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
  engine->stats.cache_misses += blocks;
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
                           .prompt_tokens = r->live->prompt_tokens,
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

blis_status blis__fast_leave_behind(fast_engine *engine, int64_t itl_us) {
  for (fast_request *r = engine->batch.head; r != NULL; r = next_in_batch(r)) {
    if (!r->is_decoding || r->live->new_tokens > 0) {
      continue;
    }
    BLIS_TRY(
        blis_array_push(&engine->alloc, &r->skipped_steps, engine->step_index));
    --*blis__fast_boundary(engine, r->stored_base);
    blis__fast_naming_remove(engine, r);
    r->stored_base++;
    r->decode_base++;
    r->itl_total_before += (uint64_t)itl_us;
    ++*blis__fast_boundary(engine, r->stored_base);
    BLIS_TRY(blis__fast_naming_add(engine, r));
    r->finish.step++;
    blis__finish_heap_postpone(&engine->finishes, &r->finish);
  }
  return BLIS_OK;
}
