/* The KV blocks of a sequence in the stepwise engine: with a KV layout, the blocks of all its
   groups; otherwise, the blocks of one cache. */
#include "base/minmax.h"
#include "instance/stepwise/stepwise.h"

void blis__kv_find_nothing(blis__stepwise *engine) {
  engine->found.count = 0;
  engine->found_groups.blocks.count = 0;
  engine->found_groups.tokens = 0;
  engine->found_tokens = 0;
}

blis_status blis__kv_find(blis__stepwise *engine, const blis_block_chain *chain,
                          blis_error *error) {
  int64_t size = engine->config->block_size_tokens;
  if (engine->groups == NULL) {
    BLIS_TRY(blis_kv_cache_match(engine->cache, chain, &engine->found, error));
    engine->found_tokens = (int64_t)engine->found.count * size;
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis_group_cache_match(engine->groups, chain, chain->prompt_blocks * size,
                                      &engine->found_groups),
               error);
  engine->found_tokens = engine->found_groups.tokens;
  return BLIS_OK;
}

static blis_status store(blis__stepwise *engine, blis__sequence *sequence,
                         const blis_block_span *span, int64_t computed_tokens, bool claims_found,
                         bool *is_done, blis_error *error) {
  if (engine->groups == NULL) {
    return blis_kv_cache_allocate(engine->cache, &sequence->blocks, span,
                                  claims_found ? &engine->found : NULL, is_done, error);
  }
  BLIS_TRY_MEM(blis_group_cache_allocate(engine->groups, &sequence->groups, span, computed_tokens,
                                         claims_found ? &engine->found_groups : NULL, is_done),
               error);
  return BLIS_OK;
}

blis_status blis__kv_store(blis__stepwise *engine, blis__sequence *sequence,
                           const blis_block_span *span, bool claims_found, bool *is_done,
                           blis_error *error) {
  return store(engine, sequence, span, span->start_tokens, claims_found, is_done, error);
}

blis_status blis__kv_set_aside(blis__stepwise *engine, blis__sequence *sequence,
                               const blis_block_span *span, bool *is_done, blis_error *error) {
  return store(engine, sequence, span, span->end_tokens, true, is_done, error);
}

blis_status blis__kv_name(blis__stepwise *engine, blis__sequence *sequence, int64_t tokens,
                          blis_error *error) {
  const blis_block_chain *chain = &sequence->place.request->chain;
  if (engine->groups == NULL) {
    blis_block_list first = sequence->blocks; /* a view of its first blocks */
    int64_t count = tokens / engine->config->block_size_tokens;
    first.count = (size_t)blis_min_i64(count, (int64_t)first.count);
    return blis_kv_cache_name(engine->cache, &first, chain, error);
  }
  BLIS_TRY_MEM(blis_group_cache_name(engine->groups, &sequence->groups, chain, tokens), error);
  return BLIS_OK;
}

int64_t blis__kv_lacking(const blis__stepwise *engine, const blis__sequence *sequence,
                         int64_t end_tokens) {
  int64_t size = engine->config->block_size_tokens;
  return engine->groups == NULL
             ? (end_tokens + size - 1) / size - (int64_t)sequence->blocks.count
             : blis_group_cache_lacking(engine->groups, &sequence->groups, end_tokens);
}

int64_t blis__kv_held(const blis__sequence *sequence) {
  return (int64_t)sequence->blocks.count + sequence->groups.held + sequence->tree.tree_pages +
         sequence->tree.own_pages;
}

void blis__kv_release(blis__stepwise *engine, blis__sequence *sequence) {
  if (engine->groups == NULL) {
    blis_kv_cache_release(engine->cache, &sequence->blocks);
  } else {
    blis_group_cache_release(engine->groups, &sequence->groups);
  }
}
