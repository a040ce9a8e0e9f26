#include "cluster/adapters/adapters.h"

#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/nearest.h"
#include "cluster/feature.h"
#include "cluster/service.h"
#include "cluster/units.h"

struct blis__adapter_texts {
  blis_adapter_names names;     /* borrowed */
  BLIS_ARRAY(uint32_t) numbers; /* indexed by string ID; 0 = not an adapter */
  /* States as policies see them, contiguous per instance. */
  blis_adapter_state *seen;
  const blis_cluster *cluster;
  blis__signal_source signals;
};

static struct blis__adapter_texts *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_ADAPTERS);
}

static blis_status add_name(blis_cluster *cluster, uint32_t number) {
  struct blis__adapter_texts *a = state_of(cluster);
  const char *name = a->names.names[number - 1];
  uint32_t text;
  BLIS_TRY(blis_intern_add(cluster->source->strings, name, strlen(name), &text));
  BLIS_TRY(blis_array_reserve(&cluster->alloc, &a->numbers, (size_t)text + 1));
  while (a->numbers.count <= text) {
    a->numbers.items[a->numbers.count++] = 0;
  }
  a->numbers.items[text] = number;
  return BLIS_OK;
}

static void free_adapters(blis_cluster *cluster) {
  if (state_of(cluster) != NULL) {
    blis_array_deinit(&cluster->alloc, &state_of(cluster)->numbers);
    blis_alloc_free(&cluster->alloc, state_of(cluster)->seen,
                    cluster->config.instance_count * state_of(cluster)->names.count *
                        sizeof *state_of(cluster)->seen);
    blis_alloc_free(&cluster->alloc, state_of(cluster), sizeof *state_of(cluster));
    cluster->features[BLIS_FEATURE_ADAPTERS] = NULL;
  }
}

static blis_status fail_unknown(const struct blis__adapter_texts *a, const blis_request *request,
                                const blis_intern *strings, blis_error *error) {
  char id[BLIS_REQUEST_ID_SIZE];
  const char *wanted = blis_intern_text(strings, request->adapter);
  blis_nearest nearest = {.wanted = wanted};
  for (uint32_t i = 0; i < a->names.count; i++) {
    blis_nearest_offer(&nearest, a->names.names[i]);
  }
  char there_is[120];
  snprintf(there_is, sizeof there_is, "there is '%.60s'%s", a->names.names[0],
           a->names.count > 1 ? " and others" : "");
  blis_suggestion suggestion = blis_nearest_suggest_or(&nearest, there_is);
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s needs adapter '%.100s', which cluster.lora.adapters "
                   "does not have%s",
                   blis_request_id(request, strings, id), wanted, suggestion.text);
}

/* Checks the adapter of an arriving request. BLIS_ERR_INVALID if there is no such adapter. */
static blis_status on_arrived(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  const struct blis__adapter_texts *a = ud;
  blis__cluster_request *request = news->request;
  uint32_t text = request->request.adapter;
  request->live.adapter = 0;
  if (text == 0) {
    return BLIS_OK;
  }
  if (text < a->numbers.count) {
    request->live.adapter = a->numbers.items[text];
  }
  return request->live.adapter != 0
             ? BLIS_OK
             : fail_unknown(a, &request->request, cluster->source->strings, error);
}

static blis_status on_reporting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud, (void)cluster, (void)error;
  const blis_live_request *live = &news->request->live;
  if (live->is_adapter_counted) {
    blis_record_extras_set(news->end->extras, BLIS_EXTRA_adapter_wait_us, live->adapter_wait_us);
  }
  return BLIS_OK;
}

/*
 * Returns whether an instance has slots. When an engine is lost, its slots and their adapters are
 * lost, too.
 */
static bool has_slots(const blis_cluster *cluster, uint32_t instance) {
  return blis__is_up(cluster->services[instance]);
}

/* Signals. */

