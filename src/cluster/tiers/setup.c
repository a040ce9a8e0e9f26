/* Construction, failures, and counters of tiers: see tiers.h. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "base/time.h"
#include "cluster/feature.h"
#include "cluster/tiers/kv_tiers.h"
#include "cluster/tiers/tiers.h"

static blis__tiers *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_TIERS);
}

/* Checks. */

static bool is_bandwidth(double bytes_per_us) {
  return bytes_per_us > 0; /* INFINITY is also valid */
}

static blis_status check_tier(const blis_kv_tiers *config, uint32_t t, blis_error *error) {
  const blis_kv_tier *tier = &config->tiers[t];
  const char *wrong = NULL;
  if (tier->blocks < 0 || tier->blocks > INT32_MAX ||
      !(tier->bytes >= 0 && isfinite(tier->bytes))) {
    wrong = "blocks is not 0 to 2147483647";
  } else if (!is_bandwidth(tier->read_bytes_per_us) || !is_bandwidth(tier->write_bytes_per_us)) {
    wrong = "a bandwidth is not above 0";
  } else if (!(tier->latency_us >= 0 && isfinite(tier->latency_us))) {
    wrong = "latency_us is not 0 or more";
  } else if (tier->stage < -1 || tier->stage >= (int32_t)t) {
    wrong = "the stage is no earlier tier";
  } else if (tier->stage >= 0 && config->tiers[tier->stage].stage >= 0) {
    wrong = "the stage has a stage itself; reads have two stages at most";
  } else if (tier->stage >= 0 && config->tiers[tier->stage].scope > tier->scope) {
    wrong = "the stage is shared by more instances than the tier";
  } else if (tier->scope == BLIS_TIER_OF_NODE && tier->instances_per_node < 1) {
    wrong = "instances_per_node is not 1 or more";
  } else if (tier->policy == BLIS_TIER_SCORED && !tier->keeps_hinted && config->score == NULL) {
    wrong = "scores need a function";
  } else if (!(tier->evict_above >= 0 && tier->evict_above <= 1) ||
             (tier->evict_above > 0 && !(tier->evict_share > 0 && tier->evict_share <= 1))) {
    wrong = "evict_above and evict_share are not 0 to 1";
  } else if (tier->keeps_hinted && (tier->policy != BLIS_TIER_SCORED || tier->keep_us < 0)) {
    wrong = "hints are honoured by scores, for 0 us or longer";
  } else if (tier->threshold < 0 ||
             (tier->threshold > 1 && (tier->sights_kept < 1 || tier->sights_kept > INT32_MAX))) {
    wrong = "a threshold keeps 1 to 2147483647 sights";
  } else if (!(tier->peer_weight >= 0 && tier->peer_weight <= 1)) {
    wrong = "peer_weight is not 0 to 1";
  } else if (tier->is_shared && tier->scope != BLIS_TIER_OF_INSTANCE) {
    wrong = "stores that other instances may read are those of instances";
  }
  return wrong == NULL ? BLIS_OK
                       : blis_fail(error, BLIS_ERR_INVALID, "KV tier %s: %s", tier->name, wrong);
}

static blis_status check_tiers(const blis_kv_tiers *config, blis_error *error) {
  if (config->count > BLIS_KV_TIERS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID, "there are %" PRIu32 " KV tiers, expected %d at most",
                     config->count, BLIS_KV_TIERS_MAX);
  }
  for (uint32_t t = 0; t < config->count; t++) {
    BLIS_TRY(check_tier(config, t, error));
  }
  if (config->chunk_tokens < 0 || config->batch_blocks < 1 ||
      !is_bandwidth(config->network_bytes_per_us) || !(config->bytes_per_token >= 0) ||
      !isfinite(config->bytes_per_token)) {
    return blis_fail(error, BLIS_ERR_INVALID, "KV tiers: a size or bandwidth is out of range");
  }
  return config->rule != BLIS_LOADS_AS_TOLD || config->load_choice != NULL
             ? BLIS_OK
             : blis_fail(error, BLIS_ERR_INVALID,
                         "KV tiers: the function that selects the blocks to load is "
                         "missing");
}

