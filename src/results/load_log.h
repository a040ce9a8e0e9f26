/*
 * load_log.h - what was loaded in a run, for pictures: adapters into the slots
 * of instances, and KV from and to tiers.
 *
 * Keeps up to so many of each; those behind them are counted. Invariant: the
 * loads of an instance are in order of time and do not overlap. Adding is O(1)
 * amortised.
 */
#ifndef BLIS_RESULTS_LOAD_LOG_H
#define BLIS_RESULTS_LOAD_LOG_H

#include "base/array.h"
#include "cluster/cluster.h"

typedef struct blis_logged_load {
  uint32_t instance;
  blis_adapter_load load;
} blis_logged_load;

typedef struct blis_load_log {
  blis_alloc alloc;
  size_t most; /* of each */
  BLIS_ARRAY(blis_logged_load) loads;
  BLIS_ARRAY(blis_kv_move) moves;
  int64_t left_out; /* of both */
} blis_load_log;

/* Keeps nothing yet. */
void blis_load_log_init(blis_load_log *log, const blis_alloc *alloc,
                        size_t most);

/* Idempotent; an all-zero log is allowed. */
void blis_load_log_deinit(blis_load_log *log);

/* What fills it; borrows it. */
blis_load_sink blis_load_log_sink(blis_load_log *log);

#endif