static double value(void *ud, uint32_t i, blis_signal signal) {
  const blis_cluster *cluster = ((const struct blis__adapter_texts *)ud)->cluster;
  blis_adapter_stats stats;
  blis_instance_get_adapters(cluster->instances[i], &stats);
  switch (signal) {
  case BLIS_SIGNAL_ADAPTERS_LOADED:
    return has_slots(cluster, i) ? (double)stats.loaded : 0;
  case BLIS_SIGNAL_ADAPTERS_RUNNING:
    return (double)stats.running;
  case BLIS_SIGNAL_ADAPTERS_WAITING:
    return (double)stats.waiting;
  default: /* signals of a request have no value without it */
    BLIS_ASSERT(false);
    return 0;
  }
}

static void read_instance(void *ud, blis__snapshot *snapshot, uint32_t i) {
  const struct blis__adapter_texts *a = ud;
  const blis_instance *instance = snapshot->instances[i];
  blis_adapter_stats stats;
  blis_instance_get_adapters(instance, &stats);
  blis__snapshot_put(snapshot, BLIS_SIGNAL_ADAPTERS_LOADED, i, (double)stats.loaded);
  blis__snapshot_put(snapshot, BLIS_SIGNAL_ADAPTERS_RUNNING, i, (double)stats.running);
  blis__snapshot_put(snapshot, BLIS_SIGNAL_ADAPTERS_WAITING, i, (double)stats.waiting);
  for (uint32_t k = 0; k < a->names.count; k++) {
    a->seen[(size_t)i * a->names.count + k] = blis_instance_adapter(instance, k + 1);
  }
}

static void forget_instance(void *ud, blis__snapshot *snapshot, uint32_t i) {
  const struct blis__adapter_texts *a = ud;
  blis__snapshot_put(snapshot, BLIS_SIGNAL_ADAPTERS_LOADED, i, 0);
  blis__snapshot_put(snapshot, BLIS_SIGNAL_ADAPTERS_RUNNING, i, 0);
  blis__snapshot_put(snapshot, BLIS_SIGNAL_ADAPTERS_WAITING, i, 0);
  for (uint32_t k = 0; k < a->names.count; k++) {
    a->seen[(size_t)i * a->names.count + k] = (blis_adapter_state){0};
  }
}

/* Returns the value for the adapter of the request; 0 if it needs no adapter. */
static double of_request(const void *ud, uint32_t i, const blis_routing_request *request,
                         blis_signal signal) {
  const struct blis__adapter_texts *a = ud;
  if (request->adapter_number == 0) {
    return 0;
  }
  const blis_adapter_state *seen =
      &a->seen[(size_t)i * a->names.count + request->adapter_number - 1];
  switch (signal) {
  case BLIS_SIGNAL_ADAPTER_LOADED:
    return seen->is_loaded;
  case BLIS_SIGNAL_ADAPTER_LOADING:
    return seen->is_loading;
  case BLIS_SIGNAL_ADAPTER_RUNNING:
    return (double)seen->running;
  default:
    return (double)seen->waiting;
  }
}

static void show_slots(blis_cluster *cluster, uint32_t i) {
  const blis_adapter_config *its = blis_instance_get_config(cluster->instances[i])->adapters;
  blis__snapshot_put(&cluster->snapshot, BLIS_SIGNAL_ADAPTER_SLOTS, i,
                     its == NULL ? 0 : (double)its->slots);
}

static blis_status on_unit_made(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud, (void)error;
  for (uint32_t i = news->instance; i < blis__unit_end(cluster, news->instance); i++) {
    show_slots(cluster, i);
  }
  return BLIS_OK;
}

