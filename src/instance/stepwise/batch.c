/*
 * Batch formation with chunked prefill and preemption by recomputation, as in
 * the v1 scheduler of vLLM.
 */
#include <string.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "instance/parts/rules.h"
#include "instance/parts/speculation.h"
#include "instance/stepwise/stepwise.h"

/*
 * Frees the blocks of its last drafts. They are taken again next, as if the sequence had kept them.
 */
static void give_up_drafts(blis__stepwise *engine, blis__sequence *sequence) {
  if (sequence->ahead.count > 0) {
    blis_kv_cache_put_back(engine->cache, &sequence->ahead);
  }
  sequence->drafted_tokens = 0;
  sequence->ahead_tokens = 0;
}

void blis__batch_remove(blis__stepwise *engine, size_t index) {
  blis__sequence **items = engine->batch.items;
  give_up_drafts(engine, items[index]);
  engine->batch.count--;
  engine->is_at_boundary = true;
  memmove(&items[index], &items[index + 1], (engine->batch.count - index) * sizeof *items);
}

blis_block_span blis__span_of(const blis_live_request *request, int64_t start, int64_t count) {
  return (blis_block_span){
      .chain = &request->chain,
      .prompt_tokens = request->prefill_tokens,
      .start_tokens = start,
      .end_tokens = start + count,
  };
}

/* Returns the number of prefill tokens to compute next, after the first `done` tokens. */
static int64_t chunk_tokens(const blis__stepwise *engine, const blis_live_request *request,
                            int64_t done) {
  if (engine->defers_prefills) {
    return 0;
  }
  const blis_instance_config *config = engine->config;
  int64_t threshold = config->long_prefill_threshold_tokens;
  int64_t tokens = request->prefill_tokens - done;
  if (engine->chunk_limit_tokens > 0) {
    tokens = blis_min_i64(tokens, engine->chunk_limit_tokens);
  }
  if (threshold > 0) {
    tokens = blis_min_i64(tokens, threshold);
  }
  tokens = blis_min_i64(tokens, engine->budget_tokens);
  if (config->max_model_len_tokens > 0) {
    int64_t left = config->max_model_len_tokens - 1 - done;
    tokens = blis_min_i64(tokens, left > 0 ? left : 0);
  }
  return engine->groups == NULL ? tokens : blis__aligned_chunk(config, request, done, tokens);
}

/* Returns how many tokens a running request needs to compute. */
static int64_t wanted_tokens(const blis__stepwise *engine, const blis_live_request *request) {
  int64_t progress = request->progress_tokens;
  int64_t limit = engine->config->max_model_len_tokens;
  if (progress < request->prefill_tokens) {
    return chunk_tokens(engine, request, progress);
  }
  bool is_at_limit = limit > 0 && progress >= limit - 1;
  return request->output_tokens > 0 && !is_at_limit ? 1 : 0;
}

static void give_tokens(blis__stepwise *engine, blis_live_request *request, int64_t tokens) {
  engine->budget_tokens -= tokens;
  request->new_tokens = tokens;
  request->computed_tokens += tokens;
  BLIS_ASSERT(tokens >= 0 && engine->budget_tokens >= 0);
}

static size_t least_urgent(const blis__stepwise *engine) {
  size_t victim = engine->batch.count - 1;
  for (size_t i = victim; i-- > 0;) {
    const blis_live_request *a = engine->batch.items[i]->place.request;
    const blis_live_request *b = engine->batch.items[victim]->place.request;
    if (a->priority < b->priority ||
        (a->priority == b->priority && a->arrival_us > b->arrival_us)) {
      victim = i;
    }
  }
  return victim;
}

/* Selects the index of the request to preempt. There must be at least one running request. */
static blis_status choose_victim(blis__stepwise *engine, size_t *victim, blis_error *error) {
  switch (engine->config->preemption) {
  case BLIS_PREEMPTION_FCFS:
    *victim = engine->batch.count - 1;
    return BLIS_OK;
  case BLIS_PREEMPTION_PRIORITY:
    *victim = least_urgent(engine);
    return BLIS_OK;
  case BLIS_PREEMPTION_SCRIPTED:
    break;
  }
  engine->running.count = 0;
  for (size_t i = 0; i < engine->batch.count; i++) {
    const blis_live_request *request = engine->batch.items[i]->place.request;
    const blis_running_request shown = {request, request->progress_tokens};
    BLIS_TRY_MEM(blis_array_push(&engine->alloc, &engine->running, shown), error);
  }
  return engine->config->choose_victim(engine->config->choose_victim_ud, engine->running.items,
                                       engine->running.count, victim, error);
}

