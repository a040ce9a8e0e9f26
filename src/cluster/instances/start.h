/*
 * start.h - the start of an instance in its parts (life_cycle.c), for those who
 * draw times themselves.
 */
#ifndef BLIS_CLUSTER_INSTANCES_START_H
#define BLIS_CLUSTER_INSTANCES_START_H

#include "cluster/instances/life_cycle.h"
#include "cluster/state.h"

/* Number of states from BLIS_SERVICE_REQUESTED to BLIS_SERVICE_WARMING. */
enum { BLIS__START_PARTS = BLIS_SERVICE_WARMING - BLIS_SERVICE_REQUESTED + 1 };

/* Durations of the parts; 0 skips a part. The duration of pending is unknown in advance. */
typedef struct blis__start {
  int64_t part_us[BLIS__START_PARTS];
  double warming_factor; /* as in blis_cold_start */
  int64_t failures;      /* before it serves */
  bool is_hopeless;      /* it fails permanently, after the last part */
} blis__start;

/* Starts the next instance, like another one. BLIS_ERR_INVALID: there is no
   room for more. */
BLIS_MUSTUSE blis_status blis__start_next(blis_cluster *cluster, uint32_t like,
                                          const blis__start *start, uint32_t *index,
                                          blis_error *error);

/* How long the parts of the start of an instance take, from the stream of its
   own name under the seed. */
blis__start blis__draw_start(const blis_cold_start *cold_start, uint32_t index, int64_t seed);

/*
 * Before the first event: an instance that is there at first has a place and
 * loads, as if the start had come so far. One that takes no time serves.
 */
BLIS_MUSTUSE blis_status blis__begin_loading(blis_cluster *cluster, uint32_t index,
                                             const blis__start *start, blis_error *error);

/* Starts instances that wait for a place, by id, as long as places are free. */
BLIS_MUSTUSE blis_status blis__start_pending(blis_cluster *cluster, blis_error *error);

#endif
