/*
 * units.h - deployment units: instances with consecutive numbers that start, drain,
 * and fail together (service.h), so their states are equal.
 *
 * Each instance is a separate unit unless a feature has divided the instances
 * otherwise; empty places are divided when a unit is started there. Every query
 * costs O(1); if each instance is a unit, nothing is stored.
 */
#ifndef BLIS_CLUSTER_UNITS_H
#define BLIS_CLUSTER_UNITS_H

#include "cluster/state.h"

struct blis__units {
  /* By instance: the first instance of its unit, the number of that unit, and its number of
     instances. */
  uint32_t *first;
  uint32_t *number;
  uint32_t *size;
};

/*
 * Divides the initial instances. Call it when instances have ids and none exists. sizes[i] is the
 * size of the unit that begins with instance i; other entries are not read.
 */
BLIS_MUSTUSE blis_status blis__units_divide(blis_cluster *cluster, const uint32_t *sizes,
                                            blis_error *error);

/* Makes a last unit with as many instances as the unit of other, beginning with first. */
void blis__units_join(const blis_cluster *cluster, uint32_t first, uint32_t other);

/* The first instance of i's unit. */
static inline uint32_t blis__unit_first(const blis_cluster *cluster, uint32_t i) {
  return cluster->units == NULL ? i : cluster->units->first[i];
}

/* How many instances i's unit has. */
static inline uint32_t blis__unit_size(const blis_cluster *cluster, uint32_t i) {
  return cluster->units == NULL ? 1 : cluster->units->size[i];
}

/* The number after the last instance of i's unit. */
static inline uint32_t blis__unit_end(const blis_cluster *cluster, uint32_t i) {
  return blis__unit_first(cluster, i) + blis__unit_size(cluster, i);
}

/* The number of i's unit, from 0. */
static inline uint32_t blis__unit_number(const blis_cluster *cluster, uint32_t i) {
  return cluster->units == NULL ? i : cluster->units->number[i];
}

#endif
