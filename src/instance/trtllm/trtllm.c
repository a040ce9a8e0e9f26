#include "instance/trtllm/trtllm.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/minmax.h"
#include "instance/parts/rules.h"

/* A request that fits in the KV cache in this step. */
typedef struct candidate {
  blis__sequence *sequence;
  bool waits;           /* it is not running yet */
  int64_t start_tokens; /* tokens already computed or cached */
  int64_t tokens;       /* tokens to compute now */
} candidate;

typedef struct scheduler {
  const blis_trtllm_config *config;
  BLIS_ARRAY(candidate) fitting;
  BLIS_ARRAY(blis_block_id) computing; /* next blocks of the contexts that fit */
} scheduler;

static scheduler *scheduler_of(const blis__stepwise *engine) {
  return engine->serving_state;
}

blis_status blis__trtllm_check(const blis_instance_config *config, blis_error *error) {
  const blis_trtllm_config *trtllm = config->trtllm;
  BLIS_TRY(blis__serving_check(config, "trtllm", error));
  if (trtllm->look_ahead < 1 || trtllm->look_ahead > 2) {
    return blis_fail(error, BLIS_ERR_INVALID, "look_ahead is %" PRId64 "; expected 1 or 2",
                     trtllm->look_ahead);
  }
  if (trtllm->chunks && config->max_batched_tokens < config->block_size_tokens) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "max_num_tokens is %" PRId64 "; expected at least %" PRId64
                     ", the tokens of a block, for contexts in chunks",
                     config->max_batched_tokens, config->block_size_tokens);
  }
  return BLIS_OK;
}

/* Without chunks, a prompt that is longer than a step never runs. */
int64_t blis__trtllm_longest(const blis_instance_config *config) {
  int64_t alone = config->kv_blocks * config->block_size_tokens;
  int64_t given = config->max_model_len_tokens;
  return given > 0 ? blis_min_i64(given, alone) : alone;
}

static int64_t blocks_of(const blis__stepwise *engine, int64_t tokens) {
  int64_t size = engine->config->block_size_tokens;
  return (tokens + size - 1) / size;
}

static int64_t free_blocks(const blis__stepwise *engine) {
  blis_kv_cache_stats stats;
  blis_kv_cache_get_stats(engine->cache, &stats);
  return stats.free_blocks;
}

/*
 * Returns the tokens of the prompt and the maximum output. If the client sets no limit, the maximum
 * sequence length applies.
 */
static int64_t whole_tokens(const blis__stepwise *engine, const blis_live_request *request) {
  int64_t longest = engine->config->max_model_len_tokens;
  int64_t output = request->output_budget_tokens;
  output = output > 0 ? blis_max_i64(output, request->output_tokens) : 0;
  return output > 0 ? blis_min_i64(request->prompt_tokens + output, longest) : longest;
}

static bool is_context(const blis_live_request *request) {
  return request->progress_tokens < request->prefill_tokens;
}

/* Returns the number of missing blocks of a request, according to the policy. */
static int64_t lacking_blocks(const blis__stepwise *engine, const blis__sequence *sequence) {
  const blis_trtllm_config *config = scheduler_of(engine)->config;
  const blis_live_request *request = sequence->place.request;
  int64_t tokens = whole_tokens(engine, request);
  if (config->capacity == BLIS_TRTLLM_MAX_UTILIZATION) {
    int64_t steps = is_context(request) ? config->look_ahead - 1 : config->look_ahead;
    tokens = blis_min_i64(tokens,
                          blis_max_i64(request->progress_tokens, request->prefill_tokens) + steps);
  }
  return blis_max_i64(blocks_of(engine, tokens) - blis__kv_held(sequence), 0);
}

static void pause_last(blis__stepwise *engine) {
  size_t index = engine->batch.count - 1;
  blis__sequence *sequence = engine->batch.items[index];
  blis__batch_remove(engine, index);
  blis__kv_release(engine, sequence);
  blis__batch_requeue(engine, sequence, false);
}

