/*
 * registry.h - all built-in policies by kind and name.
 */
#ifndef BLIS_POLICY_REGISTRY_H
#define BLIS_POLICY_REGISTRY_H

#include "policy/admission/admission.h"
#include "policy/autoscale/autoscaler.h"
#include "policy/cascade/cascade.h"
#include "policy/contract/entry.h"
#include "policy/decider/decider.h"
#include "policy/flow/saturation.h"
#include "policy/flow/usage_limit.h"
#include "policy/pipeline/pieces.h"
#include "policy/priority/priority.h"

/* The entries of a kind in catalog order; static storage. */
size_t blis_policy_count(blis_policy_kind kind);
const blis_policy_entry *blis_policy_at(blis_policy_kind kind, size_t index);

/*
 * Finds a policy by name or alias. If the name is unknown, returns NULL and sets *error to
 * BLIS_ERR_INVALID; the message lists the nearest name or all names.
 */
const blis_policy_entry *blis_policy_find(blis_policy_kind kind, const char *name,
                                          blis_error *error);

/*
 * blis_router_create and so on; see entry.h. Declarations of filters, scorers, and
 * pickers are in policy/pipeline/pieces.h.
 */
BLIS__DECLARE_POLICY_CREATE(router)
BLIS__DECLARE_POLICY_CREATE(admission)
BLIS__DECLARE_POLICY_CREATE(priority)
BLIS__DECLARE_POLICY_CREATE(cascade)
BLIS__DECLARE_POLICY_CREATE(autoscaler)
BLIS__DECLARE_POLICY_CREATE(saturation)
BLIS__DECLARE_POLICY_CREATE(usage_limit)
BLIS__DECLARE_POLICY_CREATE(decider)

/*
 * Changes some parameters of a built-in router between two decisions. If a parameter is unknown,
 * out of range, or fixed for the run, returns BLIS_ERR_INVALID and leaves the router unchanged.
 */
BLIS_MUSTUSE blis_status blis_router_change(const blis_router *router, const blis_params *params,
                                            blis_error *error);

#endif
