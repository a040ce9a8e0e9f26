#include "cluster/costs/billing.h"

#include <inttypes.h>
#include <string.h>

#include "base/minmax.h"
#include "cluster/costs/prices.h"
#include "cluster/feature.h"
#include "cluster/instances/life_cycle.h"
#include "cluster/listeners.h"
#include "cluster/state.h"

typedef struct rule {
  struct rule *next;
  uint32_t group;
  blis_billing billing;
} rule;

/* The last billing period of an instance, which can be open, and the total of earlier periods. */
typedef struct stay {
  bool is_paid; /* the period is open */
  int64_t from_us;
  int64_t until_us;
  blis_rounding before;
} stay;

/* Allocated in the cluster's arena. */
struct blis__billing {
  rule *rules;
  stay *stays; /* of all instances, including future ones */
};

static struct blis__billing *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_BILLING);
}

int64_t blis_billed_us(const blis_billing *billing, int64_t paid_us) {
  if (paid_us <= 0) {
    return 0;
  }
  int64_t unit_us = blis_max_i64(billing->granularity_us, 1);
  int64_t units = (paid_us + unit_us - 1) / unit_us;
  return blis_max_i64(units * unit_us, billing->minimum_us);
}

static const rule *rule_of(const struct blis__billing *billing, uint32_t group) {
  const rule *r = billing->rules;
  while (r != NULL && r->group != group) {
    r = r->next;
  }
  return r;
}

/* Returns the rounding up to until_us, including the current period. The added time has the price
   at the last instant before the end, so a price that begins at the removal does not apply. */
static blis_rounding rounded(const blis_cluster *cluster, uint32_t i, int64_t until_us) {
  const stay *s = &state_of(cluster)->stays[i];
  blis_billing billing =
      blis_cluster_billing(cluster, blis_cluster_instance_facts(cluster, i)->group);
  int64_t paid_us = until_us - s->from_us;
  int64_t more_us = blis_billed_us(&billing, paid_us) - blis_max_i64(paid_us, 0);
  double price =
      blis_cluster_gpu_price_per_hour(cluster, i, blis_max_i64(until_us - 1, s->from_us));
  return (blis_rounding){s->before.us + more_us,
                         s->before.gpu_usd + (price > 0 ? price * ((double)more_us / 3.6e9) : 0)};
}

/* If an instance fails and will recover, its billing stops and resumes at the same time. */
static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  (void)error;
  struct blis__billing *billing = ud;
  stay *s = &billing->stays[news->instance];
  bool is_paid = blis_cluster_instance_is_paid(cluster, news->instance);
  if (is_paid && !s->is_paid && s->until_us != cluster->now_us) {
    s->before = rounded(cluster, news->instance, s->until_us);
    s->from_us = cluster->now_us;
  } else if (!is_paid && s->is_paid) {
    s->until_us = cluster->now_us;
  }
  s->is_paid = is_paid;
  return BLIS_OK;
}

static blis_status make(blis_cluster *cluster, blis_error *error) {
  if (state_of(cluster) != NULL) {
    return BLIS_OK;
  }
  uint32_t count = cluster->config.instance_count; /* includes future instances */
  struct blis__billing *billing = blis_arena_new(&cluster->texts, sizeof *billing);
  BLIS_TRY_NEW(billing, error);
  *billing = (struct blis__billing){.stays = blis_arena_new(&cluster->texts, count * sizeof(stay))};
  BLIS_TRY_NEW(billing->stays, error);
  memset(billing->stays, 0, count * sizeof(stay));
  for (uint32_t i = 0; i < count; i++) {
    billing->stays[i].is_paid = blis_cluster_instance_is_paid(cluster, i);
    billing->stays[i].from_us = billing->stays[i].until_us = cluster->now_us;
  }
  const blis__listener listener = {
      .ud = billing, .phase = BLIS__BOOKS, .on = {[BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  cluster->features[BLIS_FEATURE_BILLING] = billing;
  return BLIS_OK;
}

blis_status blis_cluster_set_billing(blis_cluster *cluster, uint32_t group,
                                     const blis_billing *given, blis_error *error) {
  if (given->granularity_us < 0 || given->minimum_us < 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "billing: invalid value %" PRId64 " us: expected at "
                     "least 0",
                     blis_min_i64(given->granularity_us, given->minimum_us));
  }
  BLIS_TRY(make(cluster, error));
  if (rule_of(state_of(cluster), group) != NULL) {
    return blis_fail(error, BLIS_ERR_INVALID, "billing: group %" PRIu32 " has rules already",
                     group);
  }
  rule *made = blis_arena_new(&cluster->texts, sizeof *made);
  BLIS_TRY_NEW(made, error);
  *made = (rule){state_of(cluster)->rules, group, *given};
  state_of(cluster)->rules = made;
  return BLIS_OK;
}

blis_billing blis_cluster_billing(const blis_cluster *cluster, uint32_t group) {
  const rule *r = state_of(cluster) == NULL ? NULL : rule_of(state_of(cluster), group);
  return r == NULL ? (blis_billing){0} : r->billing;
}

bool blis_cluster_has_billing(const blis_cluster *cluster) {
  return state_of(cluster) != NULL;
}

blis_rounding blis_cluster_instance_rounding(const blis_cluster *cluster, uint32_t index,
                                             int64_t until_us) {
  if (state_of(cluster) == NULL) {
    return (blis_rounding){0};
  }
  const stay *s = &state_of(cluster)->stays[index];
  return rounded(cluster, index, s->is_paid ? until_us : s->until_us);
}

const blis__feature blis__billing_feature = {
    .slot = BLIS_FEATURE_BILLING,
    .name = "billing",
};
