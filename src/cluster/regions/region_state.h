/*
 * region_state.h - the state of regions, for the files of this folder.
 */
#ifndef BLIS_CLUSTER_REGIONS_REGION_STATE_H
#define BLIS_CLUSTER_REGIONS_REGION_STATE_H

#include "base/containers/map.h"
#include "cluster/feature.h"
#include "cluster/regions/regions.h"
#include "policy/contract/narrowed.h"

typedef struct blis__region {
  uint32_t name;        /* ID in the string table of the source */
  int64_t serving;      /* instances in service */
  int64_t in_flight;    /* see blis_region_look */
  double credit;        /* of the rotation by weight */
  double cost_per_hour; /* mean over all its instances */
  int64_t down_seen_us; /* clients avoid the region from this time on while serving is 0 */
  int64_t up_seen_us;   /* clients use the region again from this time on */
  blis_region_counts counts;
} blis__region;

/* The path of a request. */
typedef struct blis__region_path {
  uint32_t slot;
  uint32_t origin;
  uint32_t stops[BLIS_REGION_HOPS_MAX + 1]; /* regions of its gateways, the first one first */
  uint32_t hops;                            /* number of further gateways */
  int64_t inbound_us;
  int64_t due_us; /* arrival at the next gateway */
} blis__region_path;

typedef struct blis__regions {
  blis_regions given; /* arrays are owned by the cluster's arena */
  blis__region *all;
  bool *serves;            /* indexed by instance */
  blis_pool paths;         /* blis__region_path */
  blis__narrowed narrowed; /* candidates of one region */
  BLIS_ARRAY(bool) keep;
  blis_map homes;       /* with BLIS_REGIONS_PREFIX: stream of a segment -> region */
  blis_sketch *ttft_us; /* of clients, by origin; the last one is of all regions */
  blis_sketch *e2e_us;
} blis__regions;

static inline blis__regions *blis__regions_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_REGIONS);
}

static inline int64_t blis__region_rtt_us(const blis__regions *regions, uint32_t a, uint32_t b) {
  return regions->given.rtt_us[(size_t)a * regions->given.count + b];
}

static inline bool blis__region_is_full(const blis__regions *regions, uint32_t region) {
  const blis__region *r = &regions->all[region];
  double limit = regions->given.spill_above;
  return limit > 0 && (double)r->in_flight >= limit * (double)r->serving;
}

/* Returns whether clients see the region as healthy. */
bool blis__region_seems_up(const blis__regions *regions, uint32_t region, int64_t now_us);

/* Note that the region has lost its last instance, or has its first one again. */
void blis__region_went_down(blis__regions *regions, uint32_t region, int64_t now_us);
void blis__region_came_up(blis__regions *regions, uint32_t region, int64_t now_us);

/* Finds the origin of a request, as a region. */
BLIS_MUSTUSE blis_status blis__region_origin(blis_cluster *cluster,
                                             const blis__cluster_request *request, uint32_t *origin,
                                             blis_error *error);

/*
 * Applies the rule to the regions in the set (bit r = region r), which is not 0. `at` is the region
 * from which RTTs count.
 */
BLIS_MUSTUSE blis_status blis__region_choose(blis_cluster *cluster,
                                             const blis__cluster_request *request, uint64_t set,
                                             uint32_t at, uint32_t *chosen, blis_error *error);

#endif