static blis_status give_signals(blis_cluster *cluster, struct blis__adapter_texts *a,
                                blis_error *error) {
  a->cluster = cluster;
  a->seen = blis_alloc_zeroed(&cluster->alloc, cluster->config.instance_count,
                              a->names.count * sizeof *a->seen);
  BLIS_TRY_NEW(a->seen, error);
  a->signals = (blis__signal_source){.ud = a,
                                     .signals = BLIS_SIGNALS_OF_PARTS,
                                     .value = value,
                                     .read = read_instance,
                                     .forget = forget_instance,
                                     .of_request = of_request};
  blis__snapshot_add_source(&cluster->snapshot, &a->signals);
  for (uint32_t i = 0; i < cluster->existing; i++) {
    show_slots(cluster, i);
  }
  return BLIS_OK;
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  const blis_adapter_names *names = cluster->config.options[BLIS_FEATURE_ADAPTERS];
  if (names == NULL || names->count == 0) {
    return BLIS_OK;
  }
  cluster->features[BLIS_FEATURE_ADAPTERS] =
      blis_alloc_zeroed(&cluster->alloc, 1, sizeof *state_of(cluster));
  BLIS_TRY_NEW(state_of(cluster), error);
  state_of(cluster)->names = *names;
  for (uint32_t i = 1; i <= state_of(cluster)->names.count; i++) {
    BLIS_TRY_MEM(add_name(cluster, i), error);
  }
  if (state_of(cluster)->names.own_prefixes) {
    blis_block_namer_part_adapters(cluster->namer);
  }
  BLIS_TRY(give_signals(cluster, state_of(cluster), error));
  const blis__listener listener = {.ud = state_of(cluster),
                                   .phase = BLIS__BOOKS,
                                   .on = {[BLIS__ARRIVED] = on_arrived,
                                          [BLIS__UNIT_MADE] = on_unit_made,
                                          [BLIS__REPORTING] = on_reporting}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

void blis_cluster_get_adapters(const blis_cluster *cluster, blis_adapter_stats *stats) {
  *stats = (blis_adapter_stats){0};
  for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
    blis_adapter_stats one;
    if (cluster->instances[i] == NULL) {
      continue;
    }
    blis_instance_get_adapters(cluster->instances[i], &one);
    if (has_slots(cluster, i)) {
      stats->slots += one.slots;
      stats->loaded += one.loaded;
      stats->loading += one.loading;
    }
    stats->running += one.running;
    stats->waiting += one.waiting;
    stats->requests += one.requests;
    stats->hits += one.hits;
    stats->waits += one.waits;
    stats->wait_us = blis_time_after_us(stats->wait_us, one.wait_us);
    stats->loads += one.loads;
    stats->fetches += one.fetches;
    stats->evictions += one.evictions;
    stats->load_us = blis_time_after_us(stats->load_us, one.load_us);
  }
}

uint32_t blis_cluster_adapter_count(const blis_cluster *cluster) {
  return state_of(cluster) == NULL ? 0 : state_of(cluster)->names.count;
}

blis_cluster_adapter blis_cluster_adapter_at(const blis_cluster *cluster, uint32_t adapter) {
  BLIS_ASSERT(adapter >= 1 && adapter <= blis_cluster_adapter_count(cluster));
  blis_cluster_adapter sum = {.name = state_of(cluster)->names.names[adapter - 1]};
  for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
    if (cluster->instances[i] != NULL) {
      const blis_adapter_state one = blis_instance_adapter(cluster->instances[i], adapter);
      sum.loads += one.loads;
      sum.evictions += one.evictions;
      sum.instances += one.is_loaded && has_slots(cluster, i);
    }
  }
  return sum;
}

static void on_adapter_loaded(void *ud, const blis_adapter_load *load) {
  blis_cluster *cluster = ud;
  blis_error *error = &cluster->event_error;
  if (error->status == BLIS_OK) {
    error->status = cluster->loads.adapter(cluster->loads.ud, cluster->running, load, error);
  }
}

static void watch(blis_cluster *cluster, blis_instance_events *events) {
  if (cluster->loads.adapter != NULL) {
    events->adapter_loaded = on_adapter_loaded;
  }
}

const blis__feature blis__adapters_feature = {
    .slot = BLIS_FEATURE_ADAPTERS,
    .name = "adapters",
    .watch = watch,
    .start = start,
    .free = free_adapters,
};
