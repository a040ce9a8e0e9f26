/* Loads for requests: see tiers.h. */
#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "cluster/clock.h"
#include "cluster/service.h"
#include "cluster/tiers/kv_tiers.h"
#include "cluster/tiers/tiers.h"

static const blis_alloc *alloc_of(const blis__tiers *tiers) {
  return &tiers->cluster->alloc;
}

/* Offers. */

/* Returns how many of the first `count` found blocks are in `store`. */
static int64_t count_from(const blis__tier_blocks *found, uint32_t count, int32_t store) {
  int64_t blocks = 0;
  for (uint32_t i = 0; i < count; i++) {
    blocks += found->items[i].from == store;
  }
  return blocks;
}

static bool is_first_from(const blis__tier_blocks *found, uint32_t i) {
  for (uint32_t k = 0; k < i; k++) {
    if (found->items[k].from == found->items[i].from) {
      return false;
    }
  }
  return true;
}

/* Returns the load time. Stores are read in parallel, so the slowest one determines it. */
static double load_us(const blis__tiers *tiers, uint32_t instance, uint32_t count) {
  double us = 0;
  int32_t last = BLIS__NO_STORE;
  for (uint32_t i = 0; i < count; i++) {
    int32_t store = tiers->found.items[i].from;
    if (store != last && is_first_from(&tiers->found, i)) {
      us = fmax(
          us, blis__tier_read_us(tiers, store, instance, count_from(&tiers->found, count, store)));
    }
    last = store;
  }
  return us;
}

/* Sets *us to the time to compute `tokens` tokens after `cached_tokens` in a separate step. */
static blis_status compute_us(const blis_instance_config *config, int64_t cached_tokens,
                              int64_t tokens, double *us, blis_error *error) {
  const blis_batch_item item = {.progress_tokens = cached_tokens,
                                .new_tokens = tokens,
                                .prompt_tokens = cached_tokens + tokens,
                                .output_tokens = 1};
  const blis_batch_sums sums = blis_batch_sums_of(&item, 1);
  int64_t step_us = 0;
  if (!blis_latency_step_time_from_sums(config->latency, &sums, &step_us)) {
    BLIS_TRY(blis_latency_step_time(config->latency, &item, 1, &step_us, error));
  }
  *us = (double)step_us;
  return BLIS_OK;
}

static blis_status show(const blis__tiers *tiers, uint32_t instance,
                        const blis_live_request *request, uint32_t first, int64_t now_us,
                        blis_kv_offer *offer, blis_error *error) {
  const blis_instance_config *config =
      blis_instance_get_config(tiers->cluster->instances[instance]);
  int64_t size = config->block_size_tokens;
  uint32_t count = (uint32_t)tiers->found.count;
  *offer = (blis_kv_offer){.request = request,
                           .instance = instance,
                           .now_us = now_us,
                           .cached_tokens = first * size,
                           .offered_tokens = count * size,
                           .load_us = load_us(tiers, instance, count)};
  for (uint32_t i = 0; i < count; i++) {
    offer->tier_tokens[blis__tier_place_at(tiers, tiers->found.items[i].from)->tier] += size;
  }
  return compute_us(config, offer->cached_tokens, count * size, &offer->compute_us, error);
}

/* Chooses how many of the found blocks are loaded. */
static blis_status choose(blis__tiers *tiers, uint32_t instance, const blis_live_request *request,
                          uint32_t first, int64_t now_us, uint32_t *count, blis_error *error) {
  const blis_kv_tiers *config = &tiers->config;
  *count = (uint32_t)tiers->found.count;
  if (config->rule == BLIS_LOADS_ALL || *count == 0) {
    return BLIS_OK;
  }
  blis_kv_offer offer;
  BLIS_TRY(show(tiers, instance, request, first, now_us, &offer, error));
  int64_t tokens = offer.offered_tokens;
  if (config->rule == BLIS_LOADS_AS_TOLD) {
    BLIS_TRY(config->load_choice(config->ud, &offer, &tokens, error));
  } else if (offer.load_us >= offer.compute_us) {
    tokens = 0;
  }
  int64_t size = offer.offered_tokens / *count;
  *count = (uint32_t)blis_min_i64(blis_max_i64(tokens, 0) / size, *count);
  return BLIS_OK;
}

