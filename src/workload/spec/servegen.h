/*
 * servegen.h - the clients of ServeGen (Xiang et al., "ServeGen: Workload Characterization and
 * Generation of Large Language Model Serving in Production", 2025) converted to cohorts of a
 * workload specification.
 *
 * A folder contains files chunk-<id>-trace.csv (rates and burstiness of a client in windows of ten
 * minutes) and chunk-<id>-dataset.json (its lengths). For language data, one window is used for
 * each of three parts of the day. The clients that are active in it become cohorts, one per part
 * and SLO class. For reasoning data, the clients of the busiest window become cohorts. The
 * conversion follows BLIS (Go, inference-sim f90a1e3a).
 */
#ifndef BLIS_WORKLOAD_SPEC_SERVEGEN_H
#define BLIS_WORKLOAD_SPEC_SERVEGEN_H

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "workload/spec/workload_spec.h"

typedef struct blis_servegen_spec {
  const char *path;        /* the folder */
  const char *time_window; /* no longer used */
  int64_t span_start;
  int64_t span_end;
  int64_t window_secs; /* length of a window; 0 = 600 */
  int64_t drain_secs;  /* pause after a window; 0 = 180 */
} blis_servegen_spec;

/*
 * Sets cohorts, category, and aggregate_rate of *spec; new data lives in arena. The seed of *spec
 * determines which clients belong to which class. Calls note for everything that was dropped.
 * Errors contain the file and line; *fault identifies the invalid member of *from, if any.
 */
BLIS_MUSTUSE blis_status blis_servegen_expand(const blis_servegen_spec *from,
                                              const blis_alloc *alloc, blis_arena *arena,
                                              blis_workload_spec *spec,
                                              blis_status (*note)(void *ud, const char *text),
                                              void *ud, blis_spec_fault *fault, blis_error *error);

#endif
