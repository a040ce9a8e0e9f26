/* Chooses the prompts of a prefill batch: first the next chunk, then the wait queue in order. */
#include "base/invariant.h"
#include "base/minmax.h"
#include "instance/parts/rules.h"
#include "instance/sglang/sglang.h"

/* The remaining budget of a prefill batch, in tokens. */
typedef struct budget {
  double total_used;    /* including the estimated output of all requests */
  int64_t current_used; /* by this batch */
  int64_t chunk;        /* INT64_MAX = prompts are not split */
  int64_t input;
} budget;

typedef enum outcome { GOES_ON, NO_TOKENS, STOPS } outcome;

static int64_t available_tokens(const blis__stepwise *engine) {
  const blis__sglang *s = blis__sglang_of(engine);
  return (blis__sglang_free_pages(engine) + blis_radix_tree_evictable(s->tree)) * s->page_tokens;
}

static double total_left(const blis__stepwise *engine, const budget *b) {
  return (double)available_tokens(engine) - b->total_used;
}

static int64_t current_left(const blis__stepwise *engine, const budget *b) {
  return available_tokens(engine) - b->current_used;
}

static budget new_budget(const blis__stepwise *engine, int64_t running) {
  const blis__sglang *s = blis__sglang_of(engine);
  int64_t rest = s->ended_rest;
  int64_t mixed = s->config->mixes ? running : 0;
  for (size_t i = 0; i < engine->batch.count; i++) {
    const blis__sequence *sequence = engine->batch.items[i];
    rest += sequence->tree.runs ? blis__sglang_rest(engine, sequence->place.request) : 0;
  }
  for (size_t i = 0; i < s->rows.count; i++) {
    rest += s->rows.items[i].rest_tokens;
  }
  int64_t chunk = s->config->chunk_tokens;
  return (budget){.total_used = (double)mixed + (double)rest * s->ratio,
                  .current_used = mixed,
                  .chunk = chunk == 0 ? INT64_MAX : chunk - mixed,
                  .input = s->config->max_prefill_tokens - mixed};
}

static void charge(const blis__sglang *s, budget *b, int64_t tokens, int64_t output) {
  int64_t paged = blis__sglang_pages_of(s, tokens) * s->page_tokens;
  b->total_used += (double)(paged + output + s->page_tokens);
  b->current_used += paged + s->page_tokens;
  b->input -= paged;
  b->chunk -= b->chunk == INT64_MAX ? 0 : paged;
}

static outcome state_of(const blis__stepwise *engine, const budget *b) {
  if (total_left(engine, b) <= 0 || current_left(engine, b) <= 0) {
    return NO_TOKENS;
  }
  return b->input <= 0 || b->chunk <= 0 ? STOPS : GOES_ON;
}

static int64_t clipped_output(const blis__stepwise *engine, const blis_live_request *request) {
  return blis_min_i64(blis__sglang_max_new(engine, request), BLIS__SGLANG_CLIP);
}

/* Adds the next tokens of the chunked prompt. It needs no slot. If there is no room for a token,
   the prompt is not changed. */
static blis_status add_chunk(blis__stepwise *engine, budget *b) {
  blis__sglang *s = blis__sglang_of(engine);
  blis__sequence *sequence = s->chunked;
  const blis_live_request *request = sequence->place.request;
  int64_t open = sequence->tree.own_pages * s->page_tokens +
                 sequence->tree.tree_pages * s->page_tokens - request->progress_tokens;
  int64_t most = (int64_t)total_left(engine, b);
  most = blis_min_i64(most > 0 ? most : INT64_MAX, b->chunk);
  most = blis_min_i64(most, blis_max_i64(available_tokens(engine) - b->current_used, 0) + open);
  int64_t rest = request->prefill_tokens - request->progress_tokens;
  int64_t tokens = blis_min_i64(rest, most);
  if (tokens <= 0) {
    return BLIS_OK;
  }
  charge(s, b, tokens, tokens == rest ? clipped_output(engine, request) : 0);
  s->chunked = tokens == rest ? NULL : sequence;
  const blis__sglang_prompt prompt = {sequence, request->progress_tokens, tokens};
  return blis_array_push(&engine->alloc, &s->prompts, prompt);
}

/* Returns the number of tokens of a prompt that are computed now; 0 = none. */
static int64_t fitting_tokens(const blis__sglang *s, const budget *b, int64_t start, int64_t rest) {
  int64_t paged = blis__sglang_pages_of(s, rest) * s->page_tokens;
  if (b->chunk == INT64_MAX) {
    return s->prompts.count > 0 && paged >= b->input ? 0 : rest;
  }
  if (paged <= b->chunk) {
    return rest;
  }
  if (s->chunked != NULL) {
    return 0; /* one prompt at a time */
  }
  int64_t end = start + b->chunk / s->page_tokens * s->page_tokens;
  return end / s->page_tokens * s->page_tokens - start;
}