static bool is_common(const blis_kv_tiers *config) {
  bool found = false;
  for (uint32_t t = 0; t < config->count; t++) {
    found |= config->tiers[t].scope != BLIS_TIER_OF_INSTANCE || config->tiers[t].is_shared;
  }
  return found;
}

/* Checks that instances that exchange blocks have equal models. */
static blis_status check_equal(const blis_cluster_config *config, uint32_t i, blis_error *error) {
  const char *a = config->facts == NULL ? NULL : config->facts[0].model;
  const char *b = config->facts == NULL ? NULL : config->facts[i].model;
  if (config->instances[i].block_size_tokens != config->instances[0].block_size_tokens ||
      !blis__is_same_model(a == NULL ? "" : a, b == NULL ? "" : b)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "KV tiers that several instances use need the same model "
                     "and block size everywhere; instance_%" PRIu32 " differs from instance_0",
                     i);
  }
  return BLIS_OK;
}

/* Construction. */

static double bytes_per_token(const blis__tiers *tiers, uint32_t i) {
  const blis_cluster_config *config = &tiers->cluster->config;
  if (tiers->config.bytes_per_token > 0 || config->facts == NULL) {
    return tiers->config.bytes_per_token;
  }
  const blis_instance_facts *facts = &config->facts[i];
  return facts->kv_bytes_per_token * (double)blis_max_i64(facts->tp, 1);
}

static blis_status measure_block(blis__tiers *tiers, uint32_t i, blis_error *error) {
  const blis_cluster_config *config = &tiers->cluster->config;
  int64_t size = config->instances[i].block_size_tokens;
  int64_t chunk = tiers->config.chunk_tokens;
  double bytes = bytes_per_token(tiers, i);
  if (!(bytes > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "KV tiers: it is not known how many bytes the KV of a "
                     "token of instance_%" PRIu32 " has; give kv_bytes_per_token",
                     i);
  }
  if (chunk % size != 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "KV tiers: chunk_tokens is %" PRId64
                     ", expected a multiple of the KV blocks' %" PRId64 " tokens",
                     chunk, size);
  }
  tiers->block_bytes[i] = bytes * (double)size;
  return BLIS_OK;
}

static blis_status measure_blocks(blis__tiers *tiers, blis_error *error) {
  const blis_cluster_config *config = &tiers->cluster->config;
  bool has_common = is_common(&tiers->config);
  tiers->block_bytes =
      blis_alloc_zeroed(&tiers->cluster->alloc, config->instance_count, sizeof *tiers->block_bytes);
  BLIS_TRY_NEW(tiers->block_bytes, error);
  for (uint32_t i = 0; i < config->instance_count; i++) {
    BLIS_TRY(measure_block(tiers, i, error));
    if (has_common) {
      BLIS_TRY(check_equal(config, i, error));
    }
  }
  return BLIS_OK;
}

/* Returns the model of a store: that of its instance, or of the first instance if all are equal. */
static uint32_t model_of(const blis_kv_tier *tier, uint32_t owner) {
  return tier->scope == BLIS_TIER_OF_INSTANCE ? owner : 0;
}

static int64_t capacity_of(const blis__tiers *tiers, const blis_kv_tier *tier, uint32_t owner) {
  double blocks = floor(tier->bytes / tiers->block_bytes[model_of(tier, owner)]);
  return tier->bytes > 0 ? (int64_t)fmin(blocks, INT32_MAX) : tier->blocks;
}

static double bandwidth_of(const blis__tiers *tiers, const blis_kv_tier *tier, uint32_t owner,
                           double bytes_per_us) {
  const blis_instance_facts *facts = tiers->cluster->config.facts;
  return tier->is_per_gpu && facts != NULL
             ? bytes_per_us * (double)blis_max_i64(facts[model_of(tier, owner)].tp, 1)
             : bytes_per_us;
}

