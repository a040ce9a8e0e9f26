/*
 * units.h - deployment units: groups of instances with consecutive numbers that start, drain, and
 * fail together (service.h), so that their states are always equal.
 *
 * Each instance is a separate unit unless a feature divides the instances otherwise. Empty slots
 * are divided when a unit is started there. Every query costs O(1). If each instance is a unit,
 * nothing is stored.
 */
#ifndef BLIS_CLUSTER_UNITS_H
#define BLIS_CLUSTER_UNITS_H

#include "cluster/state.h"

struct blis__units {
  /* For each instance: the first instance of its unit, the number of the unit, and the number of
     instances in the unit. */
  uint32_t *first;
  uint32_t *number;
  uint32_t *size;
};

/*
 * Divides the initial instances into units. Call it when instances have IDs but none exists yet.
 * sizes[i] is the size of the unit that begins with instance i. Other entries are not read.
 */
BLIS_MUSTUSE blis_status blis__units_divide(blis_cluster *cluster, const uint32_t *sizes,
                                            blis_error *error);

/*
 * Adds a new last unit that begins with instance `first` and has the size of the unit of `other`.
 */
void blis__units_join(const blis_cluster *cluster, uint32_t first, uint32_t other);

/* Returns the first instance of i's unit. */
static inline uint32_t blis__unit_first(const blis_cluster *cluster, uint32_t i) {
  return cluster->units == NULL ? i : cluster->units->first[i];
}

/* Returns the number of instances in i's unit. */
static inline uint32_t blis__unit_size(const blis_cluster *cluster, uint32_t i) {
  return cluster->units == NULL ? 1 : cluster->units->size[i];
}

/* Returns the number after the last instance of i's unit. */
static inline uint32_t blis__unit_end(const blis_cluster *cluster, uint32_t i) {
  return blis__unit_first(cluster, i) + blis__unit_size(cluster, i);
}

/* Returns the number of i's unit, from 0. */
static inline uint32_t blis__unit_number(const blis_cluster *cluster, uint32_t i) {
  return cluster->units == NULL ? i : cluster->units->number[i];
}

#endif
