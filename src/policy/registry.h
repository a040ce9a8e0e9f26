/*
 * registry.h - built-in filters, scorers, pickers and routing policies by name.
 */
#ifndef BLIS_POLICY_REGISTRY_H
#define BLIS_POLICY_REGISTRY_H

#include "policy/contract/policy.h"

/*
 * For each kind (filter, scorer, picker, router):
 *
 * blis_<kind>_entry_count, blis_<kind>_entry_at: the entries in the order of
 * the catalogue; static storage.
 *
 * blis_<kind>_entry_find: by name or alias. NULL when there is none, with
 * BLIS_ERR_INVALID in *error that names the nearest one or all.
 *
 * blis_<kind>_create: finds the entry, checks the parameters (params NULL =
 * all defaults) and creates. The caller owns the result.
 */
#define BLIS__REGISTRY_OF(kind)                                                \
  size_t blis_##kind##_entry_count(void);                                      \
  const blis_##kind##_entry *blis_##kind##_entry_at(size_t index);             \
  const blis_##kind##_entry *blis_##kind##_entry_find(const char *name,        \
                                                      blis_error *error);      \
  BLIS_MUSTUSE blis_status blis_##kind##_create(                               \
      const blis_alloc *alloc, const char *name, const blis_params *params,    \
      const blis_policy_context *context, blis_##kind *kind,                   \
      blis_error *error);

BLIS__REGISTRY_OF(filter)
BLIS__REGISTRY_OF(scorer)
BLIS__REGISTRY_OF(picker)
BLIS__REGISTRY_OF(router)

/*
 * Gives some parameters of a built-in router new values between two decisions.
 * BLIS_ERR_INVALID names a parameter that is unknown, out of range or fixed
 * for the run, and leaves the router unchanged.
 */
BLIS_MUSTUSE blis_status blis_router_change(const blis_router *router,
                                            const blis_params *params,
                                            blis_error *error);

#endif
