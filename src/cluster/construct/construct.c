/*
 * construct.c - creates a cluster from its configuration, and frees it.
 */
#include "cluster/construct/construct.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/core_listeners.h"
#include "cluster/ending.h"
#include "cluster/feature.h"
#include "cluster/instances/places.h"
#include "cluster/service.h"
#include "cluster/stages.h"
#include "instance/request/instance_id.h"

static blis_status check_config(const blis_cluster_config *config, blis_error *error) {
  const struct {
    const char *name;
    int64_t value;
  } times[] = {
      {"admission_latency_us", config->admission_latency_us},
      {"routing_latency_us", config->routing_latency_us},
      {"snapshot_refresh_us", config->snapshot_refresh_us},
      {"cache_signal_delay_us", config->cache_signal_delay_us},
      {"horizon_us", config->horizon_us},
      {"max_requests_in_memory", config->max_requests_in_memory},
  };
  for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
    if (times[i].value < 0) {
      return blis_fail(error, BLIS_ERR_INVALID, "%s is %" PRId64 ", expected 0 or more",
                       times[i].name, times[i].value);
    }
  }
  if (config->initial_count > config->instance_count) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "%" PRIu32 " instances are there at first, and there is "
                     "room for %" PRIu32,
                     config->initial_count, config->instance_count);
  }
  if (config->instance_count == 0 || config->instance_count > BLIS_WINNER_TREE_OWNERS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the number of instances is %" PRIu32 ", expected 1 to %" PRIu32,
                     config->instance_count, BLIS_WINNER_TREE_OWNERS_MAX);
  }
  return BLIS_OK;
}

static blis_status check_fact(const char *id, const char *name, double value, double highest,
                              blis_error *error) {
  if (value >= 0 && value <= highest) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s: %s is %g, expected a number from 0 to %g", id,
                   name, value, highest);
}

static blis_status copy_text(blis_cluster *cluster, const char **text, blis_error *error) {
  const char *given = *text == NULL ? "" : *text;
  *text = blis_arena_text(&cluster->texts, given, strlen(given));
  return *text == NULL ? blis_fail_nomem(error) : BLIS_OK;
}

static blis_status copy_facts(blis_cluster *cluster, blis_error *error) {
  const double most = 1e15;
  for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
    blis_instance_facts *facts = &cluster->facts[i];
    const char *id = cluster->ids[i];
    *facts = cluster->config.facts == NULL ? BLIS_INSTANCE_FACTS_UNKNOWN : cluster->config.facts[i];
    BLIS_TRY(check_fact(id, "tp", (double)facts->tp, most, error));
    BLIS_TRY(check_fact(id, "cost_per_hour", facts->cost_per_hour, most, error));
    BLIS_TRY(check_fact(id, "watts", facts->watts, most, error));
    BLIS_TRY(check_fact(id, "capacity", facts->capacity, 1, error));
    BLIS_TRY(copy_text(cluster, &facts->model, error));
    BLIS_TRY(copy_text(cluster, &facts->gpu, error));
  }
  return BLIS_OK;
}

static blis_status name_instances(blis_cluster *cluster, blis_error *error) {
  for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
    char id[BLIS_INSTANCE_ID_SIZE];
    blis_instance_id(i, cluster->config.id_digits, id);
    cluster->ids[i] = blis_arena_text(&cluster->texts, id, strlen(id));
    BLIS_TRY_NEW(cluster->ids[i], error);
  }
  return BLIS_OK;
}

/* Creates the initial instances. Later instances are not created yet. */
static blis_status make_instances(blis_cluster *cluster, blis_histogram *itl_us,
                                  blis_error *error) {
  const blis_cluster_config *config = &cluster->config;
  blis_instance_events events = blis__cluster_instance_events;
  events.ud = cluster;
  blis__choose_step_events(cluster, &events);
  cluster->existing = config->initial_count == 0 ? config->instance_count : config->initial_count;
  BLIS_TRY(name_instances(cluster, error));
  BLIS_TRY(blis__features_prepare(cluster, error));
  blis__features_watch(cluster, &events);
  BLIS_TRY(blis__places_init(cluster, &events, itl_us, error));
  for (uint32_t i = 0; i < cluster->existing; i++) {
    BLIS_TRY(blis__make_instance(cluster, i, i, error));
  }
  return BLIS_OK;
}

static bool has_power(const blis_cluster_config *config) {
  for (uint32_t i = 0; i < config->instance_count; i++) {
    if (config->instances[i].power != NULL) {
      return true;
    }
  }
  return false;
}

/* Returns whether instances call functions that may share state. */
static bool has_scripts(const blis_cluster_config *config) {
  bool found = false;
  for (uint32_t i = 0; i < config->instance_count; i++) {
    const blis_instance_config *instance = &config->instances[i];
    found |= instance->scheduler == BLIS_SCHEDULER_SCRIPTED ||
             instance->preemption == BLIS_PREEMPTION_SCRIPTED ||
             !instance->latency->ops->may_look_ahead ||
             (instance->power != NULL && instance->power->draw != NULL);
  }
  return found;
}

