/*
 * timetable.h - publication times of replicas, and delays and losses of messages.
 *
 * Every value depends only on the seed and on index numbers, so adding a replica does not change
 * the ticks and random values of other replicas.
 */
#ifndef BLIS_POLICY_REPLICAS_TIMETABLE_H
#define BLIS_POLICY_REPLICAS_TIMETABLE_H

#include "policy/replicas/replicas.h"

typedef struct blis__timetable {
  int64_t seed;
  int64_t every_us;
  double jitter;
  double loss;
  int64_t delay_us;
  int64_t phases_us[BLIS_REPLICAS_MAX];
} blis__timetable;

void blis__timetable_init(blis__timetable *table, const blis_replica_options *options);

/* Returns the time of tick k of a replica, k >= 0. */
int64_t blis__timetable_tick(const blis__timetable *table, uint32_t replica, uint64_t k);

/* Returns the number of the first tick after after_us. */
uint64_t blis__timetable_next(const blis__timetable *table, uint32_t replica, int64_t after_us);

/* Returns whether message number `sequence` from a sender to a receiver is lost. */
bool blis__timetable_loses(const blis__timetable *table, uint32_t sender, uint32_t receiver,
                           uint64_t sequence);

/* Returns the time when a message sent at at_us reaches a receiver in this mode. */
int64_t blis__timetable_arrival(const blis__timetable *table, blis_sync_mode mode, uint32_t sender,
                                uint32_t receiver, int64_t at_us);

#endif
