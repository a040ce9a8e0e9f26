/*
 * visit_log.h - where the requests of a run were, what preemptions cut out of
 * that, and in which states its instances were, for pictures.
 *
 * Keeps up to so many of each, the earliest ones, in whatever order they come;
 * the others are counted. Adding is O(log most) amortised; there is room for
 * twice as many.
 */
#ifndef BLIS_RESULTS_LOG_VISIT_LOG_H
#define BLIS_RESULTS_LOG_VISIT_LOG_H

#include "base/array.h"
#include "cluster/requests/visits.h"

typedef struct blis_visit_log {
  blis_alloc alloc;
  size_t most; /* of each */
  BLIS_ARRAY(blis_visit) visits;
  BLIS_ARRAY(blis_preempted) preemptions;
  BLIS_ARRAY(blis_service_change) states;
  int64_t left_out;       /* of all */
  int64_t whole_until_us; /* all of these before it are there; INT64_MAX when
                             nothing was left out. Known once it is sorted */
} blis_visit_log;

/* Keeps nothing yet; most >= 1. */
void blis_visit_log_init(blis_visit_log *log, const blis_alloc *alloc, size_t most);

/* Idempotent; an all-zero log is allowed. */
void blis_visit_log_deinit(blis_visit_log *log);

/* What fills it; borrows it. */
blis_visit_sink blis_visit_log_sink(blis_visit_log *log);

/*
 * In order of time, then by request, and within the limit; states in the order
 * in which they came. To be called before the log is read.
 */
void blis_visit_log_sort(blis_visit_log *log);

#endif
