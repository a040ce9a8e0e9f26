/*
 * times.h - percentiles of the times in a list of records.
 */
#ifndef BLIS_RESULTS_TIMES_H
#define BLIS_RESULTS_TIMES_H

#include "results/percentiles.h"
#include "results/record.h"

typedef enum blis__time_kind {
  BLIS__TTFT,             /* of records with a first token */
  BLIS__E2E,              /* of completed ones */
  BLIS__SCHEDULING_DELAY, /* of those ever admitted to a batch */
  BLIS__MEAN_ITL /* of a request: of those with inter-token latencies */
} blis__time_kind;

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

BLIS_MUSTUSE blis_status blis__times_of(blis_percentiles *result,
                                        const blis_alloc *alloc,
                                        const blis__selection *selection,
                                        blis__time_kind kind);

#endif
