#include "base/inline.h"
#include "base/invariant.h"
#include "instance/fast/fast_engine.h"
#include "instance/parts/rules.h"
#include "instance/parts/timing.h"
#include "latency/step/coverage.h"

blis_status blis__fast_release(fast_engine *engine, fast_request *request, int64_t stored_tokens) {
  if (engine->groups != NULL) {
    return blis__fast_give_back(engine, request);
  }
  request->holder.anonymous =
      blis__fast_blocks_of(engine, stored_tokens) - request->holder.named_blocks;
  BLIS_ASSERT(request->holder.anonymous >= 0);
  return blis__fast_give_back(engine, request);
}

blis_status blis__fast_start_decoding(fast_engine *engine, fast_request *request,
                                      int64_t least_steps) {
  const blis_live_request *live = request->live;
  int64_t next_step = engine->step_index;
  int64_t done = live->prefill_tokens;
  int64_t stored = request->owns_prompt ? done : request->holder.anonymous;
  int64_t steps = live->prompt_tokens + blis_max_i64(live->output_tokens, 1) - 1 - done;
  int64_t limit = engine->config->max_model_len_tokens;
  int64_t most_steps = blis_max_i64(limit - 1 - done, least_steps);
  request->is_length_capped = limit > 0 && most_steps < steps;
  if (request->is_length_capped) {
    steps = most_steps;
  }
  steps = blis_max_i64(steps, least_steps);
  BLIS_ASSERT(!request->is_decoding && steps >= 0);
  request->is_decoding = true;
  request->decode_base = next_step - done;
  request->stored_base = next_step - stored;
  request->first_decode_step = next_step;
  request->itl_total_before = engine->itl_total_us;
  request->token_before = engine->power == NULL ? (blis_drawn){0} : engine->power->token;
  request->finish.step = next_step + steps;
  engine->decodes++;
  engine->decode_context += done;
  engine->decode_prompts += live->prompt_tokens;
  ++*blis__fast_boundary(engine, request->stored_base);
  BLIS_TRY(blis__fast_naming_add(engine, request));
  if (engine->groups != NULL) {
    BLIS_TRY(blis__fast_groups_start(engine, request, least_steps > 0));
  }
  return blis__finish_heap_add(&engine->alloc, &engine->finishes, &request->finish);
}

void blis__fast_stop_decoding(fast_engine *engine, fast_request *request) {
  engine->decodes--;
  blis__fast_note_energy(engine, request);
  engine->gaps -= request->gap_us > 0;
  request->gap_us = 0;
  engine->decode_context -= blis__fast_progress(engine, request);
  engine->decode_prompts -= request->live->prompt_tokens;
  --*blis__fast_boundary(engine, request->stored_base);
  blis__fast_naming_remove(engine, request);
  if (engine->groups != NULL) {
    blis__fast_groups_stop(engine, request);
  }
  blis__finish_heap_remove(&engine->finishes, &request->finish);
  BLIS_ASSERT(engine->gaps >= 0);
  BLIS_ASSERT(engine->decode_context >= 0 && engine->decode_prompts >= 0);
  BLIS_ASSERT(*blis__fast_boundary(engine, request->stored_base) >= 0);
  BLIS_ASSERT(engine->finishes.slots.count == (size_t)engine->decodes);
  request->is_decoding = false;
}

/* Computes the step time from individual requests, for models and steps that need this. */
static blis_status time_by_items(fast_engine *engine, const fast_plan *plan, int64_t *step_us,
                                 blis_error *error) {
  engine->items.count = 0;
  for (const fast_request *r = engine->batch.head; r != NULL; r = r->links[FAST_LINK_BATCH].next) {
    bool is_whole = r->is_decoding && !plan->is_careful;
    int64_t new_tokens = is_whole ? 1 : r->live->new_tokens;
    if (new_tokens == 0) {
      continue;
    }
    blis_batch_item item = {.progress_tokens = blis__fast_progress(engine, r),
                            .new_tokens = new_tokens,
                            .prompt_tokens = r->live->prefill_tokens,
                            .output_tokens = r->live->output_tokens};
    BLIS_TRY_MEM(blis_array_push(&engine->alloc, &engine->items, item), error);
  }
  return blis_latency_step_time(engine->config->latency, engine->items.items, engine->items.count,
                                step_us, error);
}

