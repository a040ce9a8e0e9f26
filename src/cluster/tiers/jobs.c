/* Reads and writes on their links: see tiers.h. */
#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "cluster/tiers/kv_tiers.h"
#include "cluster/tiers/tiers.h"

blis__tier_job *blis__tier_job_new(blis__tiers *tiers, int32_t store, uint32_t instance) {
  blis__tier_job *job = blis_alloc_zeroed(&tiers->cluster->alloc, 1, sizeof *job);
  if (job == NULL) {
    return NULL;
  }
  job->store = store;
  job->instance = instance;
  job->later = tiers->jobs;
  if (tiers->jobs != NULL) {
    tiers->jobs->earlier = job;
  }
  tiers->jobs = job;
  return job;
}

void blis__tier_job_free(blis__tiers *tiers, blis__tier_job *job) {
  const blis_alloc *alloc = &tiers->cluster->alloc;
  if (job->transfer.is_on_its_way) {
    blis__links_advance(&tiers->links, (double)tiers->cluster->now_us);
  }
  blis__links_stop(&tiers->links, &job->transfer);
  if (job->earlier != NULL) {
    job->earlier->later = job->later;
  } else {
    tiers->jobs = job->later;
  }
  if (job->later != NULL) {
    job->later->earlier = job->earlier;
  }
  blis_array_deinit(alloc, &job->blocks);
  blis_alloc_free(alloc, job, sizeof *job);
}

void blis__tier_job_tell(blis__tiers *tiers, const blis__tier_job *job, bool is_cut) {
  blis_cluster *cluster = tiers->cluster;
  const blis_load_sink *sink = &cluster->loads;
  if (sink->moved == NULL || cluster->event_error.status != BLIS_OK) {
    return;
  }
  const blis__tier_place *place = blis__tier_place_at(tiers, job->store);
  blis_kv_move move = {.tier = place->tier,
                       .owner = place->owner,
                       .instance = job->instance,
                       .is_read = job->load != NULL,
                       .is_cut = is_cut,
                       .start_us = job->since_us,
                       .end_us = cluster->now_us,
                       .blocks = job->block_count,
                       .bytes = job->bytes};
  if (move.is_read) {
    move.request = blis_request_name_of(job->load->live);
  }
  cluster->event_error.status = sink->moved(sink->ud, &move, &cluster->event_error);
}

/* Returns the links of a read: those of the store itself first, then of its staging tier. */
static uint32_t read_links(const blis__tiers *tiers, int32_t store, uint32_t instance,
                           uint32_t *links) {
  const blis__tier_place *place = blis__tier_place_at(tiers, store);
  const blis_kv_tier *tier = &tiers->all[place->tier].is;
  uint32_t count = 0;
  links[count++] = place->read_link;
  int32_t stage = tier->stage < 0 ? BLIS__NO_STORE
                                  : blis__tier_store_of(tiers, (uint32_t)tier->stage, instance);
  if (stage != BLIS__NO_STORE) {
    links[count++] = blis__tier_place_at(tiers, stage)->read_link;
  }
  return count;
}

/* Returns the network links for remote data: those of the instance that reads or writes and of the
   store's instance. */
static uint32_t network_links(const blis__tiers *tiers, int32_t store, uint32_t instance,
                              bool is_read, uint32_t *links) {
  const blis__tier_place *place = blis__tier_place_at(tiers, store);
  blis_tier_scope scope = tiers->all[place->tier].is.scope;
  uint32_t count = 0;
  bool is_own =
      store == blis__tier_store_of(tiers, place->tier, instance) && scope != BLIS_TIER_OF_CLUSTER;
  if (tiers->network_in == NULL || is_own) {
    return 0;
  }
  links[count++] = is_read ? tiers->network_in[instance] : tiers->network_out[instance];
  if (scope == BLIS_TIER_OF_INSTANCE) {
    links[count++] = tiers->network_out[place->owner];
  }
  return count;
}

