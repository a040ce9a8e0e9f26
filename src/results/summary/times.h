/*
 * times.h - percentiles of the times in a list of records.
 */
#ifndef BLIS_RESULTS_SUMMARY_TIMES_H
#define BLIS_RESULTS_SUMMARY_TIMES_H

#include "results/record/recorder.h"

/* A selection of records of a store, by index. If `which` is NULL, all records are selected. */
typedef struct blis__selection {
  const blis__record_store *store;
  const uint32_t *which;
  size_t count;
} blis__selection;

static inline size_t blis__selected_index(const blis__selection *selection, size_t i) {
  return selection->which == NULL ? i : selection->which[i];
}

static inline const blis__short_record *blis__selected(const blis__selection *selection, size_t i) {
  return &selection->store->records.items[blis__selected_index(selection, i)];
}

/*
 * Computes all times of a selection. Inter-token latencies are the means of the requests; with
 * itl_us, they are the samples of this histogram.
 */
BLIS_MUSTUSE blis_status blis__times_fill(blis_times *times, const blis_alloc *alloc,
                                          const blis__selection *selection, blis_histogram *itl_us);

/* Computes the percentiles of an extra field that is a time, over the selected records that have
   set it. */
BLIS_MUSTUSE blis_status blis__waits_fill(blis_percentiles *waits, const blis_alloc *alloc,
                                          const blis__selection *selection,
                                          blis_record_extra extra);

/*
 * Computes the times of all records; the result is cached until records are added. *whole belongs
 * to the recorder.
 */
BLIS_MUSTUSE blis_status blis__times_of_whole(const blis_recorder *recorder,
                                              const blis_alloc *alloc, const blis__whole **whole);

#endif
