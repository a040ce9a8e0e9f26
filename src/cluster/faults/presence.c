#include "cluster/faults/presence.h"

#include <string.h>

#include "base/array.h"
#include "base/minmax.h"
#include "cluster/feature.h"
#include "cluster/listeners.h"
#include "cluster/service.h"
#include "cluster/units.h"

struct blis__presence {
  BLIS_ARRAY(blis_presence_level) levels;
  blis_presence_level now;
  blis_service *counted; /* indexed by instance: the counted state */
  bool *is_of_market;    /* indexed by instance; NULL = no market */
  int64_t wanted;        /* number of instances wanted from the market */
};

static struct blis__presence *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_PRESENCE);
}

static void add(blis_presence_level *level, blis_service service, int change) {
  bool is_starting = service == BLIS_SERVICE_RECOVERING || blis__is_starting(service);
  level->serving += service == BLIS_SERVICE_ACTIVE ? change : 0;
  level->leaving += service == BLIS_SERVICE_DRAINING ? change : 0;
  level->starting += is_starting ? change : 0;
}

/*
 * Counts an instance. In a group of ranks, only the first instance counts, because all ranks have
 * the same state.
 */
static void count(struct blis__presence *presence, const blis_cluster *cluster, uint32_t instance) {
  if (blis__unit_first(cluster, instance) != instance) {
    return;
  }
  blis_service before = presence->counted[instance];
  blis_service service = cluster->services[instance];
  presence->counted[instance] = service;
  add(&presence->now, before, -1);
  add(&presence->now, service, 1);
  if (presence->is_of_market != NULL && presence->is_of_market[instance]) {
    presence->now.of_market += (service == BLIS_SERVICE_ACTIVE) - (before == BLIS_SERVICE_ACTIVE);
  }
}

/* Records the current level. Among changes at the same time, the last one is kept. */
static blis_status note(struct blis__presence *presence, const blis_cluster *cluster) {
  blis_presence_level level = presence->now;
  level.time_us = cluster->now_us;
  size_t known = presence->levels.count;
  if (known > 0 && presence->levels.items[known - 1].time_us == level.time_us) {
    presence->levels.items[known - 1] = level;
    return BLIS_OK;
  }
  return blis_array_push(&cluster->alloc, &presence->levels, level);
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  count(ud, cluster, news->instance);
  BLIS_TRY_MEM(note(ud, cluster), error);
  return BLIS_OK;
}

blis_status blis__add_presence(blis_cluster *cluster) {
  struct blis__presence *presence = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *presence);
  if (presence == NULL) {
    return BLIS_ERR_NOMEM;
  }
  cluster->features[BLIS_FEATURE_PRESENCE] = presence;
  uint32_t instances = cluster->config.instance_count;
  presence->counted = blis_alloc_zeroed(&cluster->alloc, instances, sizeof *presence->counted);
  if (presence->counted == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t i = 0; i < instances; i++) {
    presence->counted[i] = BLIS_SERVICE_ABSENT;
    count(presence, cluster, i);
  }
  const blis__listener listener = {
      .ud = presence, .phase = BLIS__BOOKS, .on = {[BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY(blis__listeners_add(&cluster->listeners, &listener));
  return note(presence, cluster);
}

static void put_on_market(struct blis__presence *presence, const blis_cluster *cluster,
                          uint32_t instance) {
  bool is_first = blis__unit_first(cluster, instance) == instance;
  presence->is_of_market[instance] = true;
  presence->wanted += is_first;
  presence->now.of_market += is_first && cluster->services[instance] == BLIS_SERVICE_ACTIVE;
}

blis_status blis_cluster_set_market(blis_cluster *cluster, uint32_t group, blis_error *error) {
  struct blis__presence *presence = state_of(cluster);
  uint32_t room = cluster->config.instance_count;
  if (presence->is_of_market == NULL) {
    presence->is_of_market = blis_arena_new(&cluster->texts, room);
    BLIS_TRY_NEW(presence->is_of_market, error);
    memset(presence->is_of_market, 0, room);
  }
  for (uint32_t i = 0; i < cluster->existing; i++) {
    if (blis_cluster_instance_facts(cluster, i)->group == group && !presence->is_of_market[i]) {
      put_on_market(presence, cluster, i);
    }
  }
  BLIS_TRY_MEM(note(presence, cluster), error);
  return BLIS_OK;
}

bool blis_cluster_get_market_times(const blis_cluster *cluster, int64_t end_us,
                                   blis_market_times *times) {
  const struct blis__presence *presence = state_of(cluster);
  if (presence == NULL || presence->is_of_market == NULL) {
    return false;
  }
  int64_t span_us = blis_max_i64(end_us, cluster->last_end_us);
  *times = (blis_market_times){.span_us = span_us, .wanted = presence->wanted};
  for (size_t i = 0; i < presence->levels.count; i++) {
    const blis_presence_level *level = &presence->levels.items[i];
    int64_t until_us =
        i + 1 < presence->levels.count ? blis_min_i64(level[1].time_us, span_us) : span_us;
    int64_t us = blis_max_i64(until_us - level->time_us, 0);
    times->serving_us += us * level->of_market;
    times->full_us += level->of_market == presence->wanted ? us : 0;
  }
  return true;
}

static void free_presence(blis_cluster *cluster) {
  if (state_of(cluster) != NULL) {
    blis_array_deinit(&cluster->alloc, &state_of(cluster)->levels);
    blis_alloc_free(&cluster->alloc, state_of(cluster)->counted,
                    cluster->config.instance_count * sizeof *state_of(cluster)->counted);
    blis_alloc_free(&cluster->alloc, state_of(cluster), sizeof *state_of(cluster));
  }
}

bool blis_cluster_get_presence(const blis_cluster *cluster, const blis_presence_level **levels,
                               size_t *count) {
  if (state_of(cluster) == NULL) {
    return false;
  }
  *levels = state_of(cluster)->levels.items;
  *count = state_of(cluster)->levels.count;
  return true;
}

const blis__feature blis__presence_feature = {
    .slot = BLIS_FEATURE_PRESENCE,
    .name = "presence",
    .free = free_presence,
};
