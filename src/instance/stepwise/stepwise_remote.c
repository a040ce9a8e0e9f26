/* KV transfers of the stepwise engine, see remote_kv.h. */
#include "base/invariant.h"
#include "instance/parts/arrival.h"
#include "instance/parts/rules.h"
#include "instance/stepwise/stepwise.h"

void blis__stepwise_park(blis__stepwise *engine, blis__sequence *sequence) {
  BLIS_ASSERT(!sequence->is_parked);
  sequence->is_parked = true;
  engine->parked_blocks += blis__kv_held(sequence);
}

void blis__stepwise_unpark(blis__stepwise *engine, blis__sequence *sequence) {
  if (sequence->is_parked) {
    sequence->is_parked = false;
    engine->parked_blocks -= blis__kv_held(sequence);
    BLIS_ASSERT(engine->parked_blocks >= 0);
  }
  engine->waiting_with_kv -= sequence->has_kv;
  sequence->has_kv = false;
}

void blis__stepwise_note_first_itl(const blis__stepwise *engine, const blis__sequence *sequence) {
  if (sequence->was_reserved && !engine->config->rules.resumes_preempted) {
    sequence->place.request->first_itl_us =
        sequence->place.request->itl_count > 0 ? sequence->first_itl_us : -1;
  }
}

void blis__stepwise_hold(blis__stepwise *engine, blis__sequence *sequence) {
  blis_event_queue_cancel(engine->queue, sequence->event);
  blis__stepwise_park(engine, sequence);
}

/* Returns the last queued request that has its KV and can be recomputed here. With `needs_adapter`,
   skips requests whose adapter is ready. NULL = none. */
static blis__sequence *last_with_kv(const blis__stepwise *engine, bool needs_adapter) {
  for (blis__waiting *place = engine->waiting.tail; place != NULL; place = place->before) {
    bool is_ready = engine->adapters == NULL ||
                    blis__adapters_look(engine->adapters, place->request, engine->clock_us) ==
                        BLIS__ADAPTER_READY;
    blis__sequence *sequence = blis__sequence_at(place);
    if (sequence->has_kv && !(needs_adapter && is_ready) &&
        !blis__goes_without_block(engine->config, place->request)) {
      return sequence;
    }
  }
  return NULL;
}

static bool drop_kv(blis__stepwise *engine, blis__sequence *sequence) {
  if (sequence == NULL) {
    return false;
  }
  blis__stepwise_unpark(engine, sequence);
  blis__kv_release(engine, sequence);
  sequence->loaded_blocks = 0;
  blis__note_lost_kv(sequence->place.request);
  engine->counts.preemptions++;
  return true;
}

bool blis__stepwise_drop_kv(blis__stepwise *engine) {
  return engine->waiting_with_kv >= 2 && drop_kv(engine, last_with_kv(engine, false));
}

void blis__stepwise_drop_idle_kv(blis__stepwise *engine) {
  if (engine->batch.count == 0 && engine->waiting_with_kv > 0 && engine->adapters != NULL) {
    (void)drop_kv(engine, last_with_kv(engine, true));
  }
}

/*
 * Finds the cached prefix. At least one token must remain to be computed, so that the prefix is
 * claimed.
 */
static blis_status find_cached(blis__stepwise *engine, const blis_live_request *request,
                               const blis_kv_demand *demand, blis_error *error) {
  blis__kv_find_nothing(engine);
  if (!demand->reuses_cache) {
    return BLIS_OK;
  }
  blis_block_chain chain = request->chain;
  chain.prompt_blocks = (uint32_t)((demand->tokens - 1) / engine->config->block_size_tokens);
  return blis__kv_find(engine, &chain, error);
}

static blis_status allocate(blis__stepwise *engine, blis__sequence *sequence,
                            const blis_kv_demand *demand, int64_t *cached_tokens, bool *is_done,
                            blis_error *error) {
  const blis_live_request *request = sequence->place.request;
  BLIS_TRY(find_cached(engine, request, demand, error));
  *cached_tokens = engine->found_tokens;
  blis_block_span span = blis__span_of(request, *cached_tokens, demand->tokens - *cached_tokens);
  if (!demand->is_found_at_once) {
    span.chain = NULL;
  }
  return blis__kv_set_aside(engine, sequence, &span, is_done, error);
}

blis_status blis__stepwise_reserve(void *state, blis_live_request *request,
                                   const blis_kv_demand *demand, int64_t *cached_tokens,
                                   bool *is_done, blis_error *error) {
  blis__stepwise *engine = state;
  blis__sequence *sequence;
  *is_done = false;
  if (!engine->serving->moves_kv) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "KV cannot be handed off to serving engine %s; expected vllm",
                     engine->serving->name);
  }
  BLIS_TRY_MEM(blis__sequences_take(&engine->alloc, &engine->sequences, request, &sequence), error);
  blis__reset_request(request);
  blis_status status = allocate(engine, sequence, demand, cached_tokens, is_done, error);
  if (status == BLIS_OK && *is_done) {
    status = blis__stepwise_ask_rates(engine, sequence, error);
  }
  if (status != BLIS_OK || !*is_done) {
    /* A request without a reservation holds nothing; its reloaded blocks stay cached. */
    blis__kv_release(engine, sequence);
    blis__sequences_give(&engine->sequences, sequence);
    return status;
  }
  sequence->was_reserved = true;
  blis__stepwise_park(engine, sequence);
  return BLIS_OK;
}

blis_status blis__stepwise_activate(void *state, blis_live_request *request,
                                    const blis_kv_arrival *arrival, int64_t now_us,
                                    blis_error *error) {
  blis__stepwise *engine = state;
  blis__sequence *sequence = request->engine;
  BLIS_ASSERT(sequence->is_parked && now_us >= engine->clock_us);
  BLIS_TRY(blis__kv_name(engine, sequence, arrival->tokens, error));
  engine->clock_us = now_us;
  blis__stepwise_unpark(engine, sequence);
  blis__note_kv(engine->config, request, arrival, now_us);
  sequence->has_kv = true;
  sequence->token_end_us = now_us;
  sequence->furthest_tokens = arrival->tokens;
  engine->waiting_with_kv++;
  return blis__stepwise_enqueue(engine, sequence, error);
}
