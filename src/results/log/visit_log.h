/*
 * visit_log.h - the visits of requests to instances, their interruptions by preemptions, and the
 * states of instances, for charts.
 *
 * Keeps the earliest entries of each kind, up to a limit, regardless of the order in which they are
 * added; the others are only counted. Adding is amortized O(log limit). The log has capacity for
 * twice the limit.
 */
#ifndef BLIS_RESULTS_LOG_VISIT_LOG_H
#define BLIS_RESULTS_LOG_VISIT_LOG_H

#include "base/array.h"
#include "cluster/requests/visits.h"

typedef struct blis_visit_log {
  blis_alloc alloc;
  size_t most; /* maximum number of each kind */
  BLIS_ARRAY(blis_visit) visits;
  BLIS_ARRAY(blis_preempted) preemptions;
  BLIS_ARRAY(blis_service_change) states;
  int64_t left_out;       /* number of omitted entries of all kinds */
  int64_t whole_until_us; /* the log is complete before this time; INT64_MAX if nothing was
                             omitted. Set by blis_visit_log_sort */
} blis_visit_log;

/* Initializes an empty log; most >= 1. */
void blis_visit_log_init(blis_visit_log *log, const blis_alloc *alloc, size_t most);

/* Idempotent; an all-zero log is allowed. */
void blis_visit_log_deinit(blis_visit_log *log);

/* Returns the sink that fills the log; it borrows the log. */
blis_visit_sink blis_visit_log_sink(blis_visit_log *log);

/*
 * Sorts entries by time, then by request, and drops those beyond the limit. States keep the order
 * in which they were added. Call this function before reading the log.
 */
void blis_visit_log_sort(blis_visit_log *log);

#endif
