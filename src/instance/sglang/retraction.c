/* Handles decodes that do not fit: requests return to the end of the queue. */
#include "base/minmax.h"
#include "instance/sglang/sglang.h"

static int64_t new_pages(const blis__sglang *s, int64_t kv_tokens) {
  return kv_tokens % s->page_tokens == 0;
}

blis_status blis__sglang_can_decode(blis__stepwise *engine, bool *can) {
  const blis__sglang *s = blis__sglang_of(engine);
  int64_t pages = 0;
  for (size_t i = 0; i < engine->batch.count; i++) {
    const blis__sequence *sequence = engine->batch.items[i];
    pages += sequence->tree.runs ? new_pages(s, sequence->place.request->progress_tokens) : 0;
  }
  for (size_t i = 0; i < s->rows.count; i++) {
    pages += new_pages(s, s->rows.items[i].kv_tokens);
  }
  BLIS_TRY(blis__sglang_make_room(engine, pages));
  *can = blis__sglang_free_pages(engine) >= pages;
  return BLIS_OK;
}

/*
 * The request with the fewest outputs goes first. Ties: the longest prompt, then the last request.
 */
static bool goes_before(const blis_live_request *a, const blis_live_request *b) {
  int64_t outputs_a = blis__sglang_outputs(a);
  int64_t outputs_b = blis__sglang_outputs(b);
  return outputs_a != outputs_b ? outputs_a < outputs_b : a->prompt_tokens >= b->prompt_tokens;
}

/* Returns the number of running requests, and the one to retract next. */
static int64_t choose(const blis__stepwise *engine, size_t *victim) {
  int64_t running = 0;
  for (size_t i = 0; i < engine->batch.count; i++) {
    if (!engine->batch.items[i]->tree.runs) {
      continue;
    }
    if (running++ == 0 || goes_before(engine->batch.items[i]->place.request,
                                      engine->batch.items[*victim]->place.request)) {
      *victim = i;
    }
  }
  return running;
}

static blis_status retract_one(blis__stepwise *engine, size_t index, int64_t remaining) {
  blis__sglang *s = blis__sglang_of(engine);
  blis__sequence *sequence = engine->batch.items[index];
  blis__batch_remove(engine, index);
  blis__sglang_drop(s, sequence);
  sequence->tree.runs = false;
  blis__batch_requeue(engine, sequence, true);
  return blis__sglang_make_room(engine,
                                blis__sglang_pages_of(s, remaining * BLIS__SGLANG_RETRACT_STEPS));
}

/* Recalculates the ratio from the remaining requests. */
static void set_ratio(blis__stepwise *engine) {
  int64_t outputs = 0;
  int64_t most = 1;
  for (size_t i = 0; i < engine->batch.count; i++) {
    const blis__sequence *sequence = engine->batch.items[i];
    if (sequence->tree.runs) {
      outputs += blis__sglang_outputs(sequence->place.request) + BLIS__SGLANG_RETRACT_STEPS;
      most += blis__sglang_max_new(engine, sequence->place.request);
    }
  }
  double ratio = (double)outputs / (double)most;
  blis__sglang_of(engine)->ratio = ratio < 1 ? ratio : 1;
}

static blis_status give_up(blis__stepwise *engine, size_t index, blis_error *error) {
  blis__sequence *sequence = engine->batch.items[index];
  blis__batch_remove(engine, index);
  return blis__stepwise_reject(engine, sequence, "kv-full", error);
}

blis_status blis__sglang_retract(blis__stepwise *engine, blis_error *error) {
  bool fits = false;
  size_t victim = 0;
  int64_t running = choose(engine, &victim);
  while (!fits && running > 1) {
    BLIS_TRY_MEM(retract_one(engine, victim, running - 1), error);
    BLIS_TRY_MEM(blis__sglang_can_decode(engine, &fits), error);
    running = choose(engine, &victim);
  }
  if (!fits && running == 1) {
    BLIS_TRY_MEM(blis__sglang_can_decode(engine, &fits), error);
    BLIS_TRY(fits ? BLIS_OK : give_up(engine, victim, error));
  }
  set_ratio(engine);
  return BLIS_OK;
}
