/*
 * compose.h - merges several workload specifications into one.
 *
 * Clients and cohorts keep their rates: fractions are normalised within each
 * specification and scaled by its part of the sum of all aggregate rates. Seed,
 * number of requests and horizon are kept when they are the same everywhere.
 */
#ifndef BLIS_WORKLOAD_SPEC_COMPOSE_H
#define BLIS_WORKLOAD_SPEC_COMPOSE_H

#include "base/arena.h"
#include "base/error.h"
#include "workload/spec/workload_spec.h"

typedef struct blis_spec_part {
  const char *name; /* for messages */
  const blis_workload_spec *spec;
} blis_spec_part;

/*
 * Fills *whole, which borrows from the parts and lives in arena. count > 0. note is
 * called with everything that was dropped. BLIS_ERR_INVALID if only some parts have
 * an aggregate rate, if a part has rates that no specification can express, or if
 * the result is not a valid specification.
 */
BLIS_MUSTUSE blis_status blis_workload_spec_compose(const blis_spec_part *parts, size_t count,
                                                    blis_arena *arena, blis_workload_spec *whole,
                                                    blis_status (*note)(void *ud, const char *text),
                                                    void *ud, blis_error *error);

#endif
