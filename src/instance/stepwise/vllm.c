/* KV in the blocks of stepwise_kv.c, and vLLM as a serving engine that forms batches by batch.c. */
#include "instance/stepwise/stepwise.h"

static blis_status new_cache(blis__stepwise *engine, blis_error *error) {
  const blis_instance_config *config = engine->config;
  const blis_kv_cache_config cache = {
      .blocks = config->kv_blocks,
      .block_size_tokens = config->block_size_tokens,
      .cpu_blocks = config->cpu_blocks,
      .cpu_bandwidth_tokens_per_us = config->cpu_bandwidth_tokens_per_us,
      .cpu_base_latency_us = config->cpu_base_latency_us,
      .pays_base_once = config->rules.pays_transfer_once,
      .offload_threshold = config->cpu_offload_threshold,
      .keeps_failed_claims = config->defects.keeps_failed_claims,
      .keeps_shared_only = config->rules.keeps_shared_only,
      .names_whole_blocks = config->rules.names_whole_blocks,
  };
  return blis_kv_cache_new(&engine->alloc, &cache, &engine->cache, error);
}

blis_status blis__kv_serving_init(blis__stepwise *engine, blis_error *error) {
  const blis_instance_config *config = engine->config;
  BLIS_TRY(new_cache(engine, error));
  if (config->kv_layout != NULL) {
    int64_t drafts = config->speculation == NULL ? 0 : config->speculation->tokens;
    engine->groups =
        blis_group_cache_new(&engine->alloc, config->kv_layout, blis_kv_cache_pool(engine->cache),
                             config->block_size_tokens, drafts);
    BLIS_TRY_NEW(engine->groups, error);
  }
  if (config->kv_source != NULL) {
    blis_kv_cache_hear(engine->cache, config->kv_source->evicted, config->kv_source->ud);
  }
  blis_kv_cache_listen(engine->cache, config->blocks);
  return BLIS_OK;
}

void blis__kv_serving_deinit(blis__stepwise *engine) {
  blis_group_cache_free(engine->groups);
  blis_kv_cache_free(engine->cache);
}

blis_status blis__kv_serving_release(blis__stepwise *engine, blis__sequence *sequence) {
  blis__kv_release(engine, sequence);
  return BLIS_OK;
}

void blis__kv_serving_get_kv(const blis__stepwise *engine, blis_kv_cache_stats *stats) {
  blis_kv_cache_get_stats(engine->cache, stats);
}

static uint32_t count_in_groups(const blis__stepwise *engine, const blis_block_chain *chain,
                                bool at_mark) {
  int64_t size = engine->config->block_size_tokens;
  return (uint32_t)(blis_group_cache_count(engine->groups, chain, chain->prompt_blocks * size,
                                           at_mark) /
                    size);
}

uint32_t blis__kv_serving_cached_blocks(const blis__stepwise *engine,
                                        const blis_block_chain *chain) {
  return engine->groups == NULL ? blis_kv_cache_count_cached(engine->cache, chain)
                                : count_in_groups(engine, chain, false);
}

uint32_t blis__kv_serving_cached_blocks_at_mark(const blis__stepwise *engine,
                                                const blis_block_chain *chain) {
  return engine->groups == NULL ? blis_kv_cache_count_at_mark(engine->cache, chain)
                                : count_in_groups(engine, chain, true);
}

void blis__kv_serving_set_journal(blis__stepwise *engine, blis_block_journal *journal) {
  blis_kv_cache_set_journal(engine->cache, journal);
}

blis_status blis__kv_serving_forget(blis__stepwise *engine) {
  blis_kv_cache_forget(engine->cache);
  return BLIS_OK;
}

bool blis__kv_serving_check(const blis__stepwise *engine) {
  return blis_kv_cache_check(engine->cache);
}

const blis__serving_ops blis__serving_vllm = {
    .name = "vllm",
    .moves_kv = true,
    .init = blis__kv_serving_init,
    .deinit = blis__kv_serving_deinit,
    .form = blis__batch_form,
    .release = blis__kv_serving_release,
    .get_kv = blis__kv_serving_get_kv,
    .cached_blocks = blis__kv_serving_cached_blocks,
    .cached_blocks_at_mark = blis__kv_serving_cached_blocks_at_mark,
    .set_journal = blis__kv_serving_set_journal,
    .forget = blis__kv_serving_forget,
    .check = blis__kv_serving_check,
};