blis_status blis__tiers_offer(void *ud, const blis_live_request *request, blis_kv_stretch *stretch,
                              int64_t now_us, blis_error *error) {
  const blis__tier_end *end_of = ud;
  blis__tiers *tiers = end_of->tiers;
  uint32_t instance = end_of->instance;
  uint32_t first = stretch->first;
  uint32_t count;
  BLIS_TRY_MEM(blis__tiers_find(tiers, instance, &request->chain, first, stretch->end), error);
  BLIS_TRY(choose(tiers, instance, request, first, now_us, &count, error));
  int64_t size = blis_instance_get_config(tiers->cluster->instances[instance])->block_size_tokens;
  uint32_t chunk = (uint32_t)blis_max_i64(tiers->config.chunk_tokens / size, 1);
  uint32_t end = (first + count) / chunk * chunk;
  tiers->counts.declined += tiers->found.count > 0 && count == 0;
  stretch->end = end > first ? end : first;
  return BLIS_OK;
}

/* Loads. */

static void link_load(blis__tiers *tiers, blis__tier_load *load) {
  load->later = tiers->loads;
  if (tiers->loads != NULL) {
    tiers->loads->earlier = load;
  }
  tiers->loads = load;
}

static void unlink_load(blis__tiers *tiers, blis__tier_load *load) {
  if (load->earlier != NULL) {
    load->earlier->later = load->later;
  } else {
    tiers->loads = load->later;
  }
  if (load->later != NULL) {
    load->later->earlier = load->earlier;
  }
}

void blis__tiers_free_load(blis__tiers *tiers, blis__tier_load *load) {
  const blis_alloc *alloc = alloc_of(tiers);
  BLIS_ASSERT(load->jobs_left == 0);
  unlink_load(tiers, load);
  blis_array_deinit(alloc, &load->blocks);
  blis_alloc_free(alloc, load, sizeof *load);
}

static blis_tier_store *store_at(const blis__tiers *tiers, int32_t store) {
  return blis__tier_place_at(tiers, store)->blocks;
}

/*
 * Records the use of the blocks. The last block is used first, so that the first blocks are evicted
 * last.
 */
static blis_status use_blocks(blis__tiers *tiers, blis__tier_load *load, blis_error *error) {
  for (size_t i = load->blocks.count; i-- > 0;) {
    const blis__tier_block *block = &load->blocks.items[i];
    double score = 0;
    BLIS_TRY(blis__tiers_score(tiers, block->from, block, &score, error));
    blis_tier_store_touch(store_at(tiers, block->from), block->id, score);
    blis_tier_store_pin(store_at(tiers, block->from), block->id);
  }
  return BLIS_OK;
}

/* Reserves space in a staging tier for the blocks that are read through it, if possible. */
static blis_status reserve_in_stage(blis__tiers *tiers, blis__tier_load *load,
                                    blis__tier_block *block, blis__tier_blocks *victims,
                                    blis_error *error) {
  int32_t stage = blis__tier_at(tiers, block->from)->is.stage;
  int32_t into =
      stage < 0 ? BLIS__NO_STORE : blis__tier_store_of(tiers, (uint32_t)stage, load->instance);
  if (into == BLIS__NO_STORE || !tiers->all[stage].is.promotes ||
      blis_tier_store_knows(store_at(tiers, into), block->id)) {
    return BLIS_OK;
  }
  double score = 0;
  blis_block_id evicted;
  bool is_done;
  BLIS_TRY(blis__tiers_score(tiers, into, block, &score, error));
  BLIS_TRY(blis__tiers_evict_above(tiers, into, true, victims, error));
  BLIS_TRY_MEM(blis_array_reserve(alloc_of(tiers), victims, victims->count + 1), error);
  BLIS_TRY_MEM(blis_tier_store_reserve(store_at(tiers, into), block->id, score, &evicted, &is_done),
               error);
  block->into = is_done ? into : BLIS__NO_STORE;
  if (evicted != BLIS_BLOCK_NONE) {
    victims->items[victims->count++] = (blis__tier_block){
        .id = evicted, .reused_after_us = -1, .from = into, .into = BLIS__NO_STORE};
  }
  return BLIS_OK;
}

/* Passes victims to the next tiers. Victims of the same staging tier are adjacent. */
static blis_status pass_on(blis__tiers *tiers, uint32_t instance, blis__tier_blocks *victims,
                           blis_error *error) {
  for (uint32_t t = 0; t < tiers->count; t++) {
    int32_t store = blis__tier_store_of(tiers, t, instance);
    blis__tier_blocks its = {0};
    blis_status status = BLIS_OK;
    for (size_t i = 0; i < victims->count && status == BLIS_OK; i++) {
      if (victims->items[i].from == store) {
        status = blis_array_push(alloc_of(tiers), &its, victims->items[i]) == BLIS_OK
                     ? BLIS_OK
                     : blis_fail_nomem(error);
      }
    }
    if (status == BLIS_OK && its.count > 0) {
      status = blis__tiers_evicted(tiers, instance, store, &its, error);
    }
    blis_array_deinit(alloc_of(tiers), &its);
    BLIS_TRY(status);
  }
  return BLIS_OK;
}

