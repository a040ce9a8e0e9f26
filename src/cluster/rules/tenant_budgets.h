/*
 * tenant_budgets.h - limits the share of a cluster that each tenant may use with sheddable
 * requests.
 *
 * A sheddable request (class value below 0) is rejected before the admission policy is called if
 * its tenant has more active requests (routed and not ended) than its share. The reason is
 * tenant-budget-shed (BLIS, Go).
 */
#ifndef BLIS_CLUSTER_RULES_TENANT_BUDGETS_H
#define BLIS_CLUSTER_RULES_TENANT_BUDGETS_H

#include <stddef.h>

typedef struct blis_tenant_budget {
  const char *tenant;
  double share; /* fraction of the requests that all instances can run at the same time, 0 to 1 */
} blis_tenant_budget;

/* config.options[BLIS_FEATURE_TENANTS] of a cluster, which copies the items. */
typedef struct blis_tenant_budgets {
  const blis_tenant_budget *items;
  size_t count;
} blis_tenant_budgets;

#endif
