/* Execution of one step. All its effects happen at its start. */
#include <inttypes.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "instance/parts/arrival.h"
#include "instance/parts/rules.h"
#include "instance/parts/speculation.h"
#include "instance/parts/timing.h"
#include "instance/stepwise/stepwise.h"
#include "latency/step/coverage.h"

/* Returns whether the plan of a script computes nothing and waits. */
static bool is_waiting(const blis__stepwise *engine) {
  return engine->items.count == 0 && engine->config->make_batch != NULL;
}

static void count_uncovered(blis__stepwise *engine) {
  const blis_coverage *coverage = blis_latency_coverage(engine->config->latency);
  if (coverage != NULL) {
    const blis_batch_sums sums = blis_batch_sums_of(engine->items.items, engine->items.count);
    engine->counts.uncovered_steps += blis_coverage_is_beyond(coverage, &sums);
  }
}

/* Verified tokens are decodes with consecutive contexts. */
static blis_status add_items(blis__stepwise *engine, blis_batch_item item,
                             const blis__sequence *sequence) {
  if (sequence->drafted_tokens == 0) {
    return item.new_tokens > 0 ? blis_array_push(&engine->alloc, &engine->items, item) : BLIS_OK;
  }
  int64_t verified = item.new_tokens + sequence->ahead_tokens;
  BLIS_TRY(
      blis_array_reserve(&engine->alloc, &engine->items, engine->items.count + (size_t)verified));
  item.new_tokens = 1;
  for (int64_t i = 0; i < verified; i++) {
    engine->items.items[engine->items.count++] = item;
    item.progress_tokens++;
  }
  return BLIS_OK;
}

/* Returns the time needed to draft the tokens that the step verifies. */
static int64_t draft_us(const blis__stepwise *engine) {
  int64_t count = 0;
  int64_t drafted = 0;
  if (engine->config->speculation == NULL) {
    return 0;
  }
  for (size_t i = 0; i < engine->batch.count; i++) {
    int64_t tokens = engine->batch.items[i]->drafted_tokens;
    count += tokens > 0;
    drafted = blis_max_i64(drafted, tokens);
  }
  return count == 0 ? 0 : blis__draft_us(engine->config->speculation, count, drafted);
}

/* Computes the energy of the step, and assigns it to requests. */
static blis_status count_energy(blis__stepwise *engine, int64_t step_us, blis_error *error) {
  blis__power *power = engine->power;
  if (power == NULL || is_waiting(engine)) {
    return BLIS_OK;
  }
  const blis_batch_sums sums = blis_batch_sums_of(engine->items.items, engine->items.count);
  BLIS_TRY(blis__power_step(power, &sums, engine->clock_us, step_us, error));
  for (size_t i = 0; i < engine->batch.count; i++) {
    const blis__sequence *sequence = engine->batch.items[i];
    blis_live_request *request = sequence->place.request;
    bool is_prefill = request->progress_tokens < request->prefill_tokens;
    int64_t verified = sequence->drafted_tokens > 0 ? sequence->ahead_tokens : 0;
    if (request->new_tokens > 0 && (is_prefill || request->output_tokens > 0)) {
      blis_drawn_add(&request->drawn, &power->step, (uint64_t)(request->new_tokens + verified));
    }
  }
  return BLIS_OK;
}

static blis_status measure(blis__stepwise *engine, int64_t *step_us, bool *is_prefill,
                           blis_error *error) {
  engine->items.count = 0;
  *is_prefill = false;
  for (size_t i = 0; i < engine->batch.count; i++) {
    const blis__sequence *sequence = engine->batch.items[i];
    const blis_live_request *request = sequence->place.request;
    blis_batch_item item = {
        .progress_tokens = request->progress_tokens,
        .new_tokens = request->new_tokens,
        .prompt_tokens = request->prefill_tokens,
        .output_tokens = request->output_tokens,
    };
    BLIS_TRY_MEM(add_items(engine, item, sequence), error);
    *is_prefill |= item.new_tokens > 0 && item.progress_tokens < item.prompt_tokens;
  }
  for (size_t i = 0; i < engine->wasted.count; i++) {
    BLIS_TRY_MEM(blis_array_push(&engine->alloc, &engine->items, engine->wasted.items[i]), error);
  }
  BLIS_TRY(blis_latency_step_time(engine->config->latency, engine->items.items, engine->items.count,
                                  step_us, error));
  if (engine->adapters != NULL) {
    *step_us = blis_time_after_us(blis__adapters_step_us(engine->adapters, *step_us),
                                  blis__adapters_take_load_us(engine->adapters));
  }
  if (is_waiting(engine)) {
    *step_us = engine->wait_us;
  }
  count_uncovered(engine);
  int64_t transfer_us = engine->cache == NULL ? 0 : blis_kv_cache_take_transfer_us(engine->cache);
  transfer_us = blis_time_after_us(transfer_us, draft_us(engine));
  *step_us = blis_time_after_us(blis_max_i64(*step_us, 0), transfer_us);
  return blis__check_step_time(engine->config->latency, step_us, error);
}

