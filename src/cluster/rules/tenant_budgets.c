/*
 * tenant_budgets.c - limits the requests of each tenant with a budget to its share of the capacity
 * of instances (BLIS, Go, inference-sim f90a1e3a). Capacity includes the initial instances or, with
 * an autoscaler, the instances in service. O(1) after the first request of a tenant.
 */
#include "cluster/rules/tenant_budgets.h"

#include <string.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/feature.h"

struct blis__tenant_budgets {
  blis_alloc alloc;
  blis_intern *tenants; /* tenants with a budget, from 1 */
  double capacity;      /* maximum number of concurrent requests of the instances, >= 1 */
  BLIS_ARRAY(double) shares;
  BLIS_ARRAY(int64_t) in_flight;
  BLIS_ARRAY(uint32_t) budget_of; /* indexed by tenant of the workload: budget + 1; 0 = unknown */
};

static struct blis__tenant_budgets *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_TENANTS);
}

typedef struct blis__tenant_budgets blis__tenant_budgets;

static blis_status add_budget(blis__tenant_budgets *budgets, const blis_tenant_budget *item,
                              blis_error *error) {
  uint32_t number = 0;
  if (item->tenant == NULL || item->tenant[0] == '\0') {
    return blis_fail(error, BLIS_ERR_INVALID, "a tenant budget needs the name of a tenant");
  }
  if (!(item->share >= 0 && item->share <= 1)) {
    return blis_fail(error, BLIS_ERR_INVALID, "the budget of tenant %s is %g, expected 0 to 1",
                     item->tenant, item->share);
  }
  BLIS_TRY_MEM(blis_intern_add(budgets->tenants, item->tenant, strlen(item->tenant), &number),
               error);
  if (number < budgets->shares.count) {
    return blis_fail(error, BLIS_ERR_INVALID, "tenant %s has more than one budget", item->tenant);
  }
  if (blis_array_push(&budgets->alloc, &budgets->shares, item->share) != BLIS_OK ||
      blis_array_push(&budgets->alloc, &budgets->in_flight, 0) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

/* Finds the budget of a tenant; *budget is 0 for a tenant without a budget. */
static blis_status find(blis__tenant_budgets *budgets, const blis_intern *strings, uint32_t tenant,
                        uint32_t *budget) {
  size_t needed = (size_t)tenant + 1;
  BLIS_TRY(blis_array_reserve(&budgets->alloc, &budgets->budget_of, needed));
  while (budgets->budget_of.count < needed) {
    budgets->budget_of.items[budgets->budget_of.count++] = 0;
  }
  uint32_t *known = &budgets->budget_of.items[tenant];
  if (*known == 0) {
    uint32_t found = blis_intern_find(budgets->tenants, blis_intern_text(strings, tenant),
                                      blis_intern_length(strings, tenant));
    *known = (found == BLIS_INTERN_NONE ? 0 : found) + 1;
  }
  *budget = *known - 1;
  return BLIS_OK;
}

static blis_status on_admitting(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  blis__tenant_budgets *budgets = ud;
  uint32_t budget = 0;
  if (news->request->slo_value >= 0) {
    return BLIS_OK;
  }
  BLIS_TRY_MEM(find(budgets, cluster->source->strings, news->request->request.tenant, &budget),
               error);
  if (budget != 0 && (double)budgets->in_flight.items[budget] >
                         budgets->shares.items[budget] * budgets->capacity) {
    *news->refusal = "tenant-budget-shed";
  }
  return BLIS_OK;
}

static blis_status on_joined(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  blis__tenant_budgets *budgets = ud;
  uint32_t budget = 0;
  BLIS_TRY_MEM(find(budgets, cluster->source->strings, news->request->request.tenant, &budget),
               error);
  budgets->in_flight.items[budget]++;
  return BLIS_OK;
}

static blis_status on_left(void *ud, blis_cluster *cluster, const blis__news *news,
                           blis_error *error) {
  (void)cluster, (void)error;
  blis__tenant_budgets *budgets = ud;
  uint32_t budget = budgets->budget_of.items[news->request->request.tenant] - 1;
  BLIS_ASSERT(budgets->in_flight.items[budget] > 0);
  budgets->in_flight.items[budget]--;
  return BLIS_OK;
}

static blis_status read_budgets(blis__tenant_budgets *budgets, const blis_tenant_budgets *given,
                                blis_error *error) {
  const blis_alloc *alloc = &budgets->alloc;
  budgets->tenants = blis_intern_new(alloc);
  /* ID 0, the empty string, is the tenant of requests without a tenant. */
  BLIS_TRY_NEW(budgets->tenants, error);
  BLIS_TRY_MEM(blis_array_push(alloc, &budgets->shares, 0), error);
  BLIS_TRY_MEM(blis_array_push(alloc, &budgets->in_flight, 0), error);
  for (size_t i = 0; i < given->count; i++) {
    BLIS_TRY(add_budget(budgets, &given->items[i], error));
  }
  return BLIS_OK;
}

/* Returns the capacity of all existing instances, or only of instances in service. */
static double capacity_of(const blis_cluster *cluster, bool in_service) {
  int64_t capacity = 0;
  for (uint32_t i = 0; i < cluster->existing; i++) {
    int64_t seqs = blis_instance_get_config(cluster->instances[i])->max_num_seqs;
    bool counts = !in_service || cluster->services[i] == BLIS_SERVICE_ACTIVE;
    /* The sum saturates. */
    capacity = counts ? blis_time_after_us(capacity, seqs) : capacity;
  }
  return capacity < 1 ? 1 : (double)capacity;
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  (void)news, (void)error;
  blis__tenant_budgets *budgets = ud;
  if (cluster->number_keeper != NULL) {
    budgets->capacity = capacity_of(cluster, true);
  }
  return BLIS_OK;
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  const blis_tenant_budgets *given = cluster->config.options[BLIS_FEATURE_TENANTS];
  if (given == NULL || given->count == 0) {
    return BLIS_OK;
  }
  cluster->features[BLIS_FEATURE_TENANTS] =
      blis_alloc_zeroed(&cluster->alloc, 1, sizeof *state_of(cluster));
  BLIS_TRY_NEW(state_of(cluster), error);
  state_of(cluster)->alloc = cluster->alloc;
  state_of(cluster)->capacity = capacity_of(cluster, false);
  BLIS_TRY(read_budgets(state_of(cluster), given, error));
  const blis__listener listener = {.ud = state_of(cluster),
                                   .phase = BLIS__BOOKS,
                                   .need = BLIS__NEEDS_STATE,
                                   .on = {[BLIS__ADMITTING] = on_admitting,
                                          [BLIS__JOINED] = on_joined,
                                          [BLIS__LEFT] = on_left,
                                          [BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

static void free_budgets(blis_cluster *cluster) {
  blis__tenant_budgets *budgets = state_of(cluster);
  if (budgets == NULL) {
    return;
  }
  blis_intern_free(budgets->tenants);
  blis_array_deinit(&budgets->alloc, &budgets->shares);
  blis_array_deinit(&budgets->alloc, &budgets->in_flight);
  blis_array_deinit(&budgets->alloc, &budgets->budget_of);
  blis_alloc_free(&cluster->alloc, budgets, sizeof *budgets);
}

const blis__feature blis__tenants_feature = {
    .slot = BLIS_FEATURE_TENANTS,
    .name = "tenants",
    .start = start,
    .free = free_budgets,
};