static blis_status add_store(blis__tiers *tiers, uint32_t t, uint32_t owner) {
  const blis_alloc *alloc = &tiers->cluster->alloc;
  const blis_kv_tier *tier = &tiers->all[t].is;
  blis__tier_place place = {.tier = t, .owner = owner};
  BLIS_TRY(blis__links_add(&tiers->links, bandwidth_of(tiers, tier, owner, tier->read_bytes_per_us),
                           &place.read_link));
  place.write_link = place.read_link;
  if (!tier->is_half_duplex) {
    BLIS_TRY(blis__links_add(&tiers->links,
                             bandwidth_of(tiers, tier, owner, tier->write_bytes_per_us),
                             &place.write_link));
  }
  BLIS_TRY(blis_array_reserve(alloc, &tiers->stores, tiers->stores.count + 1));
  place.blocks = blis_tier_store_new(alloc, capacity_of(tiers, tier, owner), tier->policy);
  if (place.blocks != NULL && tier->threshold > 1) {
    place.sights = blis_tier_store_new(alloc, tier->sights_kept, BLIS_TIER_LRU);
  }
  tiers->stores.items[tiers->stores.count++] = place;
  return place.blocks == NULL || (tier->threshold > 1 && place.sights == NULL) ? BLIS_ERR_NOMEM
                                                                               : BLIS_OK;
}

static uint32_t stores_of(const blis_kv_tier *tier, uint32_t instances) {
  switch (tier->scope) {
  case BLIS_TIER_OF_INSTANCE:
    return instances;
  case BLIS_TIER_OF_NODE:
    return (uint32_t)((instances + tier->instances_per_node - 1) / tier->instances_per_node);
  case BLIS_TIER_OF_CLUSTER:
    break;
  }
  return 1;
}

static blis_status add_tier(blis__tiers *tiers, uint32_t t) {
  const blis_cluster *cluster = tiers->cluster;
  blis__tier *made = &tiers->all[t];
  made->is = tiers->config.tiers[t];
  made->first_store = (int32_t)tiers->stores.count;
  made->is.name = blis_arena_text(&tiers->cluster->texts, made->is.name, strlen(made->is.name));
  if (made->is.name == NULL) {
    return BLIS_ERR_NOMEM;
  }
  if (made->is.stage >= 0 && tiers->all[made->is.stage].store_count == 0) {
    made->is.stage = -1; /* there is no staging tier to read through */
  }
  uint32_t count = stores_of(&made->is, cluster->config.instance_count);
  for (uint32_t k = 0; k < count; k++) {
    if (capacity_of(tiers, &made->is, k) < 1) {
      return BLIS_OK; /* it cannot contain any block */
    }
  }
  for (uint32_t k = 0; k < count; k++) {
    BLIS_TRY(add_store(tiers, t, k));
  }
  made->store_count = (int32_t)count;
  return BLIS_OK;
}

/* Only a tier that receives evicted cache blocks needs these events. */
static blis_status add_ends(blis__tiers *tiers) {
  uint32_t count = tiers->cluster->config.instance_count;
  bool hears = false;
  tiers->ends = blis_alloc_zeroed(&tiers->cluster->alloc, count, sizeof *tiers->ends);
  if (tiers->ends == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t t = 0; t < tiers->count; t++) {
    const blis__tier *tier = &tiers->all[t];
    hears |= tier->is.saving == BLIS_TIER_ON_EVICT && tier->is.stage < 0 && tier->store_count > 0;
  }
  for (uint32_t i = 0; i < count; i++) {
    blis__tier_end *end = &tiers->ends[i];
    *end = (blis__tier_end){.tiers = tiers, .instance = i};
    end->source = (blis_kv_source){.ud = end,
                                   .offer = blis__tiers_offer,
                                   .bring = blis__tiers_bring,
                                   .cancel = blis__tiers_cancel,
                                   .admitted = blis__tiers_admitted,
                                   .evicted = hears ? blis__tiers_hear_eviction : NULL};
  }
  return BLIS_OK;
}

