/*
 * visit_log.h - the visits of requests to instances, their interruptions by preemptions, and the
 * states of instances, for charts.
 *
 * Keeps a limited number of each kind, the earliest ones, in any order of arrival; the others are
 * counted. Adding is amortized O(log limit). The log has room for twice the limit.
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
  int64_t whole_until_us; /* the log is complete before this time; INT64_MAX if nothing was
                             omitted. Set by sorting */
} blis_visit_log;

/* Initializes an empty log; most >= 1. */
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
