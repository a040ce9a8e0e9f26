/*
 * life_cycle.h - start and removal of instances.
 *
 * A cluster has slots for more instances than the initial ones (blis_cluster_config.initial_count).
 * A requested instance takes the next slot and keeps its number permanently. It starts with an
 * empty cache and is billed until it is removed. Depending on blis_stop, a removed instance first
 * finishes its requests. Its slot stays empty.
 *
 * A deployment unit (units.h) is started and removed as a whole, with one cold start. The functions
 * below therefore apply to the whole unit of an instance.
 *
 * Like the failure functions of cluster.h, these functions are called between events.
 */
#ifndef BLIS_CLUSTER_INSTANCES_LIFE_CYCLE_H
#define BLIS_CLUSTER_INSTANCES_LIFE_CYCLE_H

#include "cluster/cluster.h"
#include "cluster/instances/delay.h"

/* Durations from the request for an instance to its first request; zero durations are skipped. */
typedef struct blis_cold_start {
  blis_delay request; /* time until a node is available */
  blis_delay provisioning;
  blis_delay loading; /* weights, compilation, graphs */
  blis_delay warming;
  /* If set, the instance is active after loading and serves during warm-up, with step times
     multiplied by this factor (1e-3 to 1e6). 0 = it does not serve during warm-up. */
  double warming_factor;
  /*
   * Probability (0 to 1) that a start fails at its end and repeats from provisioning, with the same
   * durations. After `retries` further consecutive failures, the instance has failed permanently.
   */
  double failure;
  int64_t retries;
} blis_cold_start;

/* How an instance is removed. */
typedef enum blis_stop {
  BLIS_STOP_WAIT,      /* after it has finished its requests */
  BLIS_STOP_REDIRECT,  /* like WAIT, but waiting requests are routed again */
  BLIS_STOP_IMMEDIATE, /* immediately; its requests are lost with reason instance-stopped */
  BLIS_STOP_COUNT
} blis_stop;

/*
 * Starts the next instance as a copy of an existing or former instance. If that instance belongs to
 * a group, starts a group of the same size. *index is the first new instance. Random durations use
 * a separate stream named by the instance. BLIS_ERR_INVALID if the maximum number of starts is
 * reached.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_start(blis_cluster *cluster, uint32_t like,
                                                     const blis_cold_start *cold_start,
                                                     int64_t seed, uint32_t *index,
                                                     blis_error *error);

/* Removes the instance, in any state. It has grace_us to finish its requests. The remaining
   requests are lost. */
BLIS_MUSTUSE blis_status blis_cluster_instance_stop(blis_cluster *cluster, uint32_t index,
                                                    blis_stop how, int64_t grace_us,
                                                    blis_error *error);

/* Schedules the recovery of a failed instance after after_us. During the last recovering_us, its
   state is recovering. This also works for a drained instance if no feature controls the number of
   instances. Has no effect if the instance is up earlier. */
BLIS_MUSTUSE blis_status blis_cluster_instance_recover(blis_cluster *cluster, uint32_t index,
                                                       int64_t after_us, int64_t recovering_us,
                                                       blis_error *error);

/* Permanently removes an instance that has failed or is recovering. */
BLIS_MUSTUSE blis_status blis_cluster_instance_give_up(blis_cluster *cluster, uint32_t index,
                                                       blis_error *error);

/* Returns whether an instance that is down, or about to go down, will recover. */
bool blis_cluster_instance_will_recover(const blis_cluster *cluster, uint32_t index);

/* Returns how often the start of the instance, or of its group, has failed so far. */
int64_t blis_cluster_instance_failed_starts(const blis_cluster *cluster, uint32_t index);

/* Returns the total time that the instance has been in a state up to until_us. */
int64_t blis_cluster_instance_time_us(const blis_cluster *cluster, uint32_t index,
                                      blis_service service, int64_t until_us);

/*
 * Returns whether an instance is billed now. It is billed if it was requested, is placed on a node
 * (if nodes are modeled, see placement.h), was not removed, has not failed permanently, and its
 * node was not returned. The second function returns the billed time up to until_us.
 */
bool blis_cluster_instance_is_paid(const blis_cluster *cluster, uint32_t index);
int64_t blis_cluster_instance_paid_us(const blis_cluster *cluster, uint32_t index,
                                      int64_t until_us);

#endif