static blis_status add_network(blis__tiers *tiers) {
  const blis_alloc *alloc = &tiers->cluster->alloc;
  uint32_t count = tiers->cluster->config.instance_count;
  double bytes_per_us = tiers->config.network_bytes_per_us;
  if (!isfinite(bytes_per_us)) {
    return BLIS_OK;
  }
  tiers->network_in = blis_alloc_zeroed(alloc, count, sizeof(uint32_t));
  tiers->network_out = blis_alloc_zeroed(alloc, count, sizeof(uint32_t));
  if (tiers->network_in == NULL || tiers->network_out == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t i = 0; i < count; i++) {
    BLIS_TRY(blis__links_add(&tiers->links, bytes_per_us, &tiers->network_in[i]));
    BLIS_TRY(blis__links_add(&tiers->links, bytes_per_us, &tiers->network_out[i]));
  }
  return BLIS_OK;
}

static blis_status add_parts(blis__tiers *tiers) {
  for (uint32_t t = 0; t < tiers->config.count; t++) {
    BLIS_TRY(add_tier(tiers, t));
    tiers->count = t + 1;
  }
  BLIS_TRY(add_ends(tiers));
  return add_network(tiers);
}

static blis_status prepare(blis_cluster *cluster, blis_error *error) {
  const blis_kv_tiers *config = cluster->config.options[BLIS_FEATURE_TIERS];
  if (config == NULL || config->count == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(check_tiers(config, error));
  blis__tiers *tiers = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *tiers);
  BLIS_TRY_NEW(tiers, error);
  cluster->features[BLIS_FEATURE_TIERS] = tiers;
  tiers->cluster = cluster;
  tiers->config = *config;
  tiers->clock =
      (blis__link_clock){.event_class = BLIS__CLUSTER_TIERS, .due_us = BLIS_TIME_NEVER_US};
  blis__links_init(&tiers->links, &cluster->alloc);
  BLIS_TRY(measure_blocks(tiers, error));
  BLIS_TRY_MEM(add_parts(tiers), error);
  tiers->config.tiers = NULL; /* owned by the caller and no longer needed */
  return BLIS_OK;
}

static void free_tiers(blis_cluster *cluster) {
  blis__tiers *tiers = state_of(cluster);
  if (tiers == NULL) {
    return;
  }
  const blis_alloc *alloc = &cluster->alloc;
  uint32_t count = cluster->config.instance_count;
  while (tiers->jobs != NULL) {
    blis__tier_job_free(tiers, tiers->jobs);
  }
  while (tiers->loads != NULL) {
    tiers->loads->jobs_left = 0;
    blis__tiers_free_load(tiers, tiers->loads);
  }
  for (size_t i = 0; i < tiers->stores.count; i++) {
    blis_tier_store_free(tiers->stores.items[i].blocks);
    blis_tier_store_free(tiers->stores.items[i].sights);
  }
  blis_array_deinit(alloc, &tiers->stores);
  blis_array_deinit(alloc, &tiers->found);
  blis_array_deinit(alloc, &tiers->hits);
  blis_array_deinit(alloc, &tiers->evictions);
  blis__links_deinit(&tiers->links);
  blis_alloc_free(alloc, tiers->ends, count * sizeof *tiers->ends);
  blis_alloc_free(alloc, tiers->network_in, count * sizeof(uint32_t));
  blis_alloc_free(alloc, tiers->network_out, count * sizeof(uint32_t));
  blis_alloc_free(alloc, tiers->block_bytes, count * sizeof *tiers->block_bytes);
  blis_alloc_free(alloc, tiers, sizeof *tiers);
  cluster->features[BLIS_FEATURE_TIERS] = NULL;
}

/* Events. */

static bool keeps_hinted(const blis__tiers *tiers) {
  bool keeps = false;
  for (uint32_t t = 0; t < tiers->count; t++) {
    keeps = keeps || tiers->all[t].is.keeps_hinted;
  }
  return keeps;
}

/*
 * Returns the time between the end of a request and the next use of its context, if its program
 * provides a hint.
 */
static int64_t reused_after_us(const blis__cluster_request *request) {
  const blis_call *call = request->request.call;
  return call == NULL ? -1 : call->reused_after_us;
}