void blis__batch_requeue(blis__stepwise *engine, blis__sequence *victim, bool at_back) {
  blis_live_request *request = victim->place.request;
  if (at_back) {
    blis__wait_queue_push_back(&engine->waiting, &victim->place);
  } else {
    blis__wait_queue_push_front(&engine->waiting, &victim->place);
  }
  engine->has_preempted = true;
  engine->counts.preemptions++;
  if (engine->adapters != NULL) {
    blis__adapters_preempted(engine->adapters, request);
  }
  blis__note_preemption(engine->config, &engine->events, request, request->progress_tokens,
                        engine->clock_us);
  if (!engine->config->rules.resumes_preempted) {
    victim->itl_us.count = 0;
    victim->itl_zeros = 0;
  }
}

/* Moves the request to the front of the queue. It keeps only its cached blocks and, if it resumes,
   the tokens that its client has received. */
static void preempt(blis__stepwise *engine, size_t index) {
  blis__sequence *victim = engine->batch.items[index];
  int64_t planned_tokens = victim->place.request->new_tokens + victim->ahead_tokens;
  blis__batch_remove(engine, index);
  blis__kv_release(engine, victim);
  engine->budget_tokens += planned_tokens;
  BLIS_ASSERT(engine->budget_tokens <= engine->config->max_batched_tokens);
  blis__batch_requeue(engine, victim, false);
}

/*
 * Stores *span for the running request at *index and preempts others until there are enough blocks.
 * With is_ahead, the span goes to the blocks for drafts. If a request before it leaves the batch,
 * *index is updated. *is_scheduled is false if the request itself was preempted.
 */
static blis_status allocate_preempting(blis__stepwise *engine, size_t *index,
                                       const blis_block_span *span, bool is_ahead,
                                       bool *is_scheduled, blis_error *error) {
  blis__sequence *sequence = engine->batch.items[*index];
  for (;;) {
    BLIS_ASSERT(engine->batch.items[*index] == sequence);
    BLIS_TRY(is_ahead ? blis_kv_cache_allocate(engine->cache, &sequence->ahead, span, NULL,
                                               is_scheduled, error)
                      : blis__kv_store(engine, sequence, span, false, is_scheduled, error));
    if (*is_scheduled) {
      return BLIS_OK;
    }
    size_t victim = 0;
    BLIS_TRY(choose_victim(engine, &victim, error));
    preempt(engine, victim);
    if (victim == *index) {
      return BLIS_OK;
    }
    if (victim < *index) {
      --*index;
    }
  }
}

/* Takes blocks for the next tokens, and for the `ahead` rejected drafts after them. The content of
   the drafts must not be cached. */
static blis_status get_blocks(blis__stepwise *engine, size_t *index, int64_t tokens, int64_t ahead,
                              bool *is_scheduled, blis_error *error) {
  blis__sequence *sequence = engine->batch.items[*index];
  const blis_live_request *request = sequence->place.request;
  int64_t size = engine->config->block_size_tokens;
  if (engine->config->rules.reserves_whole) {
    *is_scheduled = true; /* it has all its blocks */
    return BLIS_OK;
  }
  int64_t end = request->progress_tokens + tokens + ahead;
  blis_block_span span = blis__span_of(request, request->progress_tokens, tokens);
  BLIS_TRY(allocate_preempting(engine, index, &span, false, is_scheduled, error));
  int64_t more = ahead == 0 ? 0 : blis__kv_lacking(engine, sequence, end);
  if (!*is_scheduled || more <= 0) {
    return BLIS_OK;
  }
  span = blis__span_of(request, 0, more * size);
  span.chain = NULL;
  return allocate_preempting(engine, index, &span, true, is_scheduled, error);
}