/* Keeps the running requests that fit, and pauses the last ones if necessary. Sets *left to the
   number of blocks left. */
static void keep_running(blis__stepwise *engine, int64_t *left) {
  bool pauses = scheduler_of(engine)->config->capacity == BLIS_TRTLLM_MAX_UTILIZATION;
  *left = free_blocks(engine);
  for (size_t i = 0; i < engine->batch.count; i++) {
    int64_t lacking = lacking_blocks(engine, engine->batch.items[i]);
    while (pauses && lacking > *left && i < engine->batch.count) {
      int64_t before = free_blocks(engine);
      pause_last(engine);
      *left += free_blocks(engine) - before;
    }
    *left -= i < engine->batch.count ? lacking : 0;
  }
}

/*
 * Finds out whether another context computes the block that this context needs next and will cache
 * it.
 */
static blis_status awaits_equal(scheduler *s, const blis__stepwise *engine,
                                const blis_live_request *request, int64_t start, bool *awaits) {
  int64_t size = engine->config->block_size_tokens;
  *awaits = false;
  if (!s->config->skips_equal || !s->config->has_reuse || start % size != 0 ||
      start + size > request->prefill_tokens) {
    return BLIS_OK;
  }
  blis_block_id next = blis_block_chain_at(&request->chain, (uint32_t)(start / size));
  for (size_t i = 0; i < s->computing.count && !*awaits; i++) {
    *awaits = s->computing.items[i] == next;
  }
  return *awaits ? BLIS_OK : blis_array_push(&engine->alloc, &s->computing, next);
}

static blis_status add(scheduler *s, const blis__stepwise *engine, blis__sequence *sequence,
                       bool waits, int64_t start) {
  const blis_live_request *request = sequence->place.request;
  int64_t rest = request->prefill_tokens - start;
  const candidate added = {sequence, waits, start, rest > 0 || waits ? rest : 1};
  return blis_array_push(&engine->alloc, &s->fitting, added);
}

static blis_status find_cached(blis__stepwise *engine, const blis_live_request *request,
                               blis_error *error) {
  blis_block_chain chain = request->chain;
  chain.prompt_blocks = blis__findable_blocks(engine->config, request);
  blis__kv_find_nothing(engine);
  return scheduler_of(engine)->config->has_reuse ? blis__kv_find(engine, &chain, error) : BLIS_OK;
}

/* Returns whether no step can compute the context. */
static bool is_too_long(const blis__stepwise *engine, const blis_live_request *request) {
  return !scheduler_of(engine)->config->chunks &&
         request->prefill_tokens - engine->found_tokens > engine->config->max_batched_tokens;
}

static blis_status reject(blis__stepwise *engine, blis__sequence *sequence, blis_error *error) {
  blis__wait_queue_remove(&engine->waiting, &sequence->place);
  return blis__stepwise_reject(engine, sequence, "max-num-tokens", error);
}

static blis_status try_waiting(blis__stepwise *engine, int64_t left, blis_error *error) {
  scheduler *s = scheduler_of(engine);
  int64_t slots = engine->config->max_num_seqs - (int64_t)engine->batch.count;
  bool is_static = s->config->capacity == BLIS_TRTLLM_STATIC_BATCH;
  if (is_static && engine->batch.count > 0) {
    return BLIS_OK;
  }
  blis__waiting *next = NULL;
  for (blis__waiting *place = engine->waiting.head; place != NULL && slots > 0; place = next) {
    blis__sequence *sequence = blis__sequence_at(place);
    int64_t lacking = lacking_blocks(engine, sequence);
    bool awaits;
    next = place->after;
    BLIS_TRY(find_cached(engine, place->request, error));
    if (is_too_long(engine, place->request)) {
      BLIS_TRY(reject(engine, sequence, error));
      continue;
    }
    if (lacking > left) {
      return BLIS_OK;
    }
    BLIS_TRY_MEM(awaits_equal(s, engine, place->request, engine->found_tokens, &awaits), error);
    if (awaits) {
      continue;
    }
    BLIS_TRY_MEM(add(s, engine, sequence, true, engine->found_tokens), error);
    left -= lacking;
    slots--;
  }
  return BLIS_OK;
}

