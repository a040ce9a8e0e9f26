/*
 * start.h - the parts of an instance start (life_cycle.c), for callers that sample the durations
 * themselves.
 */
#ifndef BLIS_CLUSTER_INSTANCES_START_H
#define BLIS_CLUSTER_INSTANCES_START_H

#include "cluster/instances/life_cycle.h"
#include "cluster/state.h"

/* Number of states from BLIS_SERVICE_REQUESTED to BLIS_SERVICE_WARMING. */
enum { BLIS__START_PARTS = BLIS_SERVICE_WARMING - BLIS_SERVICE_REQUESTED + 1 };

/*
 * Durations of the parts; 0 skips a part. The duration of the pending state is not known in
 * advance.
 */
typedef struct blis__start {
  int64_t part_us[BLIS__START_PARTS];
  double warming_factor; /* see blis_cold_start */
  int64_t failures;      /* number of failures before it serves */
  bool is_hopeless;      /* it fails permanently after the last part */
} blis__start;

/* Starts the next instance as a copy of an existing one. BLIS_ERR_INVALID if the limit of instances
   is reached. */
BLIS_MUSTUSE blis_status blis__start_next(blis_cluster *cluster, uint32_t like,
                                          const blis__start *start, uint32_t *index,
                                          blis_error *error);

/* Samples the durations of the parts of an instance's start from the random stream named by the
   instance, with this seed. */
blis__start blis__draw_start(const blis_cold_start *cold_start, uint32_t index, int64_t seed);

/*
 * Places an initial instance and begins its loading, as if the earlier parts of its start were
 * complete. Call it before the first event. If loading takes no time, the instance serves
 * immediately.
 */
BLIS_MUSTUSE blis_status blis__begin_loading(blis_cluster *cluster, uint32_t index,
                                             const blis__start *start, blis_error *error);

/* Starts pending instances, in the order of IDs, while nodes have capacity. */
BLIS_MUSTUSE blis_status blis__start_pending(blis_cluster *cluster, blis_error *error);

#endif