/* Schedules the running request at *index with its planned tokens, of which at least `tokens`. */
static blis_status run(blis__stepwise *engine, size_t *index, int64_t tokens, bool *is_scheduled,
                       blis_error *error) {
  blis__sequence *sequence = engine->batch.items[*index];
  blis_live_request *request = sequence->place.request;
  blis__burst burst = {.tokens = tokens};
  if (engine->config->speculation != NULL && request->progress_tokens >= request->prefill_tokens) {
    burst = blis__speculate(engine->config, request,
                            sequence->rates.count > 0 ? sequence->rates.items
                                                      : engine->config->speculation->acceptance,
                            engine->batch_size, engine->budget_tokens);
  }
  int64_t ahead = burst.drafted + 1 - burst.tokens;
  ahead = burst.drafted > 0 ? blis_max_i64(ahead, 0) : 0;
  BLIS_TRY(get_blocks(engine, index, burst.tokens, ahead, is_scheduled, error));
  if (*is_scheduled) {
    give_tokens(engine, request, burst.tokens);
    engine->budget_tokens -= ahead;
    sequence->drafted_tokens = burst.drafted;
    sequence->ahead_tokens = ahead;
  }
  return BLIS_OK;
}

/* Schedules the running requests. If a request preempts itself, the rest are skipped. */
static blis_status schedule_running(blis__stepwise *engine, blis_error *error) {
  for (size_t i = 0; i < engine->batch.count && engine->budget_tokens > 0; i++) {
    blis_live_request *request = engine->batch.items[i]->place.request;
    int64_t tokens = wanted_tokens(engine, request);
    bool is_scheduled;
    if (tokens == 0) {
      continue;
    }
    BLIS_TRY(run(engine, &i, tokens, &is_scheduled, error));
    if (!is_scheduled) {
      return BLIS_OK;
    }
  }
  return BLIS_OK;
}

blis_status blis__batch_run(blis__stepwise *engine, size_t index, bool *goes_on,
                            blis_error *error) {
  blis_live_request *request = engine->batch.items[index]->place.request;
  int64_t tokens = engine->budget_tokens > 0 ? wanted_tokens(engine, request) : 0;
  if (tokens == 0) {
    return BLIS_OK;
  }
  return run(engine, &index, tokens, goes_on, error);
}

void blis__batch_preempt(blis__stepwise *engine, size_t index) {
  preempt(engine, index);
}

/* Returns the hits that the cache counted, including blocks reloaded from the CPU tier. */
static int64_t hits(const blis__stepwise *engine) {
  blis_kv_cache_stats stats;
  blis_kv_cache_get_stats(engine->cache, &stats);
  return stats.hits;
}

/* Returns the duration of the step that was running until now; 0 = none. */
static int64_t step_under_way_us(const blis__stepwise *engine) {
  return engine->clock_us <= engine->step_end_us ? engine->step_us : 0;
}

void blis__batch_enter(blis__stepwise *engine, blis__sequence *sequence, int64_t cached_tokens,
                       int64_t tokens, int64_t hits) {
  const blis_instance_config *config = engine->config;
  blis_live_request *request = sequence->place.request;
  blis__wait_queue_remove(&engine->waiting, &sequence->place);
  engine->batch.items[engine->batch.count++] = sequence;
  BLIS_ASSERT((int64_t)engine->batch.count <= config->max_num_seqs);
  blis__count_prompt_blocks(config, request,
                            blis_max_i64(hits, engine->found_tokens / config->block_size_tokens),
                            &engine->counts);
  if (engine->adapters != NULL) {
    blis__adapters_admitted(engine->adapters, request);
  }
  blis__note_admission(config, &engine->events, request, engine->clock_us,
                       step_under_way_us(engine));
  request->was_brought = false; /* the source may be queried again */
  sequence->loaded_blocks = 0;
  if (config->rules.knows_cached_context && tokens > 0) {
    request->progress_tokens = cached_tokens;
  }
  request->computed_tokens = cached_tokens;
  give_tokens(engine, request, tokens);
}

/* Returns how many tokens after the first `done` tokens get blocks now, including the tokens that
   are computed now. */
static int64_t tokens_to_store(const blis__stepwise *engine, const blis_live_request *request,
                               int64_t done, int64_t tokens) {
  if (!engine->config->rules.reserves_whole) {
    return tokens;
  }
  int64_t limit = engine->config->max_model_len_tokens;
  int64_t whole = request->prompt_tokens + request->output_tokens;
  return blis_max_i64((limit > 0 ? blis_min_i64(whole, limit) : whole) - done, tokens);
}