static blis_status time_step(fast_engine *engine, const fast_plan *plan, int64_t *step_us,
                             blis_error *error) {
  if (!blis_latency_step_time_from_sums(engine->config->latency, &plan->sums, step_us)) {
    BLIS_TRY(time_by_items(engine, plan, step_us, error));
  }
  if (engine->adapters != NULL) {
    *step_us = blis_time_after_us(blis__adapters_step_us(engine->adapters, *step_us),
                                  blis__adapters_take_load_us(engine->adapters));
  }
  return blis__check_step_time(engine->config->latency, step_us, error);
}

static void count_uncovered(fast_engine *engine, const fast_plan *plan) {
  const blis_coverage *coverage = blis_latency_coverage(engine->config->latency);
  if (coverage != NULL) {
    engine->stats.uncovered_steps += blis_coverage_is_beyond(coverage, &plan->sums);
  }
}

/* Called when the step that ends at step_end_us completes the request's prefill. */
static blis_status finish_prefill(fast_engine *engine, fast_request *request, int64_t step_end_us,
                                  blis_error *error) {
  blis__fast_list_remove(&engine->prefills, request);
  BLIS_TRY_MEM(blis__fast_start_decoding(engine, request, 0), error);
  if (!request->live->has_first_token) {
    request->awaits_first = true;
    blis__fast_list_append(&engine->firsts, request);
    return BLIS_OK;
  }
  if (engine->events.recomputed != NULL) {
    engine->events.recomputed(engine->events.ud, request->live, step_end_us);
  }
  return blis__fast_add_own_itl(
      engine, request, step_end_us - request->token_end_us + engine->output_token_us, error);
}

static blis_status advance_prefills(fast_engine *engine, int64_t step_end_us, blis_error *error) {
  fast_request *next = NULL;
  for (fast_request *r = engine->prefills.head; r != NULL; r = next) {
    next = r->links[FAST_LINK_PREFILL].next;
    BLIS_TRY(blis__tell_computing(&engine->events, r->live, engine->clock_us, step_end_us, error));
    if (engine->power != NULL) {
      blis_drawn_add(&r->live->drawn, &engine->power->step, (uint64_t)r->live->new_tokens);
    }
    r->live->progress_tokens = r->live->computed_tokens;
    if (r->live->progress_tokens >= r->live->prefill_tokens) {
      BLIS_TRY(finish_prefill(engine, r, step_end_us, error));
    }
  }
  return BLIS_OK;
}

/* Emits the first tokens of the step that ends at step_end_us. */
static void give_first_tokens(fast_engine *engine, int64_t step_end_us) {
  int64_t token_us = blis_time_after_us(step_end_us, engine->output_token_us);
  while (engine->firsts.head != NULL) {
    fast_request *r = engine->firsts.head;
    blis__fast_list_remove(&engine->firsts, r);
    r->awaits_first = false;
    blis__note_first_token(r->live, token_us);
    if (engine->events.first_token != NULL) {
      engine->events.first_token(engine->events.ud, r->live, engine->clock_us);
    }
  }
}

/* Applies the tokens of this step, which takes duration_us. */
static BLIS_ALWAYS_INLINE blis_status advance(fast_engine *engine, const fast_plan *plan,
                                              int64_t duration_us, blis_error *error) {
  int64_t decodes = plan->sums.decode_requests;
  int64_t itl_us = duration_us + engine->output_token_us;
  BLIS_TRY(blis__fast_record_itl(engine, &itl_us, 1, (uint64_t)itl_us, decodes, error));
  engine->decode_context += decodes;
  if (plan->is_careful) {
    BLIS_TRY(blis__fast_leave_behind(engine, itl_us, error));
  }
  engine->step_index++;
  BLIS_ASSERT(engine->history.next_step == engine->step_index);
  return advance_prefills(engine, engine->last_step_end_us, error);
}