/* Tries a request whose cached prefix is locked, and sets *verdict to the result. */
static blis_status try_locked(blis__stepwise *engine, budget *b, blis__sequence *sequence,
                              int64_t start, outcome *verdict) {
  blis__sglang *s = blis__sglang_of(engine);
  const blis_live_request *request = sequence->place.request;
  int64_t rest = request->prefill_tokens - start;
  int64_t needed = rest + blis__sglang_rest(engine, request) + s->page_tokens;
  if ((double)needed >= total_left(engine, b)) {
    *verdict = NO_TOKENS;
    return BLIS_OK;
  }
  int64_t tokens = fitting_tokens(s, b, start, rest);
  if (tokens <= 0 && rest > 0) {
    *verdict = STOPS;
    return BLIS_OK;
  }
  const blis__sglang_prompt prompt = {sequence, start, tokens};
  BLIS_TRY(blis_array_push(&engine->alloc, &s->prompts, prompt));
  charge(s, b, tokens, tokens == rest ? clipped_output(engine, request) : 0);
  s->chunked = tokens == rest ? s->chunked : sequence;
  *verdict = state_of(engine, b);
  return BLIS_OK;
}

/* Adds a waiting request to the batch if it fits. The request then holds its cached prefix. */
static blis_status try_waiting(blis__stepwise *engine, budget *b, blis__sequence *sequence,
                               outcome *verdict) {
  blis__sglang *s = blis__sglang_of(engine);
  const blis_live_request *request = sequence->place.request;
  size_t before = s->prompts.count;
  blis_radix_path path;
  BLIS_TRY(blis_radix_tree_match(s->tree, &request->chain,
                                 blis__findable_blocks(engine->config, request), &path));
  blis__sglang_hold(s, sequence, &path, 0);
  blis_status status = try_locked(engine, b, sequence, path.pages * s->page_tokens, verdict);
  if (s->prompts.count == before) {
    blis__sglang_drop(s, sequence);
  }
  return status;
}

/* A request that does not fit blocks all requests behind it. */
static blis_status add_waiting(blis__stepwise *engine, budget *b, int64_t slots) {
  blis__sglang *s = blis__sglang_of(engine);
  outcome verdict = GOES_ON;
  for (blis__waiting *place = engine->waiting.head; place != NULL && verdict == GOES_ON;
       place = place->after) {
    s->is_full = s->is_full || (int64_t)s->prompts.count >= slots;
    if (s->is_full) {
      return BLIS_OK;
    }
    BLIS_TRY(try_waiting(engine, b, blis__sequence_at(place), &verdict));
    s->is_full = verdict == NO_TOKENS;
  }
  return BLIS_OK;
}

/* Makes room for the pages of all prompts at once, by evicting excess pages from the tree. */
static blis_status make_room(blis__stepwise *engine) {
  const blis__sglang *s = blis__sglang_of(engine);
  int64_t tokens = 0;
  for (size_t i = 0; i < s->prompts.count; i++) {
    tokens += s->prompts.items[i].tokens;
  }
  if (s->page_tokens > 1) {
    tokens += (int64_t)s->prompts.count * s->page_tokens;
  }
  return blis__sglang_make_room(engine, blis__sglang_pages_of(s, tokens));
}

static void take_pages(blis__sglang *s, const blis__sglang_prompt *prompt) {
  blis__sequence *sequence = prompt->sequence;
  const blis_radix_path path = {sequence->tree.node, sequence->tree.tree_pages};
  int64_t end = prompt->start_tokens + prompt->tokens;
  blis__sglang_hold(s, sequence, &path, blis__sglang_pages_of(s, end) - path.pages);
}

static void start(blis__stepwise *engine, const blis__sglang_prompt *prompt) {
  blis__sequence *sequence = prompt->sequence;
  blis_live_request *request = sequence->place.request;
  sequence->tree.joins = true;
  if (request->state == BLIS_REQUEST_RUNNING) { /* a chunk */
    request->new_tokens = prompt->tokens;
    request->computed_tokens += prompt->tokens;
    return;
  }
  engine->found_tokens = prompt->start_tokens;
  blis__batch_enter(engine, sequence, prompt->start_tokens, prompt->tokens,
                    prompt->start_tokens / engine->config->block_size_tokens);
}

blis_status blis__sglang_prefill(blis__stepwise *engine, int64_t running, bool *is_formed,
                                 blis_error *error) {
  blis__sglang *s = blis__sglang_of(engine);
  int64_t slots = engine->config->max_num_seqs - running;
  *is_formed = false;
  if ((s->is_full || engine->waiting.count == 0) && s->chunked == NULL) {
    return BLIS_OK;
  }
  if (slots <= 0 && s->chunked == NULL) {
    s->is_full = true;
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__sglang_order(engine), error);
  budget b = new_budget(engine, running);
  s->prompts.count = 0;
  if (s->chunked != NULL) {
    BLIS_TRY_MEM(add_chunk(engine, &b), error);
  }
  BLIS_TRY_MEM(add_waiting(engine, &b, slots), error);
  BLIS_TRY_MEM(make_room(engine), error);
  BLIS_TRY_MEM(
      blis_array_reserve(&engine->alloc, &engine->batch, engine->batch.count + s->prompts.count),
      error);
  for (size_t i = 0; i < s->prompts.count; i++) {
    take_pages(s, &s->prompts.items[i]);
    start(engine, &s->prompts.items[i]);
  }
  BLIS_ASSERT(blis__sglang_free_pages(engine) >= 0);
  *is_formed = s->prompts.count > 0;
  return BLIS_OK;
}