/*
 * Admits a request that has its KV if there is a block for its next token. The request decodes, or
 * computes the rest of its prefill.
 */
static blis_status admit_with_kv(blis__stepwise *engine, blis__sequence *sequence,
                                 bool *is_admitted, blis_error *error) {
  blis_live_request *request = sequence->place.request;
  int64_t progress = request->progress_tokens;
  bool is_whole = progress >= request->prefill_tokens;
  int64_t tokens = is_whole ? 1 : chunk_tokens(engine, request, progress);
  if (tokens == 0 && engine->groups != NULL) {
    *is_admitted = false; /* the budget does not reach a border of the cache */
    return BLIS_OK;
  }
  blis_block_span span =
      blis__span_of(request, progress, tokens_to_store(engine, request, progress, tokens));
  BLIS_TRY(blis__kv_store(engine, sequence, &span, false, is_admitted, error));
  if (!*is_admitted && blis__goes_without_block(engine->config, request)) {
    *is_admitted = true;
    tokens = 0;
  }
  if (*is_admitted) {
    sequence->has_kv = false;
    engine->waiting_with_kv--;
    blis__batch_enter(engine, sequence, progress, tokens, sequence->loaded_blocks);
    request->progress_tokens = progress;
  }
  return BLIS_OK;
}

/*
 * See admits_whole_prompts. Blocks of the found prefix are no longer free after they have been
 * claimed.
 */
static bool lacks_prompt_blocks(const blis__stepwise *engine, const blis_live_request *request) {
  blis_kv_cache_stats cache;
  int64_t size = engine->config->block_size_tokens;
  if (!engine->config->rules.admits_whole_prompts) {
    return false;
  }
  blis_kv_cache_get_stats(engine->cache, &cache);
  int64_t idle = blis__block_pool_count_idle(blis_kv_cache_pool(engine->cache), &engine->found);
  int64_t blocks = (request->prefill_tokens + size - 1) / size;
  return blocks - (int64_t)engine->found.count + idle > cache.free_blocks;
}

static bool lacks_first_blocks(const blis__stepwise *engine, const blis_live_request *request) {
  blis_kv_cache_stats cache;
  if (engine->groups == NULL) {
    return false;
  }
  blis_kv_cache_get_stats(engine->cache, &cache);
  return blis__lacks_first_blocks(engine->config, request, cache.free_blocks);
}

/*
 * Admits a waiting request if it fits, or starts to load its KV. A prompt that is completely cached
 * is admitted with no tokens and no blocks.
 */
static blis_status admit(blis__stepwise *engine, blis__sequence *sequence, bool *is_admitted,
                         blis_error *error) {
  blis_live_request *request = sequence->place.request;
  BLIS_TRY_MEM(blis_array_reserve(&engine->alloc, &engine->batch, engine->batch.count + 1), error);
  blis__kv_find_nothing(engine);
  if (sequence->has_kv) {
    return admit_with_kv(engine, sequence, is_admitted, error);
  }
  bool is_loading;
  bool is_blocked;
  BLIS_TRY(blis__stepwise_load(engine, sequence, &is_loading, &is_blocked, error));
  if (is_loading || is_blocked) {
    *is_admitted = is_loading; /* the next one may be */
    return BLIS_OK;
  }
  int64_t cached = 0;
  int64_t tokens = 1;
  if (!blis__starts_by_a_token(engine->config, sequence->was_reserved)) {
    blis_block_chain chain = request->chain;
    chain.prompt_blocks = blis__findable_blocks(engine->config, request);
    BLIS_TRY(blis__kv_find(engine, &chain, error));
    cached = engine->found_tokens;
    tokens = chunk_tokens(engine, request, cached);
  }
  if (tokens == 0 && engine->groups != NULL && request->prefill_tokens > 0) {
    *is_admitted = false; /* the budget does not reach a border of the cache */
    return BLIS_OK;
  }
  if (lacks_first_blocks(engine, request) || lacks_prompt_blocks(engine, request)) {
    *is_admitted = false;
    return BLIS_OK;
  }
  /* An empty prompt stores its first output token now and again later; with a KV layout, only
     later. */
  bool is_empty =
      engine->groups == NULL && request->prefill_tokens == 0 && request->output_tokens > 0;
  blis_block_span span = blis__span_of(
      request, cached, tokens_to_store(engine, request, cached, is_empty ? 1 : tokens));
  int64_t hits_before = hits(engine);
  BLIS_TRY(blis__kv_store(engine, sequence, &span, true, is_admitted, error));
  if (*is_admitted) {
    int64_t reloaded = engine->groups == NULL ? hits(engine) - hits_before : 0;
    blis__batch_enter(engine, sequence, cached, tokens, reloaded);
  } else if (engine->config->rules.reserves_whole) {
    *is_admitted = true; /* the next one may be */
    blis__wait_queue_remove(&engine->waiting, &sequence->place);
    if (engine->adapters != NULL) {
      blis__adapters_left_queue(engine->adapters, request);
    }
    return blis__stepwise_reject(engine, sequence, "kv-full", error);
  }
  return BLIS_OK;
}

