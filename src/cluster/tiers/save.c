/* Saving of blocks: see tiers.h. */
#include <math.h>

#include "base/invariant.h"
#include "cluster/tiers/kv_tiers.h"
#include "cluster/tiers/tiers.h"

static const blis_alloc *alloc_of(const blis__tiers *tiers) {
  return &tiers->cluster->alloc;
}

/* Returns whether the tier uses this hint of a program. */
static bool keeps(const blis_kv_tier *tier, int64_t reused_after_us) {
  return tier->keeps_hinted && reused_after_us >= 0 && reused_after_us <= tier->keep_us;
}

/* Returns the time until which a block that is used now should be kept. */
static double kept_until_us(const blis_kv_tier *tier, int64_t now_us, int64_t reused_after_us) {
  return (double)now_us + (keeps(tier, reused_after_us) ? (double)reused_after_us : 0);
}

blis_status blis__tiers_score(const blis__tiers *tiers, int32_t store,
                              const blis__tier_block *block, double *score, blis_error *error) {
  const blis_kv_tiers *config = &tiers->config;
  const blis__tier_place *place = blis__tier_place_at(tiers, store);
  const blis_kv_tier *tier = &tiers->all[place->tier].is;
  if (tier->policy != BLIS_TIER_SCORED) {
    return BLIS_OK;
  }
  if (tier->keeps_hinted) {
    *score = kept_until_us(tier, tiers->cluster->now_us, block->reused_after_us);
    return BLIS_OK;
  }
  bool is_known = blis_tier_store_knows(place->blocks, block->id);
  const blis_kv_sight sight = {
      .tier = place->tier,
      .depth = block->depth,
      .blocks = block->blocks,
      .uses = (is_known ? blis_tier_store_uses(place->blocks, block->id) : 0) + 1,
      .reused_after_us = block->reused_after_us,
      .now_us = tiers->cluster->now_us};
  return config->score(config->ud, &sight, score, error);
}

/* Determines whether a block has been seen often enough, including this time. */
static blis_status is_wanted(const blis__tier_place *place, int64_t threshold, blis_block_id id,
                             bool *wanted, blis_error *error) {
  blis_block_id evicted;
  bool is_done;
  *wanted = true;
  if (place->sights == NULL) {
    return BLIS_OK;
  }
  if (blis_tier_store_has(place->sights, id)) {
    blis_tier_store_touch(place->sights, id, 0);
  } else {
    BLIS_TRY_MEM(blis_tier_store_reserve(place->sights, id, 0, &evicted, &is_done), error);
    blis_tier_store_commit(place->sights, id);
  }
  *wanted = blis_tier_store_uses(place->sights, id) >= threshold;
  return BLIS_OK;
}

/*
 * Touches known blocks. The last block is touched first, so that the first blocks are evicted last.
 */
static blis_status touch_known(const blis__tiers *tiers, int32_t store,
                               const blis__tier_block *blocks, size_t count, blis_error *error) {
  blis_tier_store *known = blis__tier_place_at(tiers, store)->blocks;
  for (size_t i = count; i-- > 0;) {
    if (blis_tier_store_has(known, blocks[i].id)) {
      double score = 0;
      BLIS_TRY(blis__tiers_score(tiers, store, &blocks[i], &score, error));
      blis_tier_store_touch(known, blocks[i].id, score);
    }
  }
  return BLIS_OK;
}

/*
 * Returns the number of blocks to evict from a store with this number of blocks, according to
 * evict_above.
 */
static int64_t blocks_to_evict(const blis_kv_tier *tier, int64_t blocks, int64_t capacity) {
  const double rounding = 1e-9;
  double usage = (double)blocks / (double)capacity;
  double share = tier->evict_share + (usage - tier->evict_above);
  return (int64_t)ceil(share * (double)blocks - rounding);
}

blis_status blis__tiers_evict_above(blis__tiers *tiers, int32_t store, bool is_coming,
                                    blis__tier_blocks *victims, blis_error *error) {
  const blis_kv_tier *tier = &blis__tier_at(tiers, store)->is;
  blis_tier_store *blocks = blis__tier_place_at(tiers, store)->blocks;
  int64_t capacity = blis_tier_store_capacity(blocks);
  int64_t used = blis_tier_store_get_stats(blocks).blocks;
  bool is_due = is_coming ? used >= capacity : (double)used > tier->evict_above * (double)capacity;
  if (tier->evict_above <= 0 || !is_due) {
    return BLIS_OK;
  }
  for (int64_t left = blocks_to_evict(tier, used, capacity); left > 0; left--) {
    blis__tier_block victim = {.reused_after_us = -1, .from = store, .into = BLIS__NO_STORE};
    BLIS_TRY_MEM(blis_array_reserve(alloc_of(tiers), victims, victims->count + 1), error);
    victim.id = blis_tier_store_evict(blocks);
    if (victim.id == BLIS_BLOCK_NONE) {
      return BLIS_OK;
    }
    victims->items[victims->count++] = victim;
  }
  return BLIS_OK;
}

