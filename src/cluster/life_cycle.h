/*
 * life_cycle.h - instances that come and go.
 *
 * A cluster has room for more instances than are there at first
 * (blis_cluster_config.initial_count). One that is asked for takes the next
 * place and keeps its number for ever; it starts with an empty cache, and costs
 * from then on until it has gone. One that is to go finishes what it has, or
 * not, and its place stays empty.
 *
 * A unit (units.h) comes and goes as a whole, with one cold start: what is done
 * here to an instance is done to its unit.
 *
 * Like the failures of cluster.h, these are called between events.
 */
#ifndef BLIS_CLUSTER_LIFE_CYCLE_H
#define BLIS_CLUSTER_LIFE_CYCLE_H

#include "cluster/cluster.h"
#include "cluster/delay.h"

/* From being asked for to the first request; what takes no time is left out. */
typedef struct blis_cold_start {
  blis_delay request; /* until there is a place */
  blis_delay provisioning;
  blis_delay loading; /* weights, compilation, graphs */
  blis_delay warming;
  /*
   * While it warms, it serves, and steps take so many times as long (1e-3 to
   * 1e6): it is active from the end of loading on. 0 = it does not serve yet.
   */
  double warming_factor;
  /*
   * With this probability (0 to 1) a start fails when it would serve, and
   * begins anew with its provisioning, for as long as before. After so many
   * that failed again it has failed for good.
   */
  double failure;
  int64_t retries;
} blis_cold_start;

/* How an instance that is no longer wanted goes. */
typedef enum blis_stop {
  BLIS_STOP_WAIT,      /* when it has finished what it has */
  BLIS_STOP_REDIRECT,  /* the same, but what waits is routed once more */
  BLIS_STOP_IMMEDIATE, /* what it has is lost, reason instance-stopped */
  BLIS_STOP_COUNT
} blis_stop;

/*
 * Starts the next instance, like one that is or was there, or as many as that
 * one's group has, of which *index is the first; its times are drawn
 * from a stream of its own name under the seed. BLIS_ERR_INVALID: there is no
 * room for more.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_start(blis_cluster *cluster, uint32_t like,
                                                     const blis_cold_start *cold_start,
                                                     int64_t seed, uint32_t *index,
                                                     blis_error *error);

/*
 * The instance goes, in whatever state it is. It has grace_us for what it is
 * to finish; what is left then is lost.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_stop(blis_cluster *cluster, uint32_t index,
                                                    blis_stop how, int64_t grace_us,
                                                    blis_error *error);

/*
 * One that has failed comes back after after_us, of which it shows the last
 * recovering_us as recovering; and so does one that has drained, where there is
 * no feature keeps a number of instances. Nothing happens if it is up again by then.
 */
BLIS_MUSTUSE blis_status blis_cluster_instance_recover(blis_cluster *cluster, uint32_t index,
                                                       int64_t after_us, int64_t recovering_us,
                                                       blis_error *error);

/* One that has failed, or is recovering, will not come back and is gone. */
BLIS_MUSTUSE blis_status blis_cluster_instance_give_up(blis_cluster *cluster, uint32_t index,
                                                       blis_error *error);

/* Whether it is known that one that is down, or goes, will come back. */
bool blis_cluster_instance_will_recover(const blis_cluster *cluster, uint32_t index);

/* How often its start, or that of its group, has failed so far. */
int64_t blis_cluster_instance_failed_starts(const blis_cluster *cluster, uint32_t index);

/* How long it has been in a state up to until_us. */
int64_t blis_cluster_instance_time_us(const blis_cluster *cluster, uint32_t index,
                                      blis_service service, int64_t until_us);

/*
 * Whether an instance is paid for now: it was asked for, has a place where
 * these are counted (placement.h), and has not gone, nor failed for good, nor
 * was its place given back. The time for which it was, up to until_us.
 */
bool blis_cluster_instance_is_paid(const blis_cluster *cluster, uint32_t index);
int64_t blis_cluster_instance_paid_us(const blis_cluster *cluster, uint32_t index,
                                      int64_t until_us);

#endif
