/*
 * tally.h - the running counts of a recorder: requests by outcome and by
 * instance and, without records, sketches of their times.
 */
#ifndef BLIS_RESULTS_RECORD_TALLY_H
#define BLIS_RESULTS_RECORD_TALLY_H

#include "base/array.h"
#include "base/containers/sketch.h"
#include "results/metrics/figures.h"
#include "results/record/record.h"

/* Counts a request that ended in this state. */
void blis_state_counts_add(blis_state_counts *counts, blis_request_state state);

typedef struct blis_tally {
  blis_alloc alloc;
  blis_state_counts counts;
  int64_t hits;                     /* completed requests with a cache hit */
  BLIS_ARRAY(int64_t) per_instance; /* number of requests routed to each instance */
  bool has_sketches;
  /* Sketches with the same populations as in blis_summary. */
  blis_sketch ttft_us;
  blis_sketch e2e_us;
  blis_sketch scheduling_delay_us;
} blis_tally;

void blis__tally_init(blis_tally *tally, const blis_alloc *alloc, bool has_sketches);
void blis__tally_deinit(blis_tally *tally);

/* After BLIS_ERR_NOMEM the tally can only be freed. */
BLIS_MUSTUSE blis_status blis__tally_add(blis_tally *tally, const blis_record *record);

/* Counts an attempt of a cascade at an instance; later attempts follow. */
BLIS_MUSTUSE blis_status blis__tally_add_routed(blis_tally *tally, uint32_t instance);

/* Returns the number of requests that were routed to an instance, including every attempt of a
   cascade. */
int64_t blis_tally_of_instance(const blis_tally *tally, uint32_t instance);

#endif
