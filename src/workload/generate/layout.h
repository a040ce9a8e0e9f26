/*
 * layout.h - generates all requests of a workload that cannot be drawn one by
 * one, and prepares its closed-loop sessions; for generator files only.
 */
#ifndef BLIS_WORKLOAD_GENERATE_LAYOUT_H
#define BLIS_WORKLOAD_GENERATE_LAYOUT_H

#include "workload/generate/plan.h"

/*
 * Fills the layout of a plan with has_layout. BLIS_ERR_INVALID when a length is
 * above BLIS_WORKLOAD_MAX_TOKENS.
 */
BLIS_MUSTUSE blis_status blis__plan_lay_out(blis__plan *plan, blis_error *error);

#endif
