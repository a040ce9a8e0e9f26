/*
 * windows.h - the active times and rates of the clients of a plan; for
 * generator files only.
 */
#ifndef BLIS_WORKLOAD_GENERATE_WINDOWS_H
#define BLIS_WORKLOAD_GENERATE_WINDOWS_H

#include "workload/generate/plan.h"

/* Plans the windows of a client, or those that a cohort's shape defines. */
BLIS_MUSTUSE blis_status blis__plan_windows(blis__plan *plan, const blis_workload_spec *spec,
                                            uint32_t kind, blis_error *error);

/* Computes the rates of all kinds and their windows. Errors: BLIS_ERR_INVALID, BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__plan_rates(blis__plan *plan, const blis_workload_spec *spec,
                                          blis_error *error);

/* Returns whether a kind is active at a time. */
bool blis__kind_is_active(const blis__kind *kind, int64_t time_us);

#endif