/*
 * Allocates the KV of the last token, as BLIS (Go) does although real servers do not store it. This
 * can evict a cached block. *stored is the number of the request's tokens in the cache afterwards.
 */
static blis_status store_last_token(fast_engine *engine, fast_request *request, int64_t *stored) {
  const blis_live_request *live = request->live;
  *stored = blis__fast_stored(engine, request);
  if (engine->config->rules.drops_last_kv || request->is_length_capped ||
      live->output_tokens == 0 ||
      blis__fast_progress(engine, request) >= live->prompt_tokens + live->output_tokens) {
    return BLIS_OK;
  }
  if (engine->groups != NULL) {
    return blis__fast_groups_store_last(engine, request, *stored);
  }
  if (*stored % engine->config->block_size_tokens == 0) {
    if (blis_run_pool_free_blocks(engine->pool) == 0) {
      engine->stats.kv_allocation_failures++;
      return BLIS_OK;
    }
    blis_run_pool_take_uncounted(engine->pool, 1);
    engine->pool_misses++;
  }
  ++*stored;
  return blis__fast_name_output(engine, request, *stored);
}

static void record_completion(fast_engine *engine, fast_request *request, int64_t produced_tokens) {
  blis_live_request *live = request->live;
  live->state = request->is_length_capped ? BLIS_REQUEST_LENGTH_CAPPED : BLIS_REQUEST_COMPLETED;
  live->progress_tokens = live->prompt_tokens + produced_tokens;
  live->itl_sum_us = blis__fast_itl_sum_us(engine, request);
  live->itl_count = produced_tokens;
  blis__fast_note_first_itl(engine, request);
  live->e2e_us = blis_time_after_us(live->ttft_us, live->itl_sum_us);
  if (live->output_tokens > 0) {
    live->e2e_us = blis_time_after_us(live->e2e_us, engine->fixed_overhead_us);
  }
  engine->stats.completed++;
  engine->stats.length_capped += request->is_length_capped;
  engine->stats.output_tokens += produced_tokens + (produced_tokens < live->output_tokens);
}

static blis_status tell_completed(fast_engine *engine, fast_request *request, int64_t end_us,
                                  blis_error *error) {
  bool counts_itl;
  BLIS_TRY(blis__tell_completed(&engine->events, request->live, end_us, &counts_itl, error));
  if (!counts_itl) {
    blis__fast_withdraw_itl(engine, request);
  }
  return BLIS_OK;
}

/*
 * Handles the completions of the step that ends at step_end_us, in order of admission, which is the
 * order of the batch.
 */
static blis_status complete(fast_engine *engine, int64_t now_us, int64_t step_end_us,
                            blis_error *error) {
  for (;;) {
    finish_entry *first = blis__finish_heap_first(&engine->finishes);
    if (first == NULL || first->step > engine->step_index) {
      return BLIS_OK;
    }
    fast_request *r = (fast_request *)((char *)first - offsetof(fast_request, finish));
    blis_live_request *live = r->live;
    int64_t stored = 0;
    BLIS_TRY_MEM(store_last_token(engine, r, &stored), error);
    int64_t produced = blis__fast_progress(engine, r) - live->prompt_tokens;
    engine->fruitless_preemptions = 0;
    blis__fast_stop_decoding(engine, r);
    blis__fast_list_remove(&engine->batch, r);
    if (engine->adapters != NULL) {
      blis__adapters_left_batch(engine->adapters, live);
    }
    record_completion(engine, r, produced);
    bool holds_kv = live->holds_kv && live->state == BLIS_REQUEST_COMPLETED;
    if (holds_kv) {
      blis__fast_hold(engine, r, stored);
    } else {
      BLIS_TRY_MEM(blis__fast_release(engine, r, stored), error);
    }
    int64_t end_us = blis__leaves_at_us(engine->config, live, step_end_us);
    BLIS_TRY(tell_completed(engine, r, end_us, error));
    if (end_us <= engine->config->horizon_us) {
      engine->left_us = blis_max_i64(engine->left_us, end_us);
    }
    if (!holds_kv) {
      blis__fast_request_spare(engine, r);
    }
    BLIS_TRY(engine->events.ended(engine->events.ud, live, now_us, end_us, error));
  }
}

