/* KV loads of the stepwise engine, see kv_source.h. */
#include "base/invariant.h"
#include "instance/parts/rules.h"
#include "instance/stepwise/stepwise.h"

/* Finds the cached blocks of the request (engine->found), and the blocks that can be loaded. */
static blis_status ask(blis__stepwise *engine, const blis_live_request *request,
                       blis_kv_stretch *stretch, blis_error *error) {
  const blis_kv_source *source = engine->config->kv_source;
  blis_block_chain chain = request->chain;
  chain.prompt_blocks = blis__findable_blocks(engine->config, request);
  BLIS_TRY(blis__kv_find(engine, &chain, error));
  *stretch = (blis_kv_stretch){(uint32_t)(engine->found_tokens / engine->config->block_size_tokens),
                               chain.prompt_blocks};
  if (stretch->end <= stretch->first) {
    return BLIS_OK;
  }
  BLIS_TRY(source->offer(source->ud, request, stretch, engine->clock_us, error));
  BLIS_ASSERT(stretch->end <= chain.prompt_blocks);
  return BLIS_OK;
}

static blis_status set_aside(blis__stepwise *engine, blis__sequence *sequence,
                             const blis_kv_stretch *stretch, bool *is_done, blis_error *error) {
  int64_t size = engine->config->block_size_tokens;
  blis_block_span span = blis__span_of(sequence->place.request, stretch->first * size,
                                       (int64_t)(stretch->end - stretch->first) * size);
  span.chain = NULL; /* not cached until their content has arrived */
  return blis__kv_set_aside(engine, sequence, &span, is_done, error);
}

blis_status blis__stepwise_load(blis__stepwise *engine, blis__sequence *sequence, bool *is_loading,
                                bool *is_blocked, blis_error *error) {
  const blis_kv_source *source = engine->config->kv_source;
  blis_live_request *request = sequence->place.request;
  blis_kv_stretch stretch = {0};
  *is_loading = false;
  *is_blocked = false;
  if (source == NULL || request->was_brought) {
    return BLIS_OK;
  }
  BLIS_TRY(ask(engine, request, &stretch, error));
  if (stretch.end <= stretch.first) {
    return BLIS_OK;
  }
  BLIS_TRY(set_aside(engine, sequence, &stretch, is_loading, error));
  *is_blocked = !*is_loading;
  if (*is_blocked) {
    return BLIS_OK;
  }
  request->was_brought = true;
  sequence->is_loading = true;
  sequence->awaited_blocks = stretch.end;
  engine->loading++;
  blis__wait_queue_remove(&engine->waiting, &sequence->place);
  blis__stepwise_park(engine, sequence);
  return source->bring(source->ud, request, &stretch, engine->clock_us, error);
}

static void end_load(blis__stepwise *engine, blis__sequence *sequence) {
  BLIS_ASSERT(sequence->is_loading && engine->loading > 0);
  sequence->is_loading = false;
  engine->loading--;
  blis__stepwise_unpark(engine, sequence);
}

void blis__stepwise_cancel_load(blis__stepwise *engine, blis__sequence *sequence) {
  const blis_kv_source *source = engine->config->kv_source;
  end_load(engine, sequence);
  source->cancel(source->ud, sequence->place.request);
}

blis_status blis__stepwise_loaded(void *state, blis_live_request *request, uint32_t end,
                                  int64_t now_us, blis_error *error) {
  blis__stepwise *engine = state;
  blis__sequence *sequence = request->engine;
  int64_t size = engine->config->block_size_tokens;
  BLIS_ASSERT(now_us >= engine->clock_us && end <= sequence->awaited_blocks);
  bool is_whole = end == sequence->awaited_blocks;
  BLIS_TRY(blis__kv_name(engine, sequence, end * size, error));
  engine->clock_us = now_us;
  end_load(engine, sequence);
  if (is_whole) {
    sequence->has_kv = true;
    sequence->loaded_blocks = end;
    engine->waiting_with_kv++;
    request->progress_tokens = end * size;
    request->computed_tokens = request->progress_tokens;
  } else {
    blis__kv_release(engine, sequence);
  }
  blis__wait_queue_push_front(&engine->waiting, &sequence->place);
  return blis__stepwise_wake(engine, error);
}
