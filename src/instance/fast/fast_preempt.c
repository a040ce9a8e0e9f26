/* Preemption: selection of the victim, its remaining state, and blocks for the remaining
   requests. */
#include <inttypes.h>

#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/arrival.h"
#include "instance/parts/rules.h"

/* After this many consecutive preemptions in which no victim has progressed since its previous
   preemption and no request completed, no request can ever complete. */
enum { STUCK_PREEMPTIONS = 1 << 20 };

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

blis_status blis__fast_track(fast_engine *engine, fast_request *request, int64_t stored_tokens) {
  const blis_instance_config *config = engine->config;
  request->is_tracked = true;
  if (!request->owns_prompt || engine->groups != NULL) {
    return BLIS_OK;
  }
  int64_t tokens = stored_tokens;
  if (!config->rules.resumes_preempted || config->block_size_tokens == 1) {
    tokens = blis_min_i64(tokens, request->live->prefill_tokens);
  }
  int64_t limit = tokens / config->block_size_tokens;
  /* Anonymous blocks are not counted during decoding. */
  request->holder.anonymous += limit;
  int64_t taken = 0;
  BLIS_TRY(blis_run_pool_name_up_to(engine->pool, &request->holder, &request->live->chain, limit,
                                    &taken));
  BLIS_ASSERT(taken == 0);
  return BLIS_OK;
}

static bool is_more_urgent(const blis_live_request *a, const blis_live_request *b) {
  return a->priority != b->priority ? a->priority > b->priority : a->arrival_us < b->arrival_us;
}

/* Returns the least urgent request; on a tie the latest one, and then the last one in the batch. */
static fast_request *least_urgent(const fast_engine *engine) {
  fast_request *victim = engine->batch.tail;
  for (fast_request *r = victim; r != NULL; r = r->links[FAST_LINK_BATCH].previous) {
    if (is_more_urgent(victim->live, r->live)) {
      victim = r;
    }
  }
  return victim;
}

static blis_status ask_for_victim(fast_engine *engine, fast_request **victim, blis_error *error) {
  engine->running.count = 0;
  for (const fast_request *r = engine->batch.head; r != NULL; r = r->links[FAST_LINK_BATCH].next) {
    const blis_running_request shown = {r->live, blis__fast_progress(engine, r)};
    BLIS_TRY_MEM(blis_array_push(&engine->alloc, &engine->running, shown), error);
  }
  size_t index = 0;
  BLIS_TRY(engine->config->choose_victim(engine->config->choose_victim_ud, engine->running.items,
                                         engine->running.count, &index, error));
  *victim = engine->batch.head;
  while (index-- > 0) {
    *victim = (*victim)->links[FAST_LINK_BATCH].next;
  }
  return BLIS_OK;
}

static blis_status choose_victim(fast_engine *engine, fast_request **victim, blis_error *error) {
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

/* Returns the number of stored tokens of the victim, including the tokens of this step. */
static int64_t stored_now(const fast_engine *engine, const fast_request *victim) {
  return blis__fast_stored(engine, victim) + victim->live->new_tokens;
}

static blis_status check_progress(fast_engine *engine, fast_request *victim, blis_error *error) {
  int64_t progress = blis__fast_progress(engine, victim);
  if (progress > victim->furthest_tokens) {
    victim->furthest_tokens = progress;
    engine->fruitless_preemptions = 0;
    return BLIS_OK;
  }
  if (++engine->fruitless_preemptions < STUCK_PREEMPTIONS) {
    return BLIS_OK;
  }
  const blis_live_request *live = victim->live;
  char id[BLIS_REQUEST_ID_SIZE];
  return blis_fail(error, BLIS_ERR_STUCK,
                   "no request has made progress in %d preemptions up to %" PRId64
                   " us: %s needs %" PRId64 " KV blocks and holds %" PRId64 " tokens; %" PRId64
                   " of %" PRId64 " blocks are free",
                   STUCK_PREEMPTIONS, engine->clock_us,
                   blis_request_id_of(live->number, live->session, live->round_index, id),
                   blis__needed_blocks(engine->config, live), progress,
                   blis__fast_free_blocks(engine), engine->config->kv_blocks);
}

blis_status blis__fast_preempt(fast_engine *engine, fast_plan *plan, fast_request *victim,
                               blis_error *error) {
  blis_live_request *live = victim->live;
  int64_t progress = blis__fast_progress(engine, victim);
  int64_t stored = stored_now(engine, victim);
  BLIS_TRY(check_progress(engine, victim, error));
  if (engine->config->rules.resumes_preempted) {
    BLIS_TRY_MEM(blis__fast_keep_itl(engine, victim), error);
  } else {
    blis__fast_withdraw_itl(engine, victim);
  }
  BLIS_TRY_MEM(blis__fast_track(engine, victim, stored), error);
  BLIS_TRY_MEM(blis__fast_leave_batch(engine, victim, stored), error);
  plan->budget_tokens += live->new_tokens;
  BLIS_ASSERT(plan->budget_tokens <= engine->config->max_batched_tokens);
  plan->is_preempted = true;
  blis__note_preemption(engine->config, &engine->events, live, progress, engine->clock_us);
  engine->stats.preemptions++;
  if (engine->adapters != NULL) {
    blis__adapters_preempted(engine->adapters, live);
  }
  blis__wait_queue_push_front(&engine->queue, &victim->waiting);
  return BLIS_OK;
}

blis_status blis__fast_preempt_one(fast_engine *engine, fast_plan *plan,
                                   const fast_request *request, bool *is_there, blis_error *error) {
  fast_request *victim = NULL;
  BLIS_TRY(choose_victim(engine, &victim, error));
  BLIS_TRY(blis__fast_preempt(engine, plan, victim, error));
  *is_there = victim != request;
  return BLIS_OK;
}

blis_status blis__fast_make_room(fast_engine *engine, fast_plan *plan, const fast_request *request,
                                 int64_t blocks, bool *is_there, blis_error *error) {
  *is_there = true;
  while (*is_there && blis_run_pool_free_blocks(engine->pool) < blocks) {
    BLIS_TRY(blis__fast_preempt_one(engine, plan, request, is_there, error));
  }
  return BLIS_OK;
}
