/*
 * times.h - percentiles of the times in a list of records.
 */
#ifndef BLIS_RESULTS_TIMES_H
#define BLIS_RESULTS_TIMES_H

#include "results/figures.h"
#include "results/record.h"

/* Some records of a list, by index; which NULL is all of them. */
typedef struct blis__selection {
  const blis_record *records;
  const uint32_t *which;
  size_t count;
} blis__selection;

static inline const blis_record *
blis__selected(const blis__selection *selection, size_t i) {
  return &selection
              ->records[selection->which == NULL ? i : selection->which[i]];
}

/*
 * All times of a selection; inter-token latencies are the requests' own means,
 * or, where itl_us is given, over its tokens.
 */
BLIS_MUSTUSE blis_status blis__times_fill(blis_times *times,
                                          const blis_alloc *alloc,
                                          const blis__selection *selection,
                                          blis_histogram *itl_us);

#endif
