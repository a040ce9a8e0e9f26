/*
 * registry.h - built-in scorers and routing policies by name.
 */
#ifndef BLIS_ROUTING_REGISTRY_H
#define BLIS_ROUTING_REGISTRY_H

#include "routing/policy.h"

/* In the order of the catalogue; static storage. */
size_t blis_scorer_entry_count(void);
const blis_scorer_entry *blis_scorer_entry_at(size_t index);
size_t blis_router_entry_count(void);
const blis_router_entry *blis_router_entry_at(size_t index);

/*
 * By name or alias. NULL when there is none, with BLIS_ERR_INVALID in *error
 * that names the nearest one or all.
 */
const blis_scorer_entry *blis_scorer_entry_find(const char *name,
                                                blis_error *error);
const blis_router_entry *blis_router_entry_find(const char *name,
                                                blis_error *error);

/*
 * Finds the entry, checks the parameters (params NULL = all defaults) and
 * creates. The caller owns the result.
 */
BLIS_MUSTUSE blis_status blis_scorer_create(
    const blis_alloc *alloc, const char *name, const blis_params *params,
    const blis_policy_context *context, blis_scorer *scorer, blis_error *error);
BLIS_MUSTUSE blis_status blis_router_create(
    const blis_alloc *alloc, const char *name, const blis_params *params,
    const blis_policy_context *context, blis_router *router, blis_error *error);

/*
 * Gives some parameters of a built-in router new values between two decisions.
 * BLIS_ERR_INVALID names a parameter that is unknown, out of range or fixed
 * for the run, and leaves the router unchanged.
 */
BLIS_MUSTUSE blis_status blis_router_change(const blis_router *router,
                                            const blis_params *params,
                                            blis_error *error);

#endif
