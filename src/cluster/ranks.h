/*
 * ranks.h - data-parallel ranks: which instances are one group.
 *
 * A group is instances with consecutive numbers, as many as its
 * blis_rank_config says; an instance without one is a group of its own, and so
 * is room for instances until a group is started there. Every question costs
 * O(1); where no instance has ranks, nothing is kept.
 *
 * A group is the unit of what comes and goes: its instances are in the same
 * state (service.h), start, drain and fail together.
 */
#ifndef BLIS_CLUSTER_RANKS_H
#define BLIS_CLUSTER_RANKS_H

#include "cluster/state.h"

typedef struct blis__ranks {
  /* By instance: the first one of its group, the number of that group, and how
     many ranks it has. */
  uint32_t *first;
  uint32_t *group;
  uint32_t *size;
} blis__ranks;

/*
 * Divides the instances that there are at first; makes nothing where none has
 * ranks. BLIS_ERR_INVALID names the instance that lacks others of its group.
 */
BLIS_MUSTUSE blis_status blis__ranks_init(blis_cluster *cluster, blis_error *error);

/* As many instances as other's group has, from first on, are the last group. */
void blis__ranks_join(const blis_cluster *cluster, uint32_t first, uint32_t other);

/* The first instance of i's group. */
static inline uint32_t blis__rank_first(const blis_cluster *cluster, uint32_t i) {
  return cluster->ranks == NULL ? i : cluster->ranks->first[i];
}

/* How many instances i's group has. */
static inline uint32_t blis__rank_count(const blis_cluster *cluster, uint32_t i) {
  return cluster->ranks == NULL ? 1 : cluster->ranks->size[i];
}

/* The instance behind the last one of i's group. */
static inline uint32_t blis__rank_end(const blis_cluster *cluster, uint32_t i) {
  return blis__rank_first(cluster, i) + blis__rank_count(cluster, i);
}

/* The number of i's group, from 0. */
static inline uint32_t blis__rank_group(const blis_cluster *cluster, uint32_t i) {
  return cluster->ranks == NULL ? i : cluster->ranks->group[i];
}

#endif
