/*
 * request_end.h - the outcome of a request and its reported fields, for the core and the features.
 * A feature adds its fields at BLIS__REPORTING.
 */
#ifndef BLIS_CLUSTER_LISTS_REQUEST_END_H
#define BLIS_CLUSTER_LISTS_REQUEST_END_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/lists/record_fields.h"
#include "instance/request/live_request.h"
#include "policy/cascade/cascade.h"
#include "workload/request.h"

/* The outcome of a request and its reported fields. */
typedef struct blis_request_end {
  const blis_request *request; /* borrowed during the call */
  blis_request_state state;    /* QUEUED, RUNNING, and ARRIVED occur only at the end of the run */
  int32_t instance;            /* last instance; -1 = none */
  const char *reason;          /* reason of a rejection or failure; or NULL */
  bool was_counted;
  bool had_hit;                /* part of its prompt was cached at its first admission */
  int64_t cached_tokens;       /* prompt tokens that were cached in any store */
  int64_t ttft_us;             /* -1 = none */
  int64_t e2e_us;              /* -1 = not completed */
  int64_t scheduling_delay_us; /* -1 = none */
  int64_t itl_sum_us;
  int64_t itl_count;
  int64_t end_us;
  double priority;                       /* higher is more urgent */
  uint32_t steps;                        /* number of models that a cascade tried; 0 = no cascade */
  const blis_cascade_attempt *attempt;   /* the last attempt; NULL = none */
  blis_cascade_verdict verdict;          /* verdict about the last attempt */
  const struct blis_stage_times *stages; /* NULL = no encode stage and no hand-off */
  blis_record_extras *extras;            /* the extra fields of its record; NULL = none */
  const struct blis_kv_hits *hits;       /* NULL = no tiers, or never admitted */
  int64_t return_us;                     /* time from the end at the instance to the client */
} blis_request_end;

#endif