/*
 * Evicts blocks from stores of the instance that exceed their watermark, and adds them to the
 * victims.
 */
static blis_status relieve(blis__tiers *tiers, uint32_t instance, blis__tier_blocks *victims,
                           blis_error *error) {
  for (uint32_t t = 0; t < tiers->count; t++) {
    int32_t store = blis__tier_store_of(tiers, t, instance);
    if (store != BLIS__NO_STORE) {
      BLIS_TRY(blis__tiers_evict_above(tiers, store, false, victims, error));
    }
  }
  return victims->count == 0 ? BLIS_OK : pass_on(tiers, instance, victims, error);
}

static blis_status promote(blis__tiers *tiers, blis__tier_load *load, blis_error *error) {
  blis__tier_blocks victims = {0};
  blis_status status = BLIS_OK;
  for (size_t i = 0; i < load->blocks.count && status == BLIS_OK; i++) {
    status = reserve_in_stage(tiers, load, &load->blocks.items[i], &victims, error);
  }
  if (status == BLIS_OK) {
    status = relieve(tiers, load->instance, &victims, error);
  }
  blis_array_deinit(alloc_of(tiers), &victims);
  return status;
}

static blis_status begin_jobs(blis__tiers *tiers, blis__tier_load *load, blis_error *error) {
  int32_t last = BLIS__NO_STORE;
  for (uint32_t i = 0; i < load->blocks.count; i++) {
    int32_t store = load->blocks.items[i].from;
    if (store == last || !is_first_from(&load->blocks, i)) {
      continue;
    }
    last = store;
    blis__tier_job *job = blis__tier_job_new(tiers, store, load->instance);
    BLIS_TRY_NEW(job, error);
    BLIS_ASSERT(load->job_count < BLIS__LOAD_JOBS_MAX);
    job->load = load;
    load->jobs[load->job_count++] = job;
    load->jobs_left++;
    BLIS_TRY(blis__tier_job_begin(
        tiers, job, count_from(&load->blocks, (uint32_t)load->blocks.count, store), error));
  }
  return BLIS_OK;
}

blis_status blis__tiers_bring(void *ud, blis_live_request *request, const blis_kv_stretch *stretch,
                              int64_t now_us, blis_error *error) {
  const blis__tier_end *end_of = ud;
  blis__tiers *tiers = end_of->tiers;
  uint32_t count = stretch->end - stretch->first;
  BLIS_ASSERT(count <= tiers->found.count && tiers->found.items[0].depth == stretch->first);
  BLIS_ASSERT(now_us == tiers->cluster->now_us);
  blis__tier_load *load = blis_alloc_zeroed(alloc_of(tiers), 1, sizeof *load);
  BLIS_TRY_NEW(load, error);
  link_load(tiers, load);
  load->live = request;
  load->instance = end_of->instance;
  load->stretch = *stretch;
  load->since_us = now_us;
  BLIS_TRY_MEM(blis_array_reserve(alloc_of(tiers), &load->blocks, count), error);
  for (uint32_t i = 0; i < count; i++) {
    load->blocks.items[load->blocks.count++] = tiers->found.items[i];
  }
  request->load = load;
  /* A preempted request was admitted before; its hits are already counted. */
  if (request->scheduling_delay_us < 0 || blis__tier_hits_of(tiers, request) == NULL) {
    BLIS_TRY_MEM(blis__tier_hits_begin(tiers, request), error);
  }
  tiers->counts.requests++;
  tiers->counts.in_flight++;
  BLIS_TRY(use_blocks(tiers, load, error));
  BLIS_TRY(promote(tiers, load, error));
  return begin_jobs(tiers, load, error);
}

/* Ends. */

/* Commits the blocks that have arrived and releases all other reservations, so that all blocks can
   be evicted again. */
static void settle(blis__tiers *tiers, blis__tier_load *load, uint32_t came) {
  for (uint32_t i = 0; i < load->blocks.count; i++) {
    blis__tier_block *block = &load->blocks.items[i];
    blis__tier *tier = blis__tier_at(tiers, block->from);
    blis_tier_store_unpin(store_at(tiers, block->from), block->id);
    if (i < came) {
      tier->counts.loaded_blocks++;
      blis__tier_hits_add(tiers, load->live, blis__tier_place_at(tiers, block->from)->tier);
      tier->counts.peer_blocks +=
          block->from !=
          blis__tier_store_of(tiers, blis__tier_place_at(tiers, block->from)->tier, load->instance);
    } else {
      tier->counts.lost_blocks++;
    }
    if (block->into == BLIS__NO_STORE) {
      continue;
    }
    if (i < came) {
      blis_tier_store_commit(store_at(tiers, block->into), block->id);
      blis__tier_at(tiers, block->into)->counts.promoted_blocks++;
    } else {
      blis_tier_store_abandon(store_at(tiers, block->into), block->id);
    }
  }
  tiers->counts.loaded_blocks += came;
  load->blocks.count = 0;
}

