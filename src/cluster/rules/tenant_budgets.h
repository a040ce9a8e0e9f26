/*
 * tenant_budgets.h - how much of a cluster each tenant may fill with sheddable requests.
 *
 * A sheddable request (value of its class below 0) of a tenant with more requests routed and not
 * ended than its share is rejected before the admission policy is called, with the reason
 * tenant-budget-shed (BLIS, Go).
 */
#ifndef BLIS_CLUSTER_RULES_TENANT_BUDGETS_H
#define BLIS_CLUSTER_RULES_TENANT_BUDGETS_H

#include <stddef.h>

typedef struct blis_tenant_budget {
  const char *tenant;
  double share; /* of the requests that all instances can run at once, 0 to 1 */
} blis_tenant_budget;

/* config.options[BLIS_FEATURE_TENANTS] of a cluster, which copies the items. */
typedef struct blis_tenant_budgets {
  const blis_tenant_budget *items;
  size_t count;
} blis_tenant_budgets;

#endif