static int64_t reserved_tokens(const blis_live_request *request) {
  return request->prompt_tokens + request->output_tokens;
}

/* Returns whether the limit of reserved tokens allows the next request to join the batch. */
static bool is_within_reservations(const blis__stepwise *engine, const blis__waiting *next) {
  int64_t limit = engine->config->max_reserved_tokens;
  if (limit == 0 || engine->batch.count == 0 || next == NULL) {
    return true;
  }
  int64_t tokens = reserved_tokens(next->request);
  for (size_t i = 0; i < engine->batch.count && tokens <= limit; i++) {
    tokens += reserved_tokens(engine->batch.items[i]->place.request);
  }
  return tokens <= limit;
}

/* Returns whether the batch has space for the waiting request `next`. */
static bool has_room(const blis__stepwise *engine, const blis__waiting *next) {
  return engine->budget_tokens > 0 && (int64_t)engine->batch.count < engine->config->max_num_seqs &&
         is_within_reservations(engine, next);
}

/* Returns whether the request's adapter is loaded or not needed. Otherwise, a load may start, and
 *goes_on is set to whether later requests may overtake. */
static blis_status ask_for_adapter(blis__stepwise *engine, const blis__waiting *place,
                                   bool *is_there, bool *goes_on, blis_error *error) {
  *is_there = true;
  if (engine->adapters == NULL) {
    return BLIS_OK;
  }
  bool was_loading = blis__stepwise_awaits_adapter(engine);
  *is_there = blis__adapters_ask(engine->adapters, place->request, engine->clock_us, goes_on);
  if (was_loading || !blis__stepwise_awaits_adapter(engine)) {
    return BLIS_OK;
  }
  return blis__stepwise_schedule(engine, blis__adapters_load_end_us(engine->adapters),
                                 BLIS__EVENT_LOADED, NULL, error);
}

blis_status blis__batch_admit(blis__stepwise *engine, blis__sequence *sequence, bool *goes_on,
                              blis_error *error) {
  bool is_there;
  *goes_on = has_room(engine, engine->waiting.head);
  if (!*goes_on) {
    return BLIS_OK;
  }
  BLIS_TRY(ask_for_adapter(engine, &sequence->place, &is_there, goes_on, error));
  return is_there ? admit(engine, sequence, goes_on, error) : BLIS_OK;
}

static bool is_prefilled(const blis_live_request *request) {
  return request->progress_tokens >= request->prefill_tokens;
}

/* Admits requests with loaded KV first, so that no other request takes the blocks that they need.
 *lacking is set to the request that lacks only blocks, if there is one. */
static blis_status admit_those_with_kv(blis__stepwise *engine, const blis__sequence **lacking,
                                       blis_error *error) {
  bool goes_on = true;
  blis__waiting *next = NULL;
  for (blis__waiting *place = engine->waiting.head;
       place != NULL && goes_on && has_room(engine, engine->waiting.head) &&
       engine->waiting_with_kv > 0;
       place = next) {
    next = place->after;
    bool is_there;
    blis__sequence *sequence = blis__sequence_at(place);
    if (!sequence->has_kv || (engine->defers_prefills && !is_prefilled(place->request))) {
      continue;
    }
    BLIS_TRY(ask_for_adapter(engine, place, &is_there, &goes_on, error));
    if (is_there) {
      BLIS_TRY(admit(engine, sequence, &goes_on, error));
      *lacking = goes_on ? *lacking : sequence;
    }
  }
  return BLIS_OK;
}

