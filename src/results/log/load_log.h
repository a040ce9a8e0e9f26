/*
 * load_log.h - the loads of a run, for charts: loads of adapters into the slots of instances, and
 * KV transfers from and to tiers.
 *
 * Keeps a limited number of each kind: those that end first. The others are only counted. After
 * settling, loads are ordered by end, then by instance, regardless of the order in which engines
 * reported them. Adding is amortized O(log limit). The loss of an instance is O(1), because the
 * next settling removes its loads. The log stores up to twice the limit before it settles.
 */
#ifndef BLIS_RESULTS_LOG_LOAD_LOG_H
#define BLIS_RESULTS_LOG_LOAD_LOG_H

#include "base/array.h"
#include "cluster/cluster.h"
#include "cluster/tiers/kv_tiers.h"

typedef struct blis_logged_load {
  uint32_t instance;
  uint32_t life; /* life of the instance in which the load occurred */
  blis_adapter_load load;
} blis_logged_load;

typedef struct blis_load_log {
  blis_alloc alloc;
  size_t most; /* maximum number of each kind */
  BLIS_ARRAY(blis_logged_load) loads;
  BLIS_ARRAY(blis_kv_move) moves;
  /* Times at which instances were lost, one for each life with reported loads. */
  BLIS_ARRAY(int64_t) life_ends_us;
  BLIS_ARRAY(uint32_t)
  lives;            /* by instance: index + 1 of its current life; 0 = its next report starts a
                       life */
  int64_t left_out; /* number of omitted loads of both kinds */
} blis_load_log;

/* Keeps nothing yet. */
void blis_load_log_init(blis_load_log *log, const blis_alloc *alloc, size_t most);

/* Idempotent; an all-zero log is allowed. */
void blis_load_log_deinit(blis_load_log *log);

/* Sorts the loads, and drops lost loads and those beyond the maximum. More loads may be added
   later. */
void blis_load_log_settle(blis_load_log *log);

/* Returns the sink that fills the log; it borrows the log. */
blis_load_sink blis_load_log_sink(blis_load_log *log);

#endif
