#include "cluster/tenant_budgets.h"

#include <string.h>

#include "cluster/cluster.h"

static blis_status add_budget(blis__tenant_budgets *budgets,
                              const blis_tenant_budget *item, double capacity,
                              blis_error *error) {
  uint32_t number = 0;
  if (item->tenant == NULL || item->tenant[0] == '\0') {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a tenant budget without the name of a tenant");
  }
  if (!(item->share >= 0 && item->share <= 1)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the budget of tenant %s is %g, expected 0 to 1",
                     item->tenant, item->share);
  }
  BLIS_TRY_MEM(blis_intern_add(budgets->tenants, item->tenant,
                               strlen(item->tenant), &number),
               error);
  if (number < budgets->limits.count) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "tenant %s has more than one budget", item->tenant);
  }
  if (blis_array_push(&budgets->alloc, &budgets->limits,
                      item->share * (capacity < 1 ? 1 : capacity)) != BLIS_OK ||
      blis_array_push(&budgets->alloc, &budgets->in_flight, 0) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

blis_status blis__tenant_budgets_init(blis__tenant_budgets *budgets,
                                      const blis_alloc *alloc,
                                      const blis_tenant_budget *items,
                                      size_t count, double capacity,
                                      blis_error *error) {
  *budgets = (blis__tenant_budgets){.alloc = *alloc};
  if (count == 0) {
    return BLIS_OK;
  }
  budgets->tenants = blis_intern_new(alloc);
  /* Number 0, the empty text, is the tenant of requests that name none. */
  BLIS_TRY_NEW(budgets->tenants, error);
  BLIS_TRY_MEM(blis_array_push(alloc, &budgets->limits, 0), error);
  BLIS_TRY_MEM(blis_array_push(alloc, &budgets->in_flight, 0), error);
  for (size_t i = 0; i < count; i++) {
    BLIS_TRY(add_budget(budgets, &items[i], capacity, error));
  }
  return BLIS_OK;
}

void blis__tenant_budgets_deinit(blis__tenant_budgets *budgets) {
  blis_intern_free(budgets->tenants);
  blis_array_deinit(&budgets->alloc, &budgets->limits);
  blis_array_deinit(&budgets->alloc, &budgets->in_flight);
  blis_array_deinit(&budgets->alloc, &budgets->budget_of);
  *budgets = (blis__tenant_budgets){.tenants = NULL};
}

/* *budget = 0 for a tenant without one. */
static blis_status find(blis__tenant_budgets *budgets,
                        const blis_intern *strings, uint32_t tenant,
                        uint32_t *budget) {
  size_t needed = (size_t)tenant + 1;
  BLIS_TRY(blis_array_reserve(&budgets->alloc, &budgets->budget_of, needed));
  while (budgets->budget_of.count < needed) {
    budgets->budget_of.items[budgets->budget_of.count++] = 0;
  }
  uint32_t *known = &budgets->budget_of.items[tenant];
  if (*known == 0) {
    uint32_t found =
        blis_intern_find(budgets->tenants, blis_intern_text(strings, tenant),
                         blis_intern_length(strings, tenant));
    *known = (found == BLIS_INTERN_NONE ? 0 : found) + 1;
  }
  *budget = *known - 1;
  return BLIS_OK;
}

blis_status blis__tenant_budgets_is_over(blis__tenant_budgets *budgets,
                                         const blis_intern *strings,
                                         uint32_t tenant, bool *is_over) {
  uint32_t budget = 0;
  *is_over = false;
  if (budgets->tenants == NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(find(budgets, strings, tenant, &budget));
  *is_over = budget != 0 && (double)budgets->in_flight.items[budget] >
                                budgets->limits.items[budget];
  return BLIS_OK;
}

blis_status blis__tenant_budgets_add(blis__tenant_budgets *budgets,
                                     const blis_intern *strings,
                                     uint32_t tenant) {
  uint32_t budget = 0;
  if (budgets->tenants == NULL) {
    return BLIS_OK;
  }
  BLIS_TRY(find(budgets, strings, tenant, &budget));
  budgets->in_flight.items[budget]++;
  return BLIS_OK;
}

void blis__tenant_budgets_remove(blis__tenant_budgets *budgets,
                                 uint32_t tenant) {
  if (budgets->tenants != NULL) {
    budgets->in_flight.items[budgets->budget_of.items[tenant] - 1]--;
  }
}