blis_status blis__fast_land(fast_engine *engine, blis_error *error) {
  engine->clock_us = engine->step_us;
  if (!engine->config->rules.leaves_at_step_end) {
    return BLIS_OK;
  }
  if (engine->firsts.head != NULL) {
    give_first_tokens(engine, engine->clock_us);
  }
  const finish_entry *first = blis__finish_heap_first(&engine->finishes);
  return first == NULL || first->step > engine->step_index
             ? BLIS_OK
             : complete(engine, engine->clock_us, engine->clock_us, error);
}

blis_status blis__fast_step(fast_engine *engine, blis_error *error) {
  int64_t now_us = engine->step_us;
  engine->clock_us = now_us;
  if (engine->batch.count == 0 && engine->queue.count == 0) {
    engine->step_us = BLIS_TIME_NEVER_US;
    return BLIS_OK;
  }
  fast_plan plan = {.budget_tokens = engine->config->max_batched_tokens};
  int64_t changes = engine->releases + engine->namings;
  if (engine->queue.count > 0) {
    BLIS_TRY(blis__wait_queue_order(&engine->queue, error));
  }
  BLIS_TRY(blis__fast_form(engine, &plan, error));
  BLIS_TRY(blis__fast_admit(engine, &plan, now_us, error));
  BLIS_ASSERT(plan.budget_tokens >= 0);
  BLIS_ASSERT(engine->prefills.count + engine->decodes == engine->batch.count);
  BLIS_ASSERT(engine->batch.count <= engine->config->max_num_seqs);
  if (engine->batch.count == 0 && !plan.is_preempted &&
      (!engine->config->defects.steps_empty ||
       blis__fast_load_end_us(engine) < BLIS_TIME_NEVER_US)) {
    /* Nothing can run: requests that do not run hold the blocks, or adapters are being loaded. */
    engine->step_us = BLIS_TIME_NEVER_US;
    return BLIS_OK;
  }
  bool is_empty = engine->batch.count == 0;
  engine->stats.steps++;
  engine->stats.queue_depth_sum += engine->queue.count + engine->loads.count;
  int64_t duration_us = 0;
  BLIS_TRY(time_step(engine, &plan, &duration_us, error));
  count_uncovered(engine, &plan);
  engine->stats.busy_us = blis_time_after_us(engine->stats.busy_us, duration_us);
  if (plan.sums.prefill_tokens > 0) {
    engine->stats.prefill_us = blis_time_after_us(engine->stats.prefill_us, duration_us);
  }
  if (engine->power != NULL) {
    BLIS_TRY(blis__power_step(engine->power, &plan.sums, now_us, duration_us, error));
  }
  int64_t end_us = blis_time_after_us(now_us, duration_us);
  engine->last_step_us = duration_us;
  engine->last_step_end_us = end_us;
  BLIS_TRY(advance(engine, &plan, duration_us, error));
  if (!engine->config->rules.leaves_at_step_end) {
    give_first_tokens(engine, end_us);
    BLIS_TRY(complete(engine, now_us, end_us, error));
  }
  engine->idles = is_empty && !plan.is_preempted && engine->queue.count > 0 &&
                  engine->queue.is_ordered && engine->releases + engine->namings == changes;
  bool has_work = engine->batch.count > 0 || engine->queue.count > 0;
  engine->step_us = has_work ? end_us : BLIS_TIME_NEVER_US;
  return BLIS_OK;
}
