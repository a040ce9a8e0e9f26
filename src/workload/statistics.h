/*
 * statistics.h - statistics of a workload: number of requests, duration, lengths, and the fraction
 * of reused content.
 */
#ifndef BLIS_WORKLOAD_STATISTICS_H
#define BLIS_WORKLOAD_STATISTICS_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/workload.h"

/*
 * Statistics of token counts, or of requests per session. Percentiles are nearest-rank, so they are
 * values that occur. All 0 if empty.
 */
typedef struct blis_length_statistics {
  int64_t sum;
  double mean;
  uint32_t min;
  uint32_t p50;
  uint32_t p90;
  uint32_t p99;
  uint32_t max;
} blis_length_statistics;

typedef struct blis_workload_statistics {
  int64_t count;
  int64_t first_arrival_us;
  int64_t last_arrival_us;
  double requests_per_sec; /* (count - 1) / span; 0 when the span is 0 */
  int64_t busiest_second;  /* maximum number of requests that arrive within a second */
  /*
   * Coefficient of variation of the gaps between arrivals: about 1 for a Poisson process, more for
   * bursty arrivals, 0 if the span is 0.
   */
  double gap_cv;
  blis_length_statistics prompt;
  blis_length_statistics output;
  /*
   * Tokens of full prompt blocks that an earlier request had at the same position, after the same
   * blocks: the hits of an unlimited cache.
   */
  int64_t reused_tokens;
  double reused_share;      /* fraction of all prompt tokens; 0 without prompt tokens */
  int64_t shareable_blocks; /* number of different full blocks that requests can share */
  uint32_t tenants;         /* number of distinct strings, without the empty string */
  uint32_t slo_classes;
  uint32_t models;
  uint32_t sessions;
  uint32_t clients;
  uint32_t prefix_groups;
  blis_length_statistics turns; /* requests per session */
} blis_workload_statistics;

/* Consumes all requests of a source, which arrive in order, and releases them. block_size > 0 is
   the size of KV blocks for reused_tokens. Costs about 100 ns per request; memory grows with
   distinct strings, lengths, and shareable blocks. Returns errors of the source and
   BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis_source_measure(const blis_alloc *alloc,
                                             const blis_request_source *source, uint32_t block_size,
                                             blis_workload_statistics *statistics,
                                             blis_error *error);

/* Like blis_source_measure, for a list. */
BLIS_MUSTUSE blis_status blis_workload_measure(const blis_alloc *alloc,
                                               const blis_workload *workload, uint32_t block_size,
                                               blis_workload_statistics *statistics,
                                               blis_error *error);

#endif
