/* Hits of prompts by tier: see tiers.h. */
#include "base/invariant.h"
#include "base/minmax.h"
#include "cluster/tiers/kv_tiers.h"
#include "cluster/tiers/tiers.h"

static blis_status make_room(blis__tiers *tiers, uint32_t slot) {
  const blis__tier_hits none = {0};
  while (tiers->hits.count <= slot) {
    BLIS_TRY(blis_array_push(&tiers->cluster->alloc, &tiers->hits, none));
  }
  return BLIS_OK;
}

blis_status blis__tier_hits_begin(blis__tiers *tiers, const blis_live_request *live) {
  BLIS_TRY(make_room(tiers, live->slot));
  tiers->hits.items[live->slot] = (blis__tier_hits){.number = live->number};
  return BLIS_OK;
}

void blis__tier_hits_add(blis__tiers *tiers, const blis_live_request *live, uint32_t tier) {
  blis__tier_hits *its = &tiers->hits.items[live->slot];
  BLIS_ASSERT(its->number == live->number);
  its->brought_blocks[tier]++;
}

/* Fills the hits. Loaded blocks may have been evicted before the request was admitted, starting
   from the end of the prompt. The remaining hits are cached blocks. */
static void fill(blis__tier_hits *its, uint32_t tiers, int64_t size, int64_t cached_tokens) {
  its->hits = (blis_kv_hits){.count = tiers, .cached_tokens = cached_tokens};
  for (uint32_t t = 0; t < tiers; t++) {
    int64_t tokens = blis_min_i64(its->brought_blocks[t] * size, its->hits.cached_tokens);
    its->hits.tier_tokens[t] = tokens;
    its->hits.cached_tokens -= tokens;
  }
}

/* With prefill/decode disaggregation, the decode stage may already be admitted. */
void blis__tiers_admitted(void *ud, const blis_live_request *live, int64_t cached_tokens) {
  const blis__tier_end *end_of = ud;
  blis__tiers *tiers = end_of->tiers;
  blis_cluster *cluster = tiers->cluster;
  if (!live->was_brought && blis__tier_hits_begin(tiers, live) != BLIS_OK) {
    if (cluster->event_error.status == BLIS_OK) {
      cluster->event_error.status = blis_fail_nomem(&cluster->event_error);
    }
    return;
  }
  const blis_instance_config *config =
      blis_instance_get_config(cluster->instances[end_of->instance]);
  blis__tier_hits *its = &tiers->hits.items[live->slot];
  BLIS_ASSERT(its->number == live->number);
  fill(its, tiers->count, config->block_size_tokens, cached_tokens);
}

const blis_kv_hits *blis__tier_hits_of(const blis__tiers *tiers, const blis_live_request *live) {
  if (live->slot >= tiers->hits.count) {
    return NULL;
  }
  const blis__tier_hits *its = &tiers->hits.items[live->slot];
  return its->number == live->number && its->hits.count > 0 ? &its->hits : NULL;
}