/*
 * Called if no request runs and the head of the queue lacks blocks. Admits a request with loaded
 * KV, unless it only waits for an adapter that will be loaded. lacking is the candidate found so
 * far in this step.
 */
static blis_status admit_somebody(blis__stepwise *engine, const blis__sequence *lacking,
                                  blis_error *error) {
  while (engine->batch.count == 0 && engine->waiting_with_kv > 0) {
    BLIS_TRY(admit_those_with_kv(engine, &lacking, error));
    bool waits = lacking == NULL && blis__stepwise_awaits_adapter(engine);
    if (engine->batch.count == 0 && (waits || !blis__stepwise_drop_kv(engine))) {
      return BLIS_OK;
    }
    lacking = NULL;
  }
  return BLIS_OK;
}

/* Admits requests from the queue. A request that does not fit blocks the queue, with the exceptions
   in remote_kv.h. A request whose adapter is missing does not always block it. */
static blis_status schedule_waiting(blis__stepwise *engine, blis_error *error) {
  bool goes_on = true;
  const blis__sequence *lacking = NULL;
  bool goes_by_head = engine->config->defects.admits_by_head;
  if (engine->has_preempted) {
    blis__stepwise_drop_idle_kv(engine);
    return goes_by_head ? admit_somebody(engine, NULL, error) : BLIS_OK;
  }
  if (!goes_by_head || engine->defers_prefills) {
    BLIS_TRY(admit_those_with_kv(engine, &lacking, error));
  }
  if (engine->defers_prefills) {
    return BLIS_OK;
  }
  /* A request with loaded KV must not lose its blocks to others indefinitely. */
  goes_on = lacking == NULL || lacking->loaded_blocks == 0;
  blis__waiting *next = NULL;
  for (blis__waiting *place = engine->waiting.head;
       goes_on && place != NULL && has_room(engine, place); place = next) {
    next = place->after;
    bool is_there;
    BLIS_TRY(ask_for_adapter(engine, place, &is_there, &goes_on, error));
    if (is_there) {
      BLIS_TRY(admit(engine, blis__sequence_at(place), &goes_on, error));
    }
  }
  return admit_somebody(engine, lacking, error);
}

static bool has_decodes(const blis__stepwise *engine) {
  for (size_t i = 0; i < engine->batch.count; i++) {
    if (is_prefilled(engine->batch.items[i]->place.request)) {
      return true;
    }
  }
  return false;
}

/* Returns whether prompts wait for a later step. Without a gate, they wait only while the engine
   decodes. */
static bool defers_prefills(blis__stepwise *engine) {
  const blis_step_gate *gate = engine->config->gate;
  const blis_rank_config *ranks = engine->config->ranks;
  if (gate != NULL) {
    return !gate->may_prefill(gate->ud);
  }
  if (ranks == NULL || ranks->prefill_interval == 1) {
    return false;
  }
  engine->decoding_steps = has_decodes(engine) ? engine->decoding_steps + 1 : 0;
  return engine->decoding_steps % ranks->prefill_interval != 0;
}

blis_status blis__batch_form(blis__stepwise *engine, blis_error *error) {
  engine->budget_tokens = engine->config->max_batched_tokens;
  engine->defers_prefills = defers_prefills(engine);
  engine->has_preempted = false;
  engine->batch_size = (int64_t)engine->batch.count;
  for (size_t i = 0; i < engine->batch.count; i++) {
    engine->batch.items[i]->place.request->new_tokens = 0;
    give_up_drafts(engine, engine->batch.items[i]);
  }
  if (engine->config->make_batch != NULL) {
    BLIS_TRY(blis__batch_form_planned(engine, error));
    return admit_somebody(engine, NULL, error);
  }
  bool may_join = !engine->config->rules.joins_at_boundaries || engine->is_at_boundary ||
                  engine->batch.count == 0;
  BLIS_TRY(schedule_running(engine, error));
  engine->is_at_boundary = false;
  return may_join ? schedule_waiting(engine, error) : BLIS_OK;
}