static void drop_jobs(blis__tiers *tiers, blis__tier_load *load) {
  for (uint32_t i = 0; i < load->job_count; i++) {
    if (load->jobs[i] != NULL) {
      blis__tier_job_tell(tiers, load->jobs[i], true);
      blis__tier_job_free(tiers, load->jobs[i]);
    }
  }
  load->job_count = 0;
  load->jobs_left = 0;
}

/* Evicts excess blocks after a read, because its promoted blocks could not be evicted earlier. */
static blis_status relieve_after(blis__tiers *tiers, uint32_t instance, blis_error *error) {
  blis__tier_blocks victims = {0};
  blis_status status = relieve(tiers, instance, &victims, error);
  blis_array_deinit(alloc_of(tiers), &victims);
  return status;
}

/* Ends a load of which the first `came` blocks have arrived. The request continues. */
static blis_status end_load(blis__tiers *tiers, blis__tier_load *load, uint32_t came,
                            blis_error *error) {
  blis_cluster *cluster = tiers->cluster;
  blis_live_request *live = load->live;
  uint32_t instance = load->instance;
  uint32_t end = load->stretch.first + came;
  bool is_whole = end == load->stretch.end;
  drop_jobs(tiers, load);
  settle(tiers, load, came);
  if (is_whole) { /* otherwise, stores are being lost */
    BLIS_TRY(relieve_after(tiers, instance, error));
  }
  tiers->counts.in_flight--;
  *(is_whole ? &tiers->counts.completed : &tiers->counts.failed) += 1;
  tiers->counts.wait_us += (double)(cluster->now_us - load->since_us);
  live->load = NULL;
  blis__tiers_free_load(tiers, load);
  BLIS_TRY(blis__cluster_bring_forward(cluster, instance, error));
  BLIS_TRY(blis_instance_loaded(cluster->instances[instance], live, end, cluster->now_us, error));
  blis__note_instance_change(cluster, instance);
  return BLIS_OK;
}

blis_status blis__tiers_read(blis__tiers *tiers, blis__tier_job *job, blis_error *error) {
  blis__tier_load *load = job->load;
  blis_kv_tier_counts *counts = &blis__tier_at(tiers, job->store)->counts;
  counts->loads++;
  counts->loaded_bytes += job->bytes;
  counts->load_us += (double)(tiers->cluster->now_us - job->since_us);
  for (uint32_t i = 0; i < load->job_count; i++) {
    if (load->jobs[i] == job) {
      load->jobs[i] = NULL;
    }
  }
  load->jobs_left--;
  blis__tier_job_tell(tiers, job, false);
  blis__tier_job_free(tiers, job);
  return load->jobs_left > 0 ? BLIS_OK : end_load(tiers, load, (uint32_t)load->blocks.count, error);
}

void blis__tiers_cancel(void *ud, blis_live_request *request) {
  blis__tiers *tiers = ((const blis__tier_end *)ud)->tiers;
  blis__tier_load *load = request->load;
  drop_jobs(tiers, load);
  settle(tiers, load, 0);
  tiers->counts.in_flight--;
  tiers->counts.canceled++;
  request->load = NULL;
  blis__tiers_free_load(tiers, load);
}

void blis__tiers_stop_loads(blis__tiers *tiers, uint32_t instance) {
  for (blis__tier_load *load = tiers->loads; load != NULL; load = load->later) {
    if (load->instance == instance) {
      drop_jobs(tiers, load);
      settle(tiers, load, 0); /* the load is canceled with its request */
    }
  }
}

/* Returns how many leading blocks of the load do not come from this store. */
static uint32_t before_loss(const blis__tier_load *load, int32_t store) {
  uint32_t i = 0;
  while (i < load->blocks.count && load->blocks.items[i].from != store &&
         load->blocks.items[i].into != store) {
    i++;
  }
  return i;
}

/* Returns how many of the first `count` blocks have been read completely. */
static uint32_t have_come(const blis__tier_load *load, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < load->job_count; k++) {
      if (load->jobs[k] != NULL && load->jobs[k]->store == load->blocks.items[i].from) {
        return i;
      }
    }
  }
  return count;
}

blis_status blis__tiers_cut_loads(blis__tiers *tiers, int32_t store, blis_error *error) {
  blis__tier_load *later;
  for (blis__tier_load *load = tiers->loads; load != NULL; load = later) {
    later = load->later;
    uint32_t count = before_loss(load, store);
    if (count < load->blocks.count) {
      BLIS_TRY(end_load(tiers, load, have_come(load, count), error));
    }
  }
  return BLIS_OK;
}
