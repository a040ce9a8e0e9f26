#include "policy/replicas/timetable.h"

#include <math.h>

#include "base/hash.h"

void blis__timetable_init(blis__timetable *table, const blis_replica_options *options) {
  *table = (blis__timetable){.seed = options->seed,
                             .every_us = options->every_us,
                             .jitter = options->jitter,
                             .loss = options->loss,
                             .delay_us = options->delay_us};
  for (uint32_t r = 0; r < options->count && options->phases_us != NULL; r++) {
    table->phases_us[r] = options->phases_us[r];
  }
}

/* Returns a uniform value in [0, 1) that depends on the purpose and up to three numbers. */
static double draw(const blis__timetable *table, uint64_t what, uint64_t a, uint64_t b,
                   uint64_t c) {
  const uint64_t words[] = {what, a, b, c};
  return (double)(blis_hash64(words, sizeof words, (uint64_t)table->seed) >> 11) * 0x1p-53;
}

enum { OF_TICKS = 1, OF_LOSSES = 2 };

int64_t blis__timetable_tick(const blis__timetable *table, uint32_t replica, uint64_t k) {
  int64_t usual_us = table->phases_us[replica] + (int64_t)k * table->every_us;
  if (table->jitter == 0 || k == 0) {
    return usual_us;
  }
  double offset = (2 * draw(table, OF_TICKS, replica, k, 0) - 1) * table->jitter;
  return usual_us + (int64_t)floor(offset * (double)table->every_us);
}

uint64_t blis__timetable_next(const blis__timetable *table, uint32_t replica, int64_t after_us) {
  int64_t since_us = after_us - table->phases_us[replica];
  uint64_t k = since_us < table->every_us ? 0 : (uint64_t)(since_us / table->every_us) - 1;
  while (blis__timetable_tick(table, replica, k) <= after_us) {
    k++;
  }
  return k;
}

bool blis__timetable_loses(const blis__timetable *table, uint32_t sender, uint32_t receiver,
                           uint64_t sequence) {
  return table->loss > 0 && draw(table, OF_LOSSES, sender, receiver, sequence) < table->loss;
}

/* Returns the time of the first tick after at_us. */
static int64_t tick_after(const blis__timetable *table, uint32_t replica, int64_t at_us) {
  return blis__timetable_tick(table, replica, blis__timetable_next(table, replica, at_us));
}

int64_t blis__timetable_arrival(const blis__timetable *table, blis_sync_mode mode, uint32_t sender,
                                uint32_t receiver, int64_t at_us) {
  switch (mode) {
  case BLIS_SYNC_EVENTS:
    return at_us + table->delay_us;
  case BLIS_SYNC_PERIODIC:
    return tick_after(table, sender, at_us) + table->delay_us;
  case BLIS_SYNC_PULL_PUSH:
    /* A pull at the same time as the push comes first, so it does not see the push. */
    return tick_after(table, receiver, tick_after(table, sender, at_us) + table->delay_us);
  case BLIS_SYNC_NONE:
  case BLIS_SYNC_SHARED:
    break;
  }
  return INT64_MAX;
}
