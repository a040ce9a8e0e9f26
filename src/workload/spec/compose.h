/*
 * compose.h - merges several workload specifications into one.
 *
 * Clients and cohorts keep their rates: fractions are normalized within each specification and
 * scaled by its share of the total aggregate rate. The seed, number of requests, and horizon are
 * kept if they are the same in all specifications.
 */
#ifndef BLIS_WORKLOAD_SPEC_COMPOSE_H
#define BLIS_WORKLOAD_SPEC_COMPOSE_H

#include "base/arena.h"
#include "base/error.h"
#include "workload/spec/workload_spec.h"

typedef struct blis_spec_part {
  const char *name; /* name in messages */
  const blis_workload_spec *spec;
} blis_spec_part;

/*
 * Fills *whole, which borrows from the parts and lives in arena. Requires count > 0. Calls note for
 * everything that was dropped. Returns BLIS_ERR_INVALID if only some parts have an aggregate rate,
 * if a part has rates that no specification can express, or if the result is not a valid
 * specification.
 */
BLIS_MUSTUSE blis_status blis_workload_spec_compose(const blis_spec_part *parts, size_t count,
                                                    blis_arena *arena, blis_workload_spec *whole,
                                                    blis_status (*note)(void *ud, const char *text),
                                                    void *ud, blis_error *error);

#endif