/* The capacity stage: lists the requests that fit in the KV cache, with all tokens that they could
 * compute. */
static blis_status choose_fitting(blis__stepwise *engine, blis_error *error) {
  scheduler *s = scheduler_of(engine);
  int64_t left;
  s->fitting.count = 0;
  s->computing.count = 0;
  keep_running(engine, &left);
  for (size_t i = 0; i < engine->batch.count; i++) {
    blis__sequence *sequence = engine->batch.items[i];
    const blis_live_request *request = sequence->place.request;
    if (is_context(request)) {
      bool awaits;
      BLIS_TRY_MEM(awaits_equal(s, engine, request, request->progress_tokens, &awaits), error);
    }
    BLIS_TRY_MEM(add(s, engine, sequence, false, request->progress_tokens), error);
  }
  /* Requests that have just been paused do not start again in the same step. */
  return engine->has_preempted ? BLIS_OK : try_waiting(engine, left, error);
}

static bool is_candidate_context(const candidate *c) {
  return c->waits || is_context(c->sequence->place.request);
}

/* Adds whole contexts only. The first context that does not fit ends the step. */
static void fill_whole(const blis__stepwise *engine, scheduler *s) {
  int64_t tokens = 0;
  size_t count = 0;
  while (count < s->fitting.count &&
         tokens + s->fitting.items[count].tokens <= engine->config->max_batched_tokens) {
    tokens += s->fitting.items[count++].tokens;
  }
  s->fitting.count = count;
}

/* Each context takes as much as is left. A partial context ends at a block boundary. */
static void share_in_order(scheduler *s, int64_t left, int64_t unit) {
  for (size_t i = 0; i < s->fitting.count; i++) {
    candidate *c = &s->fitting.items[i];
    if (is_candidate_context(c)) {
      c->tokens = c->tokens <= left ? c->tokens : left / unit * unit;
      left -= c->tokens;
    }
  }
}

/* Gives each context one block per round until no context can take another block. */
static void share_equally(scheduler *s, int64_t left, int64_t unit) {
  bool has_changed = true;
  for (size_t i = 0; i < s->fitting.count; i++) {
    s->fitting.items[i].tokens = is_candidate_context(&s->fitting.items[i]) ? 0 : 1;
  }
  while (has_changed) {
    has_changed = false;
    for (size_t i = 0; i < s->fitting.count; i++) {
      candidate *c = &s->fitting.items[i];
      int64_t rest = c->sequence->place.request->prefill_tokens - c->start_tokens - c->tokens;
      int64_t more = is_candidate_context(c) ? blis_min_i64(unit, rest) : 0;
      if (more > 0 && more <= left) {
        c->tokens += more;
        left -= more;
        has_changed = true;
      }
    }
  }
}

static void fill_in_chunks(const blis__stepwise *engine, scheduler *s) {
  int64_t left = engine->config->max_batched_tokens;
  int64_t wanted = 0;
  size_t count = 0;
  for (; count < s->fitting.count; count++) {
    const candidate *c = &s->fitting.items[count];
    bool decodes = !is_candidate_context(c);
    if (decodes && left == 0) {
      break;
    }
    left -= decodes;
    wanted += decodes ? 0 : c->tokens;
  }
  s->fitting.count = count;
  if (wanted <= left) {
    return;
  }
  int64_t unit = engine->config->block_size_tokens;
  if (s->config->chunking == BLIS_TRTLLM_EQUAL_PROGRESS) {
    share_equally(s, left, unit);
  } else {
    share_in_order(s, left, unit);
  }
}

