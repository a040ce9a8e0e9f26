/*
 * cache_belief.c - compares predicted and actual cache hits of routing policies.
 */
#include "cluster/watch/cache_belief.h"

#include "cluster/feature.h"

static blis_status on_believed(void *ud, blis_cluster *cluster, const blis__news *news,
                               blis_error *error) {
  const blis_instance *instance = cluster->instances[news->instance];
  int64_t block_size = blis_instance_get_config(instance)->block_size_tokens;
  const blis_block_chain *chain = blis__chain_cache_get(&cluster->chains, (uint32_t)block_size);
  BLIS_TRY_NEW(chain, error);
  int64_t believed_tokens = news->routing->believed_tokens;
  int64_t true_tokens = (int64_t)blis_instance_cached_blocks(instance, chain) * block_size;
  int64_t excess = believed_tokens - true_tokens;
  blis_cache_belief *belief = ud;
  belief->decisions++;
  belief->prompt_tokens += news->request->live.prompt_tokens;
  belief->predicted_tokens += believed_tokens;
  belief->true_tokens += true_tokens;
  belief->missing_tokens += excess > 0 ? excess : 0;
  belief->unknown_tokens += excess < 0 ? -excess : 0;
  return BLIS_OK;
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  blis_cache_belief *belief = blis_arena_new(&cluster->texts, sizeof *belief);
  BLIS_TRY_NEW(belief, error);
  *belief = (blis_cache_belief){0};
  cluster->features[BLIS_FEATURE_BELIEF] = belief;
  const blis__listener listener = {
      .ud = belief, .phase = BLIS__BOOKS, .on = {[BLIS__BELIEVED] = on_believed}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

void blis_cluster_get_cache_belief(const blis_cluster *cluster, blis_cache_belief *belief) {
  *belief = *(const blis_cache_belief *)blis__feature_state(cluster, BLIS_FEATURE_BELIEF);
}

const blis__feature blis__belief_feature = {
    .slot = BLIS_FEATURE_BELIEF,
    .name = "belief",
    .start = start,
};
