/*
 * generator_plan.h - what of a generator never changes; for its own files.
 *
 * A generator and its clones share one plan and count its users.
 */
#ifndef BLIS_WORKLOAD_GENERATOR_PLAN_H
#define BLIS_WORKLOAD_GENERATOR_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/intern.h"
#include "workload/arrival.h"
#include "workload/distribution.h"
#include "workload/request.h"
#include "workload/workload_spec.h"

/* What of a client never changes. */
typedef struct blis__client_plan {
  blis_arrival arrival;
  blis_distribution input;
  blis_distribution output;
  blis_segment prefix;  /* its length is 0 without a group */
  uint64_t prefix_draw; /* how many draws come before those of the prefix */
  int64_t timeout_us;
  uint32_t id;
  uint32_t tenant;
  uint32_t slo_class;
  uint32_t model;
  uint32_t prefix_group;
} blis__client_plan;

/* Shared by a generator and its clones. */
typedef struct blis__plan {
  blis_alloc alloc;
  size_t users;
  blis_intern *strings;
  blis__client_plan *clients;
  uint32_t client_count;
  int64_t seed;
  uint64_t prefix_draws; /* of all prefixes together */
  int64_t num_requests;  /* INT64_MAX = unlimited */
  int64_t horizon_us;
  bool is_lazy;
  bool has_horizon;
} blis__plan;

/*
 * Checks a specification and copies what is needed of it. The plan has one
 * user, the caller.
 */
BLIS_MUSTUSE blis_status blis__plan_new(const blis_alloc *alloc,
                                        const blis_workload_spec *spec,
                                        blis__plan **plan, blis_error *error);

/* One user more; one user less, the last of whom frees the plan. */
void blis__plan_ref(blis__plan *plan);
void blis__plan_unref(blis__plan *plan);

#endif