static blis_status run(blis__stepwise *engine, const candidate *c, blis_error *error) {
  blis_live_request *request = c->sequence->place.request;
  blis_block_span span = blis__span_of(request, c->start_tokens, c->tokens);
  bool is_done;
  BLIS_TRY(blis__kv_store(engine, c->sequence, &span, false, &is_done, error));
  BLIS_ASSERT(is_done);
  request->new_tokens = is_done ? c->tokens : 0;
  request->computed_tokens += request->new_tokens;
  return BLIS_OK;
}

/* Looks up the hits again because earlier requests in the step have taken blocks. */
static blis_status start(blis__stepwise *engine, const candidate *c, bool *goes_on,
                         blis_error *error) {
  const blis_live_request *request = c->sequence->place.request;
  BLIS_TRY(find_cached(engine, request, error));
  int64_t cached = blis_min_i64(engine->found_tokens, c->start_tokens);
  int64_t lost = c->start_tokens - cached;
  int64_t size = engine->config->block_size_tokens;
  BLIS_TRY_MEM(blis_array_reserve(&engine->alloc, &engine->batch, engine->batch.count + 1), error);
  engine->found.count = (size_t)(cached / size);
  engine->found_tokens = cached;
  blis_block_span span = blis__span_of(request, cached, c->tokens);
  *goes_on = lost == 0;
  if (*goes_on) {
    BLIS_TRY(blis__kv_store(engine, c->sequence, &span, true, goes_on, error));
  }
  if (*goes_on) {
    blis__batch_enter(engine, c->sequence, cached, c->tokens, cached / size);
  }
  return BLIS_OK;
}

static blis_status form(blis__stepwise *engine, blis_error *error) {
  scheduler *s = scheduler_of(engine);
  bool goes_on = true;
  engine->budget_tokens = INT64_MAX;
  engine->defers_prefills = false;
  engine->has_preempted = false;
  engine->batch_size = (int64_t)engine->batch.count;
  for (size_t i = 0; i < engine->batch.count; i++) {
    engine->batch.items[i]->place.request->new_tokens = 0;
  }
  BLIS_TRY(choose_fitting(engine, error));
  if (s->config->chunks) {
    fill_in_chunks(engine, s);
  } else {
    fill_whole(engine, s);
  }
  for (size_t i = 0; i < s->fitting.count && goes_on; i++) {
    const candidate *c = &s->fitting.items[i];
    if (c->tokens > 0 && !c->waits) {
      BLIS_TRY(run(engine, c, error));
    } else if (c->waits && (c->tokens > 0 || c->sequence->place.request->prefill_tokens == 0)) {
      BLIS_TRY(start(engine, c, &goes_on, error));
    }
  }
  return BLIS_OK;
}

static blis_status init(blis__stepwise *engine, blis_error *error) {
  scheduler *s = blis_alloc_zeroed(&engine->alloc, 1, sizeof *s);
  BLIS_TRY_NEW(s, error);
  s->config = engine->config->trtllm;
  engine->serving_state = s;
  return blis__kv_serving_init(engine, error);
}

static void deinit(blis__stepwise *engine) {
  scheduler *s = scheduler_of(engine);
  if (s != NULL) {
    blis_array_deinit(&engine->alloc, &s->fitting);
    blis_array_deinit(&engine->alloc, &s->computing);
    blis_alloc_free(&engine->alloc, s, sizeof *s);
  }
  blis__kv_serving_deinit(engine);
}

const blis__serving_ops blis__serving_trtllm = {
    .name = "trtllm",
    .init = init,
    .deinit = deinit,
    .form = form,
    .release = blis__kv_serving_release,
    .get_kv = blis__kv_serving_get_kv,
    .cached_blocks = blis__kv_serving_cached_blocks,
    .cached_blocks_at_mark = blis__kv_serving_cached_blocks_at_mark,
    .set_journal = blis__kv_serving_set_journal,
    .forget = blis__kv_serving_forget,
    .check = blis__kv_serving_check,
};
