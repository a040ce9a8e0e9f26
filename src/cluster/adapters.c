#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/nearest.h"
#include "cluster/feature.h"
#include "cluster/service.h"

struct blis__adapter_texts {
  blis_adapter_names names;     /* borrowed */
  BLIS_ARRAY(uint32_t) numbers; /* by number of the text; 0 = is no adapter */
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

/* A request that has arrived. BLIS_ERR_INVALID: there is no such adapter. */
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

static blis_status start(blis_cluster *cluster, blis_error *error) {
  if (cluster->config.adapters.count == 0) {
    return BLIS_OK;
  }
  cluster->features[BLIS_FEATURE_ADAPTERS] =
      blis_alloc_zeroed(&cluster->alloc, 1, sizeof *state_of(cluster));
  BLIS_TRY_NEW(state_of(cluster), error);
  state_of(cluster)->names = cluster->config.adapters;
  for (uint32_t i = 1; i <= state_of(cluster)->names.count; i++) {
    BLIS_TRY_MEM(add_name(cluster, i), error);
  }
  if (state_of(cluster)->names.own_prefixes) {
    blis_block_namer_part_adapters(cluster->namer);
  }
  const blis__listener listener = {
      .ud = state_of(cluster), .rank = BLIS__BOOKS, .on = {[BLIS__ARRIVED] = on_arrived}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

/* What was in the slots of an engine is gone with it, and so are they. */
static bool has_slots(const blis_cluster *cluster, uint32_t instance) {
  return blis__is_up(cluster->services[instance]);
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

const blis__feature blis__adapters_feature = {
    .slot = BLIS_FEATURE_ADAPTERS,
    .name = "adapters",
    .start = start,
    .free = free_adapters,
};
