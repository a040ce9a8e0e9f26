/*
 * record.h - what is known of a finished request.
 */
#ifndef BLIS_RESULTS_RECORD_RECORD_H
#define BLIS_RESULTS_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/invariant.h"
#include "cluster/cluster.h"

/* Different reasons that records can tell apart. */
enum { BLIS_RECORD_REASON_MAX = (1 << 25) - 1 };

typedef struct blis_record {
  int64_t number; /* what ids are made of, see blis_request_id */
  int64_t arrival_us;
  int64_t ttft_us;             /* last recorded; -1 = never */
  int64_t e2e_us;              /* -1 = not completed */
  int64_t scheduling_delay_us; /* of the last admission; -1 = never */
  int64_t itl_sum_us;
  int64_t end_us;
  int64_t gateway_wait_us; /* in its queue, until dispatched; -1 = never */
  int64_t adapter_wait_us; /* for its adapter; -1 = was not admitted with one */
  int64_t drafted_tokens;  /* where it ended; -1 = nobody drafts there, */
  int64_t accepted_tokens; /* and those of them that were given out */
  int64_t energy_nj;       /* of its tokens; -1 = not known, */
  int64_t carbon_pg;       /* and what that emitted; likewise */
  uint32_t itl_count;
  uint32_t prompt_tokens;
  uint32_t output_tokens; /* planned */
  int32_t instance;       /* -1 = none */
  uint32_t tenant;        /* numbers in the workload's string table */
  uint32_t slo_class;
  uint32_t model;
  uint32_t adapter;
  uint32_t session;
  int32_t round_index;      /* of the session, from 0 */
  uint32_t program;         /* whose call it was; 0 = nobody's */
  uint32_t reason;          /* of a rejection: the recorder's; 0 = none */
  uint32_t state : 4;       /* blis_request_state */
  uint32_t was_counted : 1; /* reached a wait queue or was late for it */
  uint32_t had_hit : 1;     /* some of its prompt was cached at its admission */
} blis_record;

/* The record of how a request ended; reason is the recorder's business. */
blis_record blis_record_of(const blis_request_end *end);

/* Completed, also at the maximum model length. */
static inline bool blis_record_is_completed(const blis_record *record) {
  return blis_request_is_completed(record->state);
}

/*
 * The latencies of a completed request: the one definition for goodput and for capacity targets.
 * XX(constant, name)
 */
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

/*
 * XXH3 of number, arrival, state, instance, prompt and output tokens, TTFT,
 * scheduling delay, E2E, sum and count of the inter-token latencies, each as 8
 * bytes, little-endian. What a result hash adds up.
 */
uint64_t blis_record_hash(const blis_record *record);

#endif