/* Reserves space for a block if it is new and fits. Evicted blocks are appended to victims. */
static blis_status place_one(blis__tiers *tiers, int32_t store, const blis__tier_block *block,
                             blis__tier_blocks *placed, blis__tier_blocks *victims,
                             blis_error *error) {
  const blis__tier_place *place = blis__tier_place_at(tiers, store);
  blis__tier *tier = blis__tier_at(tiers, store);
  bool is_done = false;
  double score = 0;
  blis_block_id evicted;
  if (blis_tier_store_knows(place->blocks, block->id)) {
    return BLIS_OK;
  }
  BLIS_TRY(is_wanted(place, tier->is.threshold, block->id, &is_done, error));
  if (!is_done) {
    return BLIS_OK;
  }
  BLIS_TRY(blis__tiers_score(tiers, store, block, &score, error));
  BLIS_TRY(blis__tiers_evict_above(tiers, store, true, victims, error));
  BLIS_TRY_MEM(blis_array_reserve(alloc_of(tiers), placed, placed->count + 1), error);
  BLIS_TRY_MEM(blis_array_reserve(alloc_of(tiers), victims, victims->count + 1), error);
  BLIS_TRY_MEM(blis_tier_store_reserve(place->blocks, block->id, score, &evicted, &is_done), error);
  tier->counts.dropped_blocks += !is_done;
  if (is_done) {
    blis__tier_block *made = &placed->items[placed->count++];
    *made = *block;
    made->from = BLIS__NO_STORE;
    made->into = store;
  }
  if (evicted != BLIS_BLOCK_NONE) {
    victims->items[victims->count++] = (blis__tier_block){
        .id = evicted, .reused_after_us = -1, .from = store, .into = BLIS__NO_STORE};
  }
  return BLIS_OK;
}

/* Evicts the excess blocks of a store, and appends them to the victims. */
static blis_status relieve(blis__tiers *tiers, uint32_t instance, int32_t store,
                           blis__tier_blocks *victims, blis_error *error) {
  BLIS_TRY(blis__tiers_evict_above(tiers, store, false, victims, error));
  return victims->count == 0 ? BLIS_OK
                             : blis__tiers_evicted(tiers, instance, store, victims, error);
}

static blis_status fill_job(blis__tiers *tiers, blis__tier_job *job, const blis__tier_block *blocks,
                            size_t count, blis__tier_blocks *victims, blis_error *error) {
  BLIS_TRY(touch_known(tiers, job->store, blocks, count, error));
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(place_one(tiers, job->store, &blocks[i], &job->blocks, victims, error));
  }
  BLIS_TRY(relieve(tiers, job->instance, job->store, victims, error));
  if (job->blocks.count > 0) {
    return blis__tier_job_begin(tiers, job, (int64_t)job->blocks.count, error);
  }
  blis__tier_job_free(tiers, job);
  return BLIS_OK;
}

/* Writes the blocks that a store lacks. */
static blis_status save(blis__tiers *tiers, uint32_t instance, int32_t store,
                        const blis__tier_block *blocks, size_t count, blis_error *error) {
  blis__tier_blocks victims = {0};
  blis__tier_job *job = blis__tier_job_new(tiers, store, instance);
  BLIS_TRY_NEW(job, error);
  blis_status status = fill_job(tiers, job, blocks, count, &victims, error);
  blis_array_deinit(alloc_of(tiers), &victims);
  return status;
}

/* Saves blocks to every tier with this staging tier and saving rule. */
static blis_status save_behind(blis__tiers *tiers, uint32_t instance, int32_t stage,
                               blis_tier_saving saving, const blis__tier_block *blocks,
                               size_t count, blis_error *error) {
  for (uint32_t t = 0; t < tiers->count; t++) {
    int32_t store = blis__tier_store_of(tiers, t, instance);
    if (store != BLIS__NO_STORE && tiers->all[t].is.stage == stage &&
        tiers->all[t].is.saving == saving) {
      BLIS_TRY(save(tiers, instance, store, blocks, count, error));
    }
  }
  return BLIS_OK;
}

blis_status blis__tiers_evicted(blis__tiers *tiers, uint32_t instance, int32_t store,
                                const blis__tier_blocks *victims, blis_error *error) {
  return save_behind(tiers, instance, (int32_t)blis__tier_place_at(tiers, store)->tier,
                     BLIS_TIER_ON_EVICT, victims->items, victims->count, error);
}

/* Lists the blocks of a stretch in tiers->found, which no longer belongs to an offer. */
static blis_status list_stretch(blis__tiers *tiers, const blis__tier_stretch *stretch,
                                blis_error *error) {
  blis__tier_blocks *blocks = &tiers->found;
  blocks->count = 0;
  for (uint32_t k = stretch->first; k < stretch->end; k++) {
    const blis__tier_block block = {.id = blis_block_chain_at(stretch->chain, k),
                                    .depth = k,
                                    .blocks = stretch->end,
                                    .reused_after_us = stretch->reused_after_us,
                                    .from = BLIS__NO_STORE,
                                    .into = BLIS__NO_STORE};
    BLIS_TRY_MEM(blis_array_push(alloc_of(tiers), blocks, block), error);
  }
  return BLIS_OK;
}