static blis_status count_latency(blis__stepwise *engine, blis__sequence *sequence, int64_t itl_us,
                                 blis_error *error) {
  blis_live_request *request = sequence->place.request;
  if (engine->events.itl_us != NULL &&
      blis_array_push(&engine->alloc, &sequence->itl_us, itl_us) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  if (request->itl_count == 0) {
    sequence->first_itl_us = itl_us;
  }
  request->itl_sum_us = blis_time_after_us(request->itl_sum_us, itl_us);
  request->itl_count++;
  return BLIS_OK;
}

/* Counts a token after the first one. */
static blis_status count_token(blis__stepwise *engine, blis__sequence *sequence, int64_t token_us,
                               blis_error *error) {
  int64_t itl_us = token_us;
  if (engine->config->rules.resumes_preempted) {
    BLIS_ASSERT(sequence->token_end_us <= engine->clock_us);
    itl_us += engine->clock_us - sequence->token_end_us;
  }
  return count_latency(engine, sequence, itl_us, error);
}

/* Emits the tokens of the step. The inter-token latency is the duration of the step. Depending on
   the rules of the profile, it also includes the steps since the previous token. */
static blis_status advance(blis__stepwise *engine, blis__sequence *sequence, int64_t token_us,
                           blis_error *error) {
  blis_live_request *request = sequence->place.request;
  bool gives_token = request->new_tokens > 0;
  int64_t more = 0;
  if (request->progress_tokens < request->prefill_tokens) {
    BLIS_ASSERT(request->computed_tokens >= request->progress_tokens);
    BLIS_TRY(blis__tell_computing(&engine->events, request, engine->clock_us, engine->step_end_us,
                                  error));
    request->progress_tokens = request->computed_tokens;
    gives_token = request->has_first_token && request->progress_tokens == request->prefill_tokens;
    if (gives_token && engine->events.recomputed != NULL) {
      engine->events.recomputed(engine->events.ud, request, engine->step_end_us);
    }
  } else if (gives_token) {
    request->progress_tokens += request->new_tokens;
    more = request->new_tokens - 1;
    if (sequence->drafted_tokens > 0) {
      blis__count_drafts(&engine->drafts, request, sequence->drafted_tokens, more);
    }
  }
  sequence->told_tokens = gives_token ? 1 + more : 0;
  if (gives_token) {
    BLIS_TRY(count_token(engine, sequence, token_us, error));
  }
  sequence->itl_zeros += more; /* they are emitted together */
  request->itl_count += more;
  if (request->progress_tokens >= request->prefill_tokens &&
      (gives_token || !request->has_first_token)) {
    sequence->token_end_us = engine->step_end_us;
  }
  if (request->progress_tokens > sequence->furthest_tokens) {
    sequence->furthest_tokens = request->progress_tokens;
    engine->has_progressed = true;
  }
  return BLIS_OK;
}

/* Emits the first tokens of the step that ends at step_end_us. */
static void give_first_tokens(blis__stepwise *engine, int64_t step_end_us) {
  int64_t token_us =
      blis_time_after_us(step_end_us, blis_latency_output_token_time(engine->config->latency));
  for (size_t i = 0; i < engine->batch.count; i++) {
    blis_live_request *request = engine->batch.items[i]->place.request;
    if (request->has_first_token || request->progress_tokens != request->prefill_tokens) {
      continue;
    }
    engine->is_at_boundary = true;
    blis__note_first_token(request, token_us);
    engine->batch.items[i]->told_tokens = request->output_tokens > 0;
    if (engine->events.first_token != NULL) {
      engine->events.first_token(engine->events.ud, request, engine->clock_us);
    }
  }
}

/* Also stores the KV of the last token, which no step will read. */
static blis_status store_last_token(blis__stepwise *engine, blis__sequence *sequence,
                                    blis_error *error) {
  const blis_live_request *request = sequence->place.request;
  if (request->output_tokens == 0 || engine->config->rules.drops_last_kv ||
      engine->config->rules.reserves_whole ||
      request->progress_tokens >= request->prompt_tokens + request->output_tokens) {
    return BLIS_OK;
  }
  blis_block_span span = blis__span_of(request, request->progress_tokens, 1);
  bool is_done;
  BLIS_TRY(blis__kv_store(engine, sequence, &span, false, &is_done, error));
  engine->counts.kv_allocation_failures += !is_done;
  return BLIS_OK;
}

static blis_status complete(blis__stepwise *engine, blis__sequence *sequence,
                            blis_request_state state, int64_t *end_us, blis_error *error) {
  blis_live_request *request = sequence->place.request;
  const blis_latency_model *latency = engine->config->latency;
  int64_t produced = request->progress_tokens - request->prompt_tokens;
  if (produced < request->output_tokens) {
    produced++; /* the first token came with the prefill */
  }
  BLIS_ASSERT(request->state == BLIS_REQUEST_RUNNING && request->ttft_us >= 0);
  BLIS_ASSERT(produced >= 0 && produced <= request->output_tokens);
  engine->counts.completed++;
  engine->counts.length_capped += state == BLIS_REQUEST_LENGTH_CAPPED;
  engine->counts.output_tokens += produced;
  request->e2e_us = blis_time_after_us(request->ttft_us, request->itl_sum_us);
  if (request->output_tokens > 0) {
    request->e2e_us = blis_time_after_us(request->e2e_us, blis_latency_fixed_overhead(latency));
  }
  request->state = state;
  blis__stepwise_note_first_itl(engine, sequence);
  *end_us = blis__leaves_at_us(engine->config, request, *end_us);
  bool counts_itl;
  BLIS_TRY(blis__tell_completed(&engine->events, request, *end_us, &counts_itl, error));
  if (counts_itl) {
    BLIS_TRY(blis__count_itl(engine->events.itl_us, sequence->itl_us.items, sequence->itl_us.count,
                             1, error));
    static const int64_t zero = 0;
    engine->drafts.itl_zeros += sequence->itl_zeros;
    BLIS_TRY(blis__count_itl(engine->events.itl_us, &zero, 1, sequence->itl_zeros, error));
  }
  return blis__stepwise_end(engine, sequence, state, *end_us, error);
}

static blis_status complete_finished(blis__stepwise *engine, int64_t step_end_us,
                                     blis_error *error) {
  int64_t limit = engine->config->max_model_len_tokens;
  int64_t last_end_us = -1; /* latest end to which the clock advances */
  for (size_t i = 0; i < engine->batch.count;) {
    blis__sequence *sequence = engine->batch.items[i];
    const blis_live_request *request = sequence->place.request;
    int64_t output = request->output_tokens;
    int64_t last = request->prompt_tokens + (output > 0 ? output - 1 : 0);
    blis_request_state state = BLIS_REQUEST_COMPLETED;
    if (request->progress_tokens >= last) {
      BLIS_TRY(store_last_token(engine, sequence, error));
    } else if (limit > 0 && request->progress_tokens >= limit - 1) {
      state = BLIS_REQUEST_LENGTH_CAPPED;
    } else {
      i++;
      continue;
    }
    blis__batch_remove(engine, i);
    if (engine->adapters != NULL) {
      blis__adapters_left_batch(engine->adapters, sequence->place.request);
    }
    int64_t end_us = step_end_us;
    BLIS_TRY(complete(engine, sequence, state, &end_us, error));
    if (end_us <= engine->config->horizon_us) {
      last_end_us = blis_max_i64(last_end_us, end_us);
    }
  }
  if (last_end_us < 0) {
    return BLIS_OK;
  }
  return blis__stepwise_schedule(engine, last_end_us, BLIS__EVENT_LEFT, NULL, error);
}

/* Notifies listeners of every token. */
static blis_status tell_tokens(blis__stepwise *engine, blis_error *error) {
  for (size_t i = 0; i < engine->batch.count; i++) {
    blis__sequence *sequence = engine->batch.items[i];
    const blis_live_request *request = sequence->place.request;
    for (; sequence->told_tokens > 0; sequence->told_tokens--) {
      BLIS_TRY(engine->events.token(engine->events.ud, request,
                                    request->itl_count + 2 - sequence->told_tokens, error));
    }
  }
  return BLIS_OK;
}

/* Emits the results of a step. */
static blis_status deliver(blis__stepwise *engine, int64_t step_end_us, blis_error *error) {
  give_first_tokens(engine, step_end_us);
  if (engine->events.token != NULL) {
    BLIS_TRY(tell_tokens(engine, error));
  }
  return complete_finished(engine, step_end_us, error);
}

/* See defects.steps_empty; the KV for reserved blocks always arrives. */
static bool waits_for_kv(const blis__stepwise *engine) {
  return engine->config->defects.steps_empty && engine->parked_blocks > 0;
}

/* Reports the step to listeners that need every step. */
static blis_status tell_step(blis__stepwise *engine, blis_error *error) {
  if (engine->items.count == 0) {
    return BLIS_OK;
  }
  blis_kv_cache_stats cache;
  engine->serving->get_kv(engine, &cache);
  blis_step_report report = {
      .start_us = engine->clock_us,
      .end_us = engine->step_end_us,
      .waiting = (int64_t)engine->waiting.count + engine->loading,
      .used_kv_blocks = cache.blocks - cache.free_blocks,
  };
  for (size_t i = 0; i < engine->items.count; i++) {
    const blis_batch_item *item = &engine->items.items[i];
    if (item->progress_tokens < item->prompt_tokens) {
      report.prefill_requests++;
      report.prefill_tokens += item->new_tokens;
    } else {
      report.decode_requests++;
    }
  }
  return engine->events.step(engine->events.ud, &report, error);
}

/* Counts the busy time of the engine. */
static void count_busy(blis__stepwise *engine, int64_t step_us, bool is_prefill) {
  if (is_waiting(engine)) {
    return;
  }
  engine->counts.busy_us = blis_time_after_us(engine->counts.busy_us, step_us);
  if (is_prefill) {
    engine->counts.prefill_us = blis_time_after_us(engine->counts.prefill_us, step_us);
  }
}

static blis_status check_progress(blis__stepwise *engine, blis_error *error) {
  bool is_planned = engine->config->make_batch != NULL;
  /* A script may wait until an adapter is loaded, so such steps are not idle. Without a script, a
     load does not count as progress: an engine that computes during loads makes progress anyway,
     and otherwise loads could repeat forever. */
  bool goes_on = engine->has_progressed || engine->defers_prefills || waits_for_kv(engine) ||
                 (is_planned && blis__stepwise_awaits_adapter(engine));
  engine->idle_steps = goes_on ? 0 : engine->idle_steps + 1;
  int64_t most = is_planned ? BLIS__STUCK_PLANS : BLIS__STUCK_STEPS;
  if (engine->idle_steps < most) {
    return BLIS_OK;
  }
  const blis__sequence *stuck = engine->waiting.head != NULL
                                    ? blis__sequence_at(engine->waiting.head)
                                    : engine->batch.items[0];
  const blis_live_request *live = stuck->place.request;
  char id[BLIS_REQUEST_ID_SIZE];
  blis_kv_cache_stats cache;
  engine->serving->get_kv(engine, &cache);
  return blis_fail(error, BLIS_ERR_STUCK,
                   "no request has made progress in %" PRId64 " steps up to %" PRId64
                   " us: %s needs %" PRId64 " KV blocks and holds %" PRId64 "; %" PRId64
                   " of %" PRId64 " are free",
                   most, engine->clock_us,
                   blis_request_id_of(live->number, live->session, live->round_index, id),
                   blis__needed_blocks(engine->config, live), blis__kv_held(stuck),
                   cache.free_blocks, cache.blocks);
}

/* Called when the duration of the step is set. */
static blis_status finish(blis__stepwise *engine, int64_t step_us, bool is_prefill,
                          blis_error *error) {
  bool leaves_at_end = engine->config->rules.leaves_at_step_end;
  count_busy(engine, step_us, is_prefill);
  BLIS_TRY(count_energy(engine, step_us, error));
  engine->step_us = step_us;
  engine->step_end_us = blis_time_after_us(engine->clock_us, step_us);
  if (engine->events.step != NULL) {
    BLIS_TRY(tell_step(engine, error));
  }
  int64_t token_us =
      blis_time_after_us(step_us, blis_latency_output_token_time(engine->config->latency));
  for (size_t i = 0; i < engine->batch.count; i++) {
    BLIS_TRY(advance(engine, engine->batch.items[i], token_us, error));
  }
  for (size_t i = 0; i < engine->batch.count && engine->cache != NULL; i++) {
    BLIS_TRY(blis_kv_cache_save(engine->cache, &engine->batch.items[i]->blocks, error));
  }
  if (!leaves_at_end) {
    BLIS_TRY(deliver(engine, engine->step_end_us, error));
  }
  BLIS_TRY(check_progress(engine, error));
  if (engine->batch.count == 0 && engine->waiting.count == 0) {
    return BLIS_OK;
  }
  engine->step_pending = true;
  return blis__stepwise_schedule(engine, engine->step_end_us, BLIS__EVENT_STEP, NULL, error);
}

blis_status blis__step_go_on(blis__stepwise *engine, int64_t step_us, blis_error *error) {
  BLIS_ASSERT(engine->is_open && engine->step_pending);
  engine->is_open = false;
  engine->step_pending = false;
  return finish(engine, step_us, engine->open_prefills, error);
}

/* Returns whether there are only prompts, which must wait. */
static bool is_dummy(const blis__stepwise *engine) {
  if (engine->config->gate == NULL || !engine->defers_prefills) {
    return false;
  }
  for (size_t i = 0; i < engine->batch.count; i++) {
    if (engine->batch.items[i]->place.request->new_tokens > 0) {
      return false;
    }
  }
  return true;
}

/* Leaves the step open. The gate determines when it continues. */
static blis_status stay_open(blis__stepwise *engine, int64_t step_us, bool is_prefill) {
  engine->is_open = true;
  engine->step_pending = true;
  engine->open_prefills = is_prefill;
  engine->open_us = step_us;
  return BLIS_OK;
}

blis_status blis__step(blis__stepwise *engine, blis_error *error) {
  bool leaves_at_end = engine->config->rules.leaves_at_step_end;
  BLIS_ASSERT(engine->step_pending);
  engine->step_pending = false;
  engine->has_progressed = false;
  if (leaves_at_end) {
    BLIS_TRY(deliver(engine, engine->clock_us, error));
  }
  if (engine->batch.count == 0 && engine->waiting.count == 0) {
    if (engine->serving->rest != NULL) {
      engine->serving->rest(engine);
    }
    return BLIS_OK;
  }
  int64_t step_us = 1;
  bool is_prefill;
  BLIS_TRY(blis__wait_queue_order(&engine->waiting, error));
  BLIS_TRY(engine->serving->form(engine, error));
  if (is_dummy(engine)) {
    engine->items.count = 0;
    return stay_open(engine, 0, false);
  }
  if (engine->batch.count == 0 && !engine->has_preempted && engine->config->make_batch == NULL &&
      (!engine->config->defects.steps_empty || blis__stepwise_awaits_adapter(engine))) {
    return BLIS_OK; /* requests that do not run hold the blocks, or adapters are being loaded */
  }
  if (engine->events.batch != NULL) {
    BLIS_TRY(engine->events.batch(engine->events.ud, (int64_t)engine->batch.count, error));
  }
  engine->counts.steps++;
  engine->counts.queue_depth_sum += engine->waiting.count + engine->loading;
  BLIS_TRY(measure(engine, &step_us, &is_prefill, error));
  return engine->config->gate == NULL ? finish(engine, step_us, is_prefill, error)
                                      : stay_open(engine, step_us, is_prefill);
}