static void leave_room(blis_cluster *cluster) {
  const blis_cluster_config *config = &cluster->config;
  for (uint32_t i = cluster->existing; i < config->instance_count; i++) {
    cluster->services[i] = BLIS_SERVICE_ABSENT;
    blis__snapshot_put_in_service(&cluster->snapshot, i, false);
  }
}

static blis_status make_parts(blis_cluster *cluster, blis_histogram *itl_us, blis_error *error) {
  const blis_alloc *alloc = &cluster->alloc;
  const blis_cluster_config *config = &cluster->config;
  uint32_t count = config->instance_count;
  cluster->instances = blis_alloc_zeroed(alloc, count, sizeof *cluster->instances);
  cluster->ids = blis_alloc_zeroed(alloc, count, sizeof *cluster->ids);
  cluster->facts = blis_alloc_zeroed(alloc, count, sizeof *cluster->facts);
  cluster->services = blis_alloc_zeroed(alloc, count, sizeof *cluster->services);
  cluster->service_times = blis_alloc_zeroed(alloc, count, sizeof *cluster->service_times);
  cluster->speeds = blis_alloc_zeroed(alloc, count, sizeof *cluster->speeds);
  cluster->event_owners = config->initial_count == 0 ? count : config->initial_count;
  cluster->next_events = blis_winner_tree_new(alloc, cluster->event_owners);
  cluster->queue = blis_event_queue_new(alloc);
  cluster->namer = blis_block_namer_new(alloc);
  BLIS_TRY_NEW(cluster->instances, error);
  BLIS_TRY_NEW(cluster->ids, error);
  BLIS_TRY_NEW(cluster->facts, error);
  BLIS_TRY_NEW(cluster->services, error);
  BLIS_TRY_NEW(cluster->service_times, error);
  BLIS_TRY_NEW(cluster->speeds, error);
  BLIS_TRY_NEW(cluster->next_events, error);
  BLIS_TRY_NEW(cluster->queue, error);
  BLIS_TRY_NEW(cluster->namer, error);
  blis__chain_cache_init(&cluster->chains, alloc, cluster->namer);
  BLIS_TRY(blis_slo_priority_new(alloc, config->slo_overrides, config->slo_override_count,
                                 &cluster->priorities, error));
  BLIS_TRY(make_instances(cluster, itl_us, error));
  BLIS_TRY(copy_facts(cluster, error));
  const blis__snapshot_config snapshot = {.instances = cluster->instances,
                                          .ids = (const char *const *)cluster->ids,
                                          .count = count,
                                          .facts = cluster->facts,
                                          .fronts = cluster->fronts,
                                          .refresh_us = config->snapshot_refresh_us,
                                          .cache_delay_us = config->cache_signal_delay_us,
                                          .load_counts_in_flight = config->load_counts_in_flight,
                                          .surveys_mark_caches = config->surveys_mark_caches};
  BLIS_TRY_MEM(blis__snapshot_init(&cluster->snapshot, alloc, &snapshot), error);
  leave_room(cluster);
  blis__snapshot_declare(&cluster->snapshot, cluster->router.needs);
  BLIS_TRY_MEM(blis__snapshot_keep_extremes(&cluster->snapshot, cluster->router.needs_extremes),
               error);
  if (cluster->router.needs_least_load &&
      blis__snapshot_keep_least_load(&cluster->snapshot) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

/* Adds the listeners. Within a phase, listeners are called in the order in which they are added. */
static blis_status add_listeners(blis_cluster *cluster, blis_error *error) {
  const blis_cluster_config *config = &cluster->config;
  if (has_scripts(config) || config->max_requests_in_memory > 0) {
    blis__listeners_need(&cluster->listeners, BLIS__NEEDS_STATE);
  }
  BLIS_TRY_MEM(blis__add_clear_models(cluster), error);
  BLIS_TRY_MEM(blis__add_late_signals(cluster), error);
  BLIS_TRY_MEM(blis__add_traffic_state(cluster), error);
  BLIS_TRY_MEM(blis__add_priority(cluster), error);
  BLIS_TRY_MEM(blis__add_router_feedback(cluster), error);
  BLIS_TRY_MEM(blis__add_follow_ups(cluster), error);
  BLIS_TRY(blis__features_start(cluster, error));
  /* A feature may have declared these signals. */
  BLIS_TRY_MEM(blis__add_prefill_history(cluster), error);
  return BLIS_OK;
}

blis_status blis__cluster_make(const blis__feature_table *table, const blis_alloc *alloc,
                               const blis_cluster_config *config, blis_router *router,
                               const blis_request_source *source, const blis_request_sink *sink,
                               blis_histogram *itl_us, blis_cluster **cluster, blis_error *error) {
  blis_status status = check_config(config, error);
  blis_cluster *c = NULL;
  if (status == BLIS_OK) {
    c = blis_alloc_zeroed(alloc, 1, sizeof *c);
    status = c == NULL ? blis_fail_nomem(error) : BLIS_OK;
  }
  if (status != BLIS_OK) {
    blis_router_free(router);
    return status;
  }
  c->alloc = *alloc;
  c->config = *config;
  c->router = *router;
  *router = (blis_router){0};
  c->observer = config->observer == NULL ? (blis_observer){0} : *config->observer;
  c->config.observer = NULL;
  c->run_listener = config->run_listener == NULL ? (blis_run_listener){0} : *config->run_listener;
  c->config.run_listener = NULL;
  c->steps = config->steps == NULL ? (blis_step_sink){0} : *config->steps;
  c->config.steps = NULL;
  c->loads = config->loads == NULL ? (blis_load_sink){0} : *config->loads;
  c->config.loads = NULL;
  c->source = source;
  c->sink = sink;
  c->until_interrupt_check = 1;
  c->table = table;
  blis__hooks_init(&c->hooks);
  blis__cluster_set_handlers(c);
  c->loaded_event_class = BLIS__CLUSTER_CALL;
  blis_arena_init(&c->texts, alloc);
  blis_pool_init(&c->calls, alloc, sizeof(blis__scheduled_call));
  blis_pool_init(&c->follow_ups, alloc, sizeof(blis_request));
  blis__request_table_init(&c->requests, alloc);
  blis__listeners_init(&c->listeners, alloc);
  c->has_power = has_power(&c->config);
  status = make_parts(c, itl_us, error);
  if (status == BLIS_OK) {
    status = add_listeners(c, error);
  }
  if (status == BLIS_OK) {
    status = blis__cluster_fetch_arrival(c, error);
  }
  c->config.instances = NULL; /* owned by the caller and no longer needed */
  c->config.facts = NULL;
  memset(c->config.options, 0, sizeof c->config.options);
  c->config.slo_overrides = NULL;
  c->config.visits = NULL;
  if (status != BLIS_OK) {
    blis_cluster_free(c);
    return status;
  }
  *cluster = c;
  return BLIS_OK;
}

void blis_cluster_free(blis_cluster *cluster) {
  if (cluster == NULL) {
    return;
  }
  blis_alloc alloc = cluster->alloc;
  uint32_t count = cluster->config.instance_count;
  for (uint32_t i = 0; cluster->instances != NULL && i < count; i++) {
    blis_instance_free(cluster->instances[i]);
  }
  if (cluster->snapshot.count > 0) {
    blis__snapshot_deinit(&cluster->snapshot);
  }
  if (cluster->namer != NULL) {
    blis__chain_cache_deinit(&cluster->chains);
  }
  blis_router_free(&cluster->router);
  blis_admission_free(&cluster->admission);
  blis__request_table_deinit(&cluster->requests);
  blis__listeners_deinit(&cluster->listeners);
  blis__features_free(cluster);
  blis__free_traffic_state(cluster);
  blis__free_life_cycle(cluster);
  blis__free_waiting_room(cluster);
  blis_pool_deinit(&cluster->calls);
  blis_pool_deinit(&cluster->follow_ups);
  blis_arena_deinit(&cluster->texts);
  blis_array_deinit(&alloc, &cluster->classes);
  blis_slo_priority_free(cluster->priorities);
  blis_block_namer_free(cluster->namer);
  blis_event_queue_free(cluster->queue);
  blis_winner_tree_free(cluster->next_events);
  blis__cluster_free_eager(cluster);
  blis_alloc_free(&alloc, cluster->ids, count * sizeof *cluster->ids);
  blis_alloc_free(&alloc, cluster->facts, count * sizeof *cluster->facts);
  blis_alloc_free(&alloc, cluster->services, count * sizeof *cluster->services);
  blis_alloc_free(&alloc, cluster->service_times, count * sizeof *cluster->service_times);
  blis_alloc_free(&alloc, cluster->speeds, count * sizeof *cluster->speeds);
  blis_alloc_free(&alloc, cluster->instances, count * sizeof *cluster->instances);
  blis_alloc_free(&alloc, cluster, sizeof *cluster);
}

blis_status blis_cluster_set_admission(blis_cluster *cluster, blis_admission *admission,
                                       blis_error *error) {
  BLIS_ASSERT(cluster->counts.arrived == 0 && cluster->admission.ops == NULL);
  cluster->admission = *admission;
  *admission = (blis_admission){0};
  blis__snapshot_declare(&cluster->snapshot, cluster->admission.needs);
  BLIS_TRY_MEM(blis__add_admission_feedback(cluster), error);
  BLIS_TRY_MEM(blis__add_prefill_history(cluster), error);
  return BLIS_OK;
}