static blis_status on_prefilled(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)cluster;
  const blis_block_chain *chain = &blis__live_of(news->request)->chain;
  const blis__tier_stretch prompt = {.instance = news->instance,
                                     .chain = chain,
                                     .end = chain->prompt_blocks,
                                     .reused_after_us = reused_after_us(news->request)};
  return blis__tiers_save_chain(ud, &prompt, error);
}

/*
 * Saves output of a request that leaves. Decoded tokens follow the prompt, and the KV of the last
 * token has not been computed.
 */
static blis_status on_left(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  blis__tiers *tiers = ud;
  const blis_live_request *live = &news->request->live;
  uint32_t instance = (uint32_t)news->request->instance;
  if (!blis_request_is_completed(live->state) || news->request->place != BLIS__AT_INSTANCE) {
    return BLIS_OK;
  }
  int64_t size = blis_instance_get_config(cluster->instances[instance])->block_size_tokens;
  int64_t end = live->progress_tokens / size;
  blis__tier_stretch answer = {.instance = instance,
                               .chain = &live->chain,
                               .first = live->chain.prompt_blocks,
                               .end = (uint32_t)blis_max_i64(end, 0),
                               .reused_after_us = reused_after_us(news->request)};
  if (tiers->config.saves_output) {
    BLIS_TRY(blis__tiers_save_chain(tiers, &answer, error));
  }
  if (!keeps_hinted(tiers) || answer.reused_after_us < 0) {
    return BLIS_OK;
  }
  answer.first = 0;
  answer.end = live->chain.prompt_blocks;
  return blis__tiers_keep_chain(tiers, &answer, error);
}

static blis_status on_reporting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)cluster, (void)error;
  news->end->hits = blis__tier_hits_of(ud, &news->request->live);
  return BLIS_OK;
}

/* Drops the stores of an instance and its current transfers. */
static blis_status lose_instance(blis__tiers *tiers, uint32_t instance, blis_error *error) {
  blis__tiers_stop_loads(tiers, instance);
  blis__tiers_stop_saves(tiers, instance, BLIS__NO_STORE);
  for (uint32_t t = 0; t < tiers->count; t++) {
    const blis_kv_tier *tier = &tiers->all[t].is;
    int32_t store = blis__tier_store_of(tiers, t, instance);
    if (tier->scope != BLIS_TIER_OF_INSTANCE || tier->survives || store == BLIS__NO_STORE) {
      continue;
    }
    blis__tier_place *place = blis__tier_place_at(tiers, store);
    BLIS_TRY(blis__tiers_cut_loads(tiers, store, error));
    blis__tiers_stop_saves(tiers, -1, store);
    blis_tier_store_clear(place->blocks);
    if (place->sights != NULL) {
      blis_tier_store_clear(place->sights);
    }
  }
  return blis__link_clock_set(&tiers->clock, &tiers->links, tiers->cluster, error);
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  blis_service service = cluster->services[news->instance];
  return service == BLIS_SERVICE_FAILED || service == BLIS_SERVICE_DRAINED
             ? lose_instance(ud, news->instance, error)
             : BLIS_OK;
}

