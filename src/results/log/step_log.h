/*
 * step_log.h - the steps of all instances, for charts.
 *
 * An entry is one step, or several consecutive steps of an instance. When the log is full, adjacent
 * entries are merged, and later entries cover twice as many steps. Memory is therefore bounded for
 * runs of any length, and short runs show every step.
 *
 * Invariants: entries of an instance are in order of time and do not overlap; their steps add up to
 * the steps that were reported within the window. Adding is amortized O(1).
 */
#ifndef BLIS_RESULTS_LOG_STEP_LOG_H
#define BLIS_RESULTS_LOG_STEP_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "instance/config/step_report.h"

/* Sums over the steps of an entry, except the times. */
typedef struct blis_step_entry {
  int64_t steps;
  int64_t start_us; /* start of the first step */
  int64_t end_us;   /* end of the last step */
  int64_t busy_us;  /* busy time between start_us and end_us */
  int64_t prefill_requests;
  int64_t prefill_tokens;
  int64_t decode_requests;
  int64_t in_front_end; /* routed here and not yet in the wait queue */
  int64_t waiting;
  int64_t used_kv_blocks;
} blis_step_entry;

typedef struct blis_step_list {
  BLIS_ARRAY(blis_step_entry) entries;
} blis_step_list;

typedef struct blis_step_log {
  blis_alloc alloc;
  size_t most;                      /* maximum number of entries over all instances */
  int64_t from_us;                  /* steps that end before this time are omitted */
  int64_t to_us;                    /* steps that start after this time are omitted */
  int64_t merged;                   /* maximum number of steps per entry; a power of two */
  size_t count;                     /* number of entries */
  BLIS_ARRAY(blis_step_list) lists; /* by instance */
} blis_step_log;

/* Initializes an empty log; most >= 2. Always call blis_step_log_deinit. */
void blis_step_log_init(blis_step_log *log, const blis_alloc *alloc, size_t most, int64_t from_us,
                        int64_t to_us);

/* Idempotent; an all-zero log is allowed. */
void blis_step_log_deinit(blis_step_log *log);

/*
 * Adds a step of an instance. Steps must be in order. If a step starts before the previous one has
 * ended, the previous step is truncated, because the instance was lost in between. BLIS_ERR_NOMEM
 * leaves the log unchanged.
 */
BLIS_MUSTUSE blis_status blis_step_log_add(blis_step_log *log, uint32_t instance,
                                           const blis_step_report *report, int64_t in_front_end);

#endif
