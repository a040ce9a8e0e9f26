/*
 * latency_kinds.h - the latencies of a completed request, and whether one is
 * within a limit: the one definition for goodput and for targets of capacity.
 */
#ifndef BLIS_RESULTS_LATENCY_KINDS_H
#define BLIS_RESULTS_LATENCY_KINDS_H

#include "base/invariant.h"
#include "results/record.h"

/* XX(constant, name) */
#define BLIS_LATENCY_KIND_MAP(XX)                                                                  \
  XX(TTFT, "ttft")                                                                                 \
  XX(ITL, "itl")                                                                                   \
  XX(E2E, "e2e")                                                                                   \
  XX(SCHEDULING_DELAY, "scheduling_delay")

typedef enum blis_latency_kind {
#define XX(constant, name) BLIS_LATENCY_##constant,
  BLIS_LATENCY_KIND_MAP(XX)
#undef XX
      BLIS_LATENCY_KIND_COUNT
} blis_latency_kind;

/* In us; the inter-token latency is the request's mean, 0 of a single token. */
static inline double blis_record_latency_us(const blis_record *record, blis_latency_kind kind) {
  BLIS_ASSERT(blis_record_is_completed(record));
  switch (kind) {
  case BLIS_LATENCY_TTFT:
    return (double)record->ttft_us;
  case BLIS_LATENCY_ITL:
    return record->itl_count == 0 ? 0 : (double)record->itl_sum_us / (double)record->itl_count;
  case BLIS_LATENCY_E2E:
    return (double)record->e2e_us;
  default:
    return (double)record->scheduling_delay_us;
  }
}

static inline bool blis_record_is_within(const blis_record *record, blis_latency_kind kind,
                                         double limit_ms) {
  return blis_record_latency_us(record, kind) / 1000 <= limit_ms;
}

#endif