static double tiered_prefix_hit(const void *ud, uint32_t instance, const blis_block_chain *chain,
                                uint32_t cached) {
  return chain->prompt_blocks == 0
             ? 0
             : blis__tiers_weigh(ud, instance, chain, cached) / (double)chain->prompt_blocks;
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  blis__tiers *tiers = state_of(cluster);
  if (tiers == NULL) {
    return BLIS_OK;
  }
  blis__listener listener = {.ud = tiers,
                             .phase = BLIS__SEQUELS,
                             .need = BLIS__NEEDS_ORDER,
                             .on = {[BLIS__PREFILLED] = on_prefilled,
                                    [BLIS__REPORTING] = on_reporting,
                                    [BLIS__SERVICE_CHANGED] = on_service_changed}};
  tiers->signals = (blis__signal_source){.ud = tiers,
                                         .signals = BLIS_SIGNAL_BIT(BLIS_SIGNAL_TIERED_PREFIX_HIT),
                                         .of_prompt = tiered_prefix_hit};
  blis__snapshot_add_source(&cluster->snapshot, &tiers->signals);
  if (tiers->config.saves_output || keeps_hinted(tiers)) {
    listener.on[BLIS__LEFT] = on_left;
  }
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

static void equip(blis_cluster *cluster, uint32_t instance, blis_instance_config *config) {
  const blis__tiers *tiers = state_of(cluster);
  if (tiers != NULL) {
    config->kv_source = &tiers->ends[instance].source;
  }
}

static blis_status run_event(blis_cluster *cluster, const blis_event *event, blis_error *error) {
  (void)event;
  return blis__tiers_event(state_of(cluster), error);
}

/* Counters. */

size_t blis_cluster_kv_tier_count(const blis_cluster *cluster) {
  return state_of(cluster) == NULL ? 0 : state_of(cluster)->count;
}

blis_kv_tier_counts blis_cluster_kv_tier(const blis_cluster *cluster, size_t index) {
  const blis__tiers *tiers = state_of(cluster);
  const blis__tier *tier = &tiers->all[index];
  double now_us = (double)cluster->now_us;
  blis_kv_tier_counts counts = tier->counts;
  counts.name = tier->is.name;
  counts.scope = tier->is.scope;
  for (int32_t k = 0; k < tier->store_count; k++) {
    const blis__tier_place *place = blis__tier_place_at(tiers, tier->first_store + k);
    const blis_tier_store_stats stats = blis_tier_store_get_stats(place->blocks);
    counts.capacity_blocks += blis_tier_store_capacity(place->blocks);
    counts.used_blocks += stats.blocks - stats.incoming;
    counts.peak_blocks = blis_max_i64(counts.peak_blocks, stats.peak);
    counts.evicted_blocks += stats.evictions;
    counts.removed_blocks += stats.removed;
    counts.read_busy_us = fmax(counts.read_busy_us,
                               blis__links_look(&tiers->links, place->read_link, now_us).busy_us);
    counts.write_busy_us = fmax(counts.write_busy_us,
                                blis__links_look(&tiers->links, place->write_link, now_us).busy_us);
  }
  return counts;
}

blis_kv_tiers_counts blis_cluster_kv_tiers(const blis_cluster *cluster) {
  const blis__tiers *tiers = state_of(cluster);
  blis_kv_tiers_counts counts = tiers == NULL ? (blis_kv_tiers_counts){0} : tiers->counts;
  if (tiers != NULL) {
    counts.moved_bytes = blis__links_moved(&tiers->links, (double)cluster->now_us);
  }
  BLIS_ASSERT(counts.requests ==
              counts.completed + counts.failed + counts.canceled + counts.in_flight);
  return counts;
}

bool blis_cluster_check_kv_tiers(const blis_cluster *cluster) {
  const blis__tiers *tiers = state_of(cluster);
  int64_t incoming = 0;
  int64_t on_their_way = 0;
  for (size_t i = 0; tiers != NULL && i < tiers->stores.count; i++) {
    const blis_tier_store *store = tiers->stores.items[i].blocks;
    if (!blis_tier_store_check(store)) {
      return false;
    }
    incoming += blis_tier_store_get_stats(store).incoming;
  }
  if (tiers == NULL) {
    return true;
  }
  for (const blis__tier_job *job = tiers->jobs; job != NULL; job = job->later) {
    on_their_way += (int64_t)job->blocks.count;
  }
  for (const blis__tier_load *load = tiers->loads; load != NULL; load = load->later) {
    for (size_t i = 0; i < load->blocks.count; i++) {
      on_their_way += load->blocks.items[i].into != BLIS__NO_STORE;
    }
  }
  return incoming == on_their_way;
}

const blis__feature blis__tiers_feature = {
    .slot = BLIS_FEATURE_TIERS,
    .name = "tiers",
    .prepare = prepare,
    .equip = equip,
    .start = start,
    .free = free_tiers,
    .event = run_event,
};