static uint32_t links_of(const blis__tiers *tiers, const blis__tier_job *job, uint32_t *links) {
  bool is_read = job->load != NULL;
  uint32_t count = 1;
  if (is_read) {
    count = read_links(tiers, job->store, job->instance, links);
  } else {
    links[0] = blis__tier_place_at(tiers, job->store)->write_link;
  }
  return count + network_links(tiers, job->store, job->instance, is_read, links + count);
}

/* Returns the time of a job in addition to its bytes: the latencies of its stages and, for a
   read through a staging tier, the last batch on the faster one. */
static double base_us(const blis__tiers *tiers, int32_t store, uint32_t instance, bool is_read,
                      int64_t blocks) {
  const blis_kv_tier *tier = &tiers->all[blis__tier_place_at(tiers, store)->tier].is;
  uint32_t links[BLIS__TRANSFER_LINKS_MAX];
  double us = tier->latency_us;
  if (!is_read || read_links(tiers, store, instance, links) < 2) {
    return us;
  }
  const blis__link *all = tiers->links.all.items;
  double batch =
      (double)blis_min_i64(blocks, tiers->config.batch_blocks) * tiers->block_bytes[instance];
  return us + tiers->all[tier->stage].is.latency_us +
         batch / fmax(all[links[0]].bytes_per_us, all[links[1]].bytes_per_us);
}

blis_status blis__tier_job_begin(blis__tiers *tiers, blis__tier_job *job, int64_t blocks,
                                 blis_error *error) {
  blis_cluster *cluster = tiers->cluster;
  blis__transfer *transfer = &job->transfer;
  job->block_count = blocks;
  job->bytes = (double)blocks * tiers->block_bytes[job->instance];
  job->since_us = cluster->now_us;
  *transfer = (blis__transfer){
      .from_us = (double)cluster->now_us +
                 base_us(tiers, job->store, job->instance, job->load != NULL, blocks)};
  transfer->link_count = links_of(tiers, job, transfer->links);
  for (uint32_t i = 0; i < transfer->link_count; i++) {
    transfer->parts[i] = 1;
  }
  blis__links_advance(&tiers->links, (double)cluster->now_us);
  BLIS_TRY_MEM(blis__links_start(&tiers->links, transfer, job->bytes), error);
  return blis__link_clock_set(&tiers->clock, &tiers->links, cluster, error);
}

double blis__tier_read_us(const blis__tiers *tiers, int32_t store, uint32_t instance,
                          int64_t blocks) {
  uint32_t links[BLIS__TRANSFER_LINKS_MAX];
  uint32_t count = read_links(tiers, store, instance, links);
  count += network_links(tiers, store, instance, true, links + count);
  double us = 0;
  for (uint32_t i = 0; i < count; i++) {
    const blis__link *link = &tiers->links.all.items[links[i]];
    us = fmax(us, (double)blocks * tiers->block_bytes[instance] * (link->users + 1) /
                      link->bytes_per_us);
  }
  return us + base_us(tiers, store, instance, true, blocks);
}

blis_status blis__tiers_event(blis__tiers *tiers, blis_error *error) {
  blis_cluster *cluster = tiers->cluster;
  cluster->fruitless = 0;
  BLIS_TRY(blis__tiers_save_evicted(tiers, error));
  if (tiers->clock.due_us <= cluster->now_us) {
    blis__link_clock_rang(&tiers->clock);
  }
  blis__links_advance(&tiers->links, (double)cluster->now_us);
  for (blis__transfer *t = blis__links_take_ended(&tiers->links); t != NULL;
       t = blis__links_take_ended(&tiers->links)) {
    blis__tier_job *job = (blis__tier_job *)t;
    BLIS_TRY(job->load != NULL ? blis__tiers_read(tiers, job, error)
                               : blis__tiers_written(tiers, job, error));
  }
  return blis__link_clock_set(&tiers->clock, &tiers->links, cluster, error);
}
