/* region_rules.c - the choice of a region for a request, and the health that clients see. */
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/regions/region_state.h"

/* Health. */

/* Returns the time of the first probe at or after now_us. */
static int64_t next_probe_us(const blis__regions *regions, int64_t now_us) {
  int64_t interval_us = regions->given.health_interval_us;
  if (interval_us == 0) {
    return now_us;
  }
  int64_t past_us = now_us % interval_us;
  return past_us == 0 ? now_us : blis_time_after_us(now_us, interval_us - past_us);
}

void blis__region_went_down(blis__regions *regions, uint32_t region, int64_t now_us) {
  const blis_regions *given = &regions->given;
  int64_t failures_us = (given->unhealthy_after - 1) * given->health_interval_us;
  int64_t noticed_us = blis_time_after_us(next_probe_us(regions, now_us), failures_us);
  regions->all[region].down_seen_us = blis_time_after_us(noticed_us, given->dns_ttl_us);
}

void blis__region_came_up(blis__regions *regions, uint32_t region, int64_t now_us) {
  blis__region *r = &regions->all[region];
  bool was_seen = now_us >= r->down_seen_us;
  r->up_seen_us =
      was_seen ? blis_time_after_us(next_probe_us(regions, now_us), regions->given.dns_ttl_us) : 0;
}

bool blis__region_seems_up(const blis__regions *regions, uint32_t region, int64_t now_us) {
  const blis__region *r = &regions->all[region];
  return now_us >= r->up_seen_us && (r->serving > 0 || now_us < r->down_seen_us);
}

/* Origins. */

static blis_status fail_origin(const blis_cluster *cluster, const blis__cluster_request *request,
                               const char *name, blis_error *error) {
  const blis_regions *given = &blis__regions_of(cluster)->given;
  char id[BLIS_REQUEST_ID_SIZE];
  char names[256] = "";
  for (uint32_t r = 0; r < given->count; r++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", r == 0 ? "" : ", ", given->items[r].name);
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: its %s '%s' is no region, and there is no default_origin; expected one "
                   "of %s",
                   blis_request_id(&request->request, cluster->source->strings, id),
                   given->origin_is_client ? "client" : "tenant", name, names);
}

blis_status blis__region_origin(blis_cluster *cluster, const blis__cluster_request *request,
                                uint32_t *origin, blis_error *error) {
  const blis_regions *given = &blis__regions_of(cluster)->given;
  if (given->functions.origin != NULL) {
    const blis_routing_request shown = blis__cluster_show_request(cluster, request);
    return given->functions.origin(given->functions.ud, &shown, cluster->now_us, origin, error);
  }
  uint32_t label = given->origin_is_client ? request->request.client : request->request.tenant;
  for (uint32_t r = 0; r < given->count; r++) {
    if (blis__regions_of(cluster)->all[r].name == label) {
      *origin = r;
      return BLIS_OK;
    }
  }
  if (given->default_origin < 0) {
    return fail_origin(cluster, request, blis_intern_text(cluster->source->strings, label), error);
  }
  *origin = (uint32_t)given->default_origin;
  return BLIS_OK;
}

/* Rules. */

static bool has(uint64_t set, uint32_t region) {
  return (set >> region & 1) != 0;
}

/* Returns the region with the least value; ties go to the nearest one, then to the first. */
static uint32_t least_of(const blis__regions *regions, uint64_t set, uint32_t at, bool by_cost) {
  uint32_t best = BLIS_REGIONS_MAX;
  for (uint32_t r = 0; r < regions->given.count; r++) {
    if (!has(set, r)) {
      continue;
    }
    double cost = by_cost ? regions->all[r].cost_per_hour : 0;
    double least = by_cost && best < BLIS_REGIONS_MAX ? regions->all[best].cost_per_hour : 0;
    if (best == BLIS_REGIONS_MAX || cost < least ||
        (cost == least &&
         blis__region_rtt_us(regions, at, r) < blis__region_rtt_us(regions, at, best))) {
      best = r;
    }
  }
  BLIS_ASSERT(best < BLIS_REGIONS_MAX);
  return best;
}

