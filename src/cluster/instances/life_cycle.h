/*
 * life_cycle.h - start and removal of instances.
 *
 * A cluster has places for more than the initial instances
 * (blis_cluster_config.initial_count). A requested instance takes the next place
 * and keeps its number permanently. It starts with an empty cache, and costs money
 * until it is removed. An instance that is removed finishes its requests, or not,
 * and its place stays empty.
 *
 * A unit (units.h) starts and is removed as a whole, with one cold start: a change
 * of an instance here is applied to its unit.
 *
 * Like the failures of cluster.h, these are called between events.
 */
#ifndef BLIS_CLUSTER_INSTANCES_LIFE_CYCLE_H
#define BLIS_CLUSTER_INSTANCES_LIFE_CYCLE_H

#include "cluster/cluster.h"
#include "cluster/instances/delay.h"

/* Durations from the request for an instance to its first request; zero durations are skipped. */
typedef struct blis_cold_start {
  blis_delay request; /* until there is a place */
  blis_delay provisioning;
  blis_delay loading; /* weights, compilation, graphs */
  blis_delay warming;
  /* If set, the instance serves during warm-up, and its steps take this many times as long (1e-3
     to 1e6): it is active after loading. 0 = it does not serve during warm-up. */
  double warming_factor;
  /* Probability (0 to 1) that a start fails at its end and repeats provisioning, with the same
     durations. After this many consecutive further failures it has failed permanently. */
  double failure;
  int64_t retries;
} blis_cold_start;

/* How an instance that is no longer wanted goes. */
typedef enum blis_stop {
  BLIS_STOP_WAIT,      /* when it has finished its requests */
  BLIS_STOP_REDIRECT,  /* like WAIT, but waiting requests are routed again */
  BLIS_STOP_IMMEDIATE, /* its requests are lost, reason instance-stopped */
  BLIS_STOP_COUNT
} blis_stop;

/* Starts the next instance as a copy of an existing or former instance, or a group of that size;
   *index is the first instance. Its random durations use a separate stream named by the
   instance. BLIS_ERR_INVALID: the maximum number of starts is reached. */
BLIS_MUSTUSE blis_status blis_cluster_instance_start(blis_cluster *cluster, uint32_t like,
                                                     const blis_cold_start *cold_start,
                                                     int64_t seed, uint32_t *index,
                                                     blis_error *error);

/* Removes the instance, in any state. It has grace_us to finish its requests; the remaining ones
   are lost. */
BLIS_MUSTUSE blis_status blis_cluster_instance_stop(blis_cluster *cluster, uint32_t index,
                                                    blis_stop how, int64_t grace_us,
                                                    blis_error *error);

/* A failed instance recovers after after_us; during the last recovering_us its state is
   recovering. The same applies to a drained instance, if no feature controls the number of
   instances. No effect if it is up before. */
BLIS_MUSTUSE blis_status blis_cluster_instance_recover(blis_cluster *cluster, uint32_t index,
                                                       int64_t after_us, int64_t recovering_us,
                                                       blis_error *error);

/* Removes an instance permanently that has failed or is recovering. */
BLIS_MUSTUSE blis_status blis_cluster_instance_give_up(blis_cluster *cluster, uint32_t index,
                                                       blis_error *error);

/* Whether an instance that is down, or about to be, will recover. */
bool blis_cluster_instance_will_recover(const blis_cluster *cluster, uint32_t index);

/* How often its start, or the start of its group, has failed so far. */
int64_t blis_cluster_instance_failed_starts(const blis_cluster *cluster, uint32_t index);

/* How long it has been in a state up to until_us. */
int64_t blis_cluster_instance_time_us(const blis_cluster *cluster, uint32_t index,
                                      blis_service service, int64_t until_us);

/*
 * Whether an instance is paid now: it was requested, has a place if places are
 * counted (placement.h), was not removed, did not fail permanently, and its place
 * was not returned. The second function returns its paid time up to until_us.
 */
bool blis_cluster_instance_is_paid(const blis_cluster *cluster, uint32_t index);
int64_t blis_cluster_instance_paid_us(const blis_cluster *cluster, uint32_t index,
                                      int64_t until_us);

#endif