blis_status blis__tiers_save_chain(blis__tiers *tiers, const blis__tier_stretch *stretch,
                                   blis_error *error) {
  BLIS_TRY(list_stretch(tiers, stretch, error));
  return tiers->found.count == 0
             ? BLIS_OK
             : save_behind(tiers, stretch->instance, -1, BLIS_TIER_WRITE_THROUGH,
                           tiers->found.items, tiers->found.count, error);
}

blis_status blis__tiers_keep_chain(blis__tiers *tiers, const blis__tier_stretch *stretch,
                                   blis_error *error) {
  BLIS_TRY(list_stretch(tiers, stretch, error));
  for (uint32_t t = 0; t < tiers->count; t++) {
    int32_t store = blis__tier_store_of(tiers, t, stretch->instance);
    if (store != BLIS__NO_STORE && keeps(&tiers->all[t].is, stretch->reused_after_us)) {
      BLIS_TRY(touch_known(tiers, store, tiers->found.items, tiers->found.count, error));
    }
  }
  return BLIS_OK;
}

void blis__tiers_hear_eviction(void *ud, blis_block_id id) {
  const blis__tier_end *end = ud;
  blis__tiers *tiers = end->tiers;
  blis_cluster *cluster = tiers->cluster;
  const blis__tier_eviction eviction = {end->instance, id};
  const blis_event event = {.time_us = cluster->now_us, .event_class = BLIS__CLUSTER_TIERS};
  blis_status status = BLIS_OK;
  if (tiers->evictions.count == 0) {
    status = blis_event_queue_push(cluster->queue, &event, NULL);
  }
  if (status == BLIS_OK) {
    status = blis_array_push(alloc_of(tiers), &tiers->evictions, eviction);
  }
  if (status != BLIS_OK && cluster->event_error.status == BLIS_OK) {
    cluster->event_error.status = blis_fail_nomem(&cluster->event_error);
  }
}

blis_status blis__tiers_save_evicted(blis__tiers *tiers, blis_error *error) {
  size_t count = tiers->evictions.count;
  for (size_t first = 0; first < count;) {
    uint32_t instance = tiers->evictions.items[first].instance;
    blis__tier_blocks *blocks = &tiers->found; /* no longer belongs to an offer */
    blocks->count = 0;
    for (; first < count && tiers->evictions.items[first].instance == instance; first++) {
      const blis__tier_block block = {.id = tiers->evictions.items[first].id,
                                      .reused_after_us = -1,
                                      .from = BLIS__NO_STORE,
                                      .into = BLIS__NO_STORE};
      BLIS_TRY_MEM(blis_array_push(alloc_of(tiers), blocks, block), error);
    }
    BLIS_TRY(
        save_behind(tiers, instance, -1, BLIS_TIER_ON_EVICT, blocks->items, blocks->count, error));
  }
  tiers->evictions.count = 0;
  return BLIS_OK;
}

/* The last block is committed first, like in touch_known. */
blis_status blis__tiers_written(blis__tiers *tiers, blis__tier_job *job, blis_error *error) {
  const blis__tier_place *place = blis__tier_place_at(tiers, job->store);
  blis_kv_tier_counts *counts = &tiers->all[place->tier].counts;
  blis__tier_job_tell(tiers, job, false);
  counts->saves++;
  counts->saved_blocks += (int64_t)job->blocks.count;
  counts->saved_bytes += job->bytes;
  for (size_t i = job->blocks.count; i-- > 0;) {
    blis_tier_store_commit(place->blocks, job->blocks.items[i].id);
  }
  BLIS_TRY(save_behind(tiers, job->instance, (int32_t)place->tier, BLIS_TIER_WRITE_THROUGH,
                       job->blocks.items, job->blocks.count, error));
  uint32_t instance = job->instance;
  int32_t store = job->store;
  blis__tier_job_free(tiers, job);
  /* Incoming blocks could not be evicted before. */
  blis__tier_blocks victims = {0};
  blis_status status = relieve(tiers, instance, store, &victims, error);
  blis_array_deinit(alloc_of(tiers), &victims);
  return status;
}

void blis__tiers_stop_saves(blis__tiers *tiers, int64_t instance, int32_t store) {
  blis__tier_job *later;
  for (blis__tier_job *job = tiers->jobs; job != NULL; job = later) {
    later = job->later;
    if (job->load != NULL || (job->instance != instance && job->store != store)) {
      continue;
    }
    for (size_t i = 0; i < job->blocks.count; i++) {
      blis_tier_store_abandon(blis__tier_place_at(tiers, job->store)->blocks,
                              job->blocks.items[i].id);
    }
    blis__tier_job_tell(tiers, job, true);
    blis__tier_job_free(tiers, job);
  }
}