/* Smooth weighted round-robin: each region gains its weight, and the chosen one pays the sum. */
static uint32_t next_by_weight(blis__regions *regions, uint64_t set, uint32_t at) {
  double sum = 0;
  uint32_t best = BLIS_REGIONS_MAX;
  for (uint32_t r = 0; r < regions->given.count; r++) {
    double weight = regions->given.items[r].weight;
    if (!has(set, r) || weight == 0) {
      continue;
    }
    sum += weight;
    regions->all[r].credit += weight;
    if (best == BLIS_REGIONS_MAX || regions->all[r].credit > regions->all[best].credit) {
      best = r;
    }
  }
  if (best == BLIS_REGIONS_MAX) {
    return least_of(regions, set, at, false);
  }
  regions->all[best].credit -= sum;
  return best;
}

/* Returns the number of the prompt's first shared content; false if all its tokens are its own. */
static bool first_stream(const blis__cluster_request *request, uint64_t *stream) {
  if (request->request.segment_count == 0) {
    return false;
  }
  *stream = request->request.segments[0].stream;
  return true;
}

static blis_status home_of(blis__regions *regions, const blis__cluster_request *request,
                           uint64_t set, uint32_t at, uint32_t *chosen) {
  uint64_t stream;
  uint64_t home;
  bool is_shared = first_stream(request, &stream);
  if (is_shared && blis_map_get(&regions->homes, stream, &home) && has(set, (uint32_t)home)) {
    *chosen = (uint32_t)home;
    return BLIS_OK;
  }
  *chosen = least_of(regions, set, at, false);
  return is_shared ? blis_map_put(&regions->homes, stream, *chosen) : BLIS_OK;
}

static blis_status ask_function(blis_cluster *cluster, const blis__cluster_request *request,
                                uint64_t set, uint32_t at, uint32_t *chosen, blis_error *error) {
  const blis__regions *regions = blis__regions_of(cluster);
  const blis_region_functions *functions = &regions->given.functions;
  blis_region_look looks[BLIS_REGIONS_MAX];
  uint32_t count = 0;
  for (uint32_t r = 0; r < regions->given.count; r++) {
    if (has(set, r)) {
      looks[count++] = (blis_region_look){.region = r,
                                          .name = regions->given.items[r].name,
                                          .rtt_us = blis__region_rtt_us(regions, at, r),
                                          .in_flight = regions->all[r].in_flight,
                                          .instances = regions->all[r].serving,
                                          .cost_per_hour = regions->all[r].cost_per_hour,
                                          .is_full = blis__region_is_full(regions, r)};
    }
  }
  const blis_routing_request shown = blis__cluster_show_request(cluster, request);
  uint32_t index = 0;
  BLIS_TRY(functions->choose(functions->ud, &shown, cluster->now_us, looks, count, &index, error));
  BLIS_ASSERT(index < count);
  *chosen = looks[index].region;
  return BLIS_OK;
}

static uint64_t without_full(const blis__regions *regions, uint64_t set) {
  uint64_t rest = set;
  for (uint32_t r = 0; r < regions->given.count; r++) {
    rest &= blis__region_is_full(regions, r) ? ~(UINT64_C(1) << r) : UINT64_MAX;
  }
  return rest != 0 ? rest : set;
}

blis_status blis__region_choose(blis_cluster *cluster, const blis__cluster_request *request,
                                uint64_t set, uint32_t at, uint32_t *chosen, blis_error *error) {
  blis__regions *regions = blis__regions_of(cluster);
  BLIS_ASSERT(set != 0);
  if (regions->given.rule == BLIS_REGIONS_FUNCTION) {
    return ask_function(cluster, request, set, at, chosen, error);
  }
  uint64_t rest = without_full(regions, set);
  switch (regions->given.rule) {
  case BLIS_REGIONS_LEAST_COST:
    *chosen = least_of(regions, rest, at, true);
    return BLIS_OK;
  case BLIS_REGIONS_WEIGHTED:
    *chosen = next_by_weight(regions, rest, at);
    return BLIS_OK;
  case BLIS_REGIONS_PREFIX:
    BLIS_TRY_MEM(home_of(regions, request, rest, at, chosen), error);
    return BLIS_OK;
  default:
    *chosen = least_of(regions, rest, at, false);
    return BLIS_OK;
  }
}
