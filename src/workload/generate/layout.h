/*
 * layout.h - generates all requests of a workload whose requests cannot be generated one at a time,
 * and prepares its closed-loop sessions; for generator files only.
 */
#ifndef BLIS_WORKLOAD_GENERATE_LAYOUT_H
#define BLIS_WORKLOAD_GENERATE_LAYOUT_H

#include "workload/generate/plan.h"

/*
 * Fills the layout of a plan with has_layout. Returns BLIS_ERR_INVALID if a length is above
 * BLIS_WORKLOAD_MAX_TOKENS.
 */
BLIS_MUSTUSE blis_status blis__plan_lay_out(blis__plan *plan, blis_error *error);

#endif
