/*
 * tenant_budgets.h - how many requests of each tenant with a budget are at the
 * instances, against its share of what they can run at once (BLIS, Go,
 * inference-sim f90a1e3a). O(1) once a tenant has been seen; nothing at all
 * without budgets.
 */
#ifndef BLIS_CLUSTER_TENANT_BUDGETS_H
#define BLIS_CLUSTER_TENANT_BUDGETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "base/intern.h"

struct blis_tenant_budget;

typedef struct blis__tenant_budgets {
  blis_alloc alloc;
  blis_intern *tenants; /* with a budget, from 1; NULL without budgets */
  BLIS_ARRAY(double) limits;
  BLIS_ARRAY(int64_t) in_flight;
  BLIS_ARRAY(uint32_t) budget_of; /* + 1, by the workload's tenant; 0 = ? */
} blis__tenant_budgets;

/*
 * capacity is what all instances can run at once. BLIS_ERR_INVALID names the
 * tenant and what is allowed. Deinit in any case.
 */
BLIS_MUSTUSE blis_status blis__tenant_budgets_init(
    blis__tenant_budgets *budgets, const blis_alloc *alloc,
    const struct blis_tenant_budget *items, size_t count, double capacity,
    blis_error *error);
void blis__tenant_budgets_deinit(blis__tenant_budgets *budgets);

/* Whether a tenant, a number in strings, is over its budget. */
BLIS_MUSTUSE blis_status blis__tenant_budgets_is_over(
    blis__tenant_budgets *budgets, const blis_intern *strings, uint32_t tenant,
    bool *is_over);

/* A request of the tenant is routed to an instance; it has left it. */
BLIS_MUSTUSE blis_status blis__tenant_budgets_add(blis__tenant_budgets *budgets,
                                                  const blis_intern *strings,
                                                  uint32_t tenant);
void blis__tenant_budgets_remove(blis__tenant_budgets *budgets,
                                 uint32_t tenant);

#endif
