#include "cluster/instances/places.h"

#include "base/invariant.h"
#include "cluster/feature.h"

struct blis__places {
  blis_instance_config *configs; /* one per instance; in the arena */
  blis_instance_events events;
  blis_histogram *itl_us; /* borrowed */
};

/*
 * Returns whether an instance may hand off a request to itself. Such a request can find its own
 * earlier blocks, which the fast engine does not distinguish from other requests' blocks.
 */
static bool meets_itself(const blis_cluster_config *config, uint32_t i) {
  const uint32_t both = BLIS_ROLE_PREFILL | BLIS_ROLE_DECODE;
  return config->instances[i].defects.meets_itself && config->facts != NULL &&
         (config->facts[i].roles & both) == both;
}

blis_status blis__places_init(blis_cluster *cluster, const blis_instance_events *events,
                              blis_histogram *itl_us, blis_error *error) {
  const blis_cluster_config *config = &cluster->config;
  struct blis__places *places = blis_arena_new(&cluster->texts, sizeof *places);
  BLIS_TRY_NEW(places, error);
  blis_instance_config *configs =
      blis_arena_new(&cluster->texts, config->instance_count * sizeof *configs);
  BLIS_TRY_NEW(configs, error);
  for (uint32_t i = 0; i < config->instance_count; i++) {
    configs[i] = config->instances[i];
    if (config->horizon_us < configs[i].horizon_us) {
      configs[i].horizon_us = config->horizon_us;
    }
    bool tells_steps = (cluster->run_listener.kinds & BLIS_RUN_EVENTS_OF_STEPS) != 0;
    if (tells_steps || cluster->steps.step != NULL || meets_itself(config, i)) {
      configs[i].engine = BLIS_ENGINE_STEPWISE;
    }
  }
  *places = (struct blis__places){configs, *events, itl_us};
  cluster->places = places;
  return BLIS_OK;
}

/* Grows the tree of next events for the existing instances, not for the maximum number. */
static blis_status grow_events(blis_cluster *cluster, uint32_t i) {
  uint32_t room = cluster->config.instance_count;
  uint32_t owners = cluster->event_owners;
  if (i < owners) {
    return BLIS_OK;
  }
  uint32_t more = owners > room / 2 ? room : 2 * owners;
  blis_winner_tree *grown = blis_winner_tree_new(&cluster->alloc, more);
  if (grown == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t k = 0; k < owners; k++) {
    blis_winner_tree_set(grown, k, blis_winner_tree_time_us(cluster->next_events, k));
  }
  blis_winner_tree_free(cluster->next_events);
  cluster->next_events = grown;
  cluster->event_owners = more;
  return BLIS_OK;
}

blis_status blis__make_instance(blis_cluster *cluster, uint32_t i, uint32_t like,
                                blis_error *error) {
  BLIS_ASSERT(cluster->instances[i] == NULL);
  BLIS_TRY_MEM(grow_events(cluster, i), error);
  struct blis__places *places = cluster->places;
  blis_histogram *own = cluster->config.itl_of_instance_us;
  blis_instance_events events = places->events;
  events.itl_us = own != NULL ? &own[i] : places->itl_us;
  blis_instance_config config = places->configs[like];
  if (cluster->config.has_own_latencies) {
    config.latency = places->configs[i].latency;
  }
  blis__features_equip(cluster, i, &config);
  places->configs[i] = config;
  blis_error cause = {0};
  blis_status status =
      blis_instance_new(&cluster->alloc, &config, &events, &cluster->instances[i], &cause);
  return status == BLIS_OK ? BLIS_OK
                           : blis_fail(error, status, "%s: %s", cluster->ids[i], cause.message);
}
