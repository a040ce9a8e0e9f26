#include "cluster/presence.h"

#include "base/array.h"
#include "cluster/features.h"
#include "cluster/listeners.h"
#include "cluster/ranks.h"
#include "cluster/service.h"

struct blis__presence {
  BLIS_ARRAY(blis_presence_level) levels;
  blis_presence_level now;
  blis_service *counted; /* by instance: as it is counted now */
};

static void add(blis_presence_level *level, blis_service service, int change) {
  bool is_starting =
      service == BLIS_SERVICE_RECOVERING || blis__is_starting(service);
  level->serving += service == BLIS_SERVICE_ACTIVE ? change : 0;
  level->leaving += service == BLIS_SERVICE_DRAINING ? change : 0;
  level->starting += is_starting ? change : 0;
}

/* Ranks are in the state of the first one of their group, which is counted. */
static void count(struct blis__presence *presence, const blis_cluster *cluster,
                  uint32_t instance) {
  if (blis__rank_first(cluster, instance) != instance) {
    return;
  }
  add(&presence->now, presence->counted[instance], -1);
  presence->counted[instance] = cluster->services[instance];
  add(&presence->now, presence->counted[instance], 1);
}

/* Of several changes at one time the last one counts. */
static blis_status note(struct blis__presence *presence,
                        const blis_cluster *cluster) {
  blis_presence_level level = presence->now;
  level.time_us = cluster->now_us;
  size_t known = presence->levels.count;
  if (known > 0 && presence->levels.items[known - 1].time_us == level.time_us) {
    presence->levels.items[known - 1] = level;
    return BLIS_OK;
  }
  return blis_array_push(&cluster->alloc, &presence->levels, level);
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster,
                                      const blis__news *news,
                                      blis_error *error) {
  count(ud, cluster, news->instance);
  BLIS_TRY_MEM(note(ud, cluster), error);
  return BLIS_OK;
}

blis_status blis__add_presence(blis_cluster *cluster) {
  struct blis__presence *presence =
      blis_alloc_zeroed(&cluster->alloc, 1, sizeof *presence);
  if (presence == NULL) {
    return BLIS_ERR_NOMEM;
  }
  cluster->presence = presence;
  uint32_t instances = cluster->config.instance_count;
  presence->counted =
      blis_alloc_zeroed(&cluster->alloc, instances, sizeof *presence->counted);
  if (presence->counted == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t i = 0; i < instances; i++) {
    presence->counted[i] = BLIS_SERVICE_ABSENT;
    count(presence, cluster, i);
  }
  const blis__listener listener = {
      .ud = presence,
      .rank = BLIS__BOOKS,
      .on = {[BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY(blis__listeners_add(&cluster->listeners, &listener));
  return note(presence, cluster);
}

void blis__free_presence(blis_cluster *cluster) {
  if (cluster->presence != NULL) {
    blis_array_deinit(&cluster->alloc, &cluster->presence->levels);
    blis_alloc_free(&cluster->alloc, cluster->presence->counted,
                    cluster->config.instance_count *
                        sizeof *cluster->presence->counted);
    blis_alloc_free(&cluster->alloc, cluster->presence,
                    sizeof *cluster->presence);
  }
}

bool blis_cluster_get_presence(const blis_cluster *cluster,
                               const blis_presence_level **levels,
                               size_t *count) {
  if (cluster->presence == NULL) {
    return false;
  }
  *levels = cluster->presence->levels.items;
  *count = cluster->presence->levels.count;
  return true;
}
