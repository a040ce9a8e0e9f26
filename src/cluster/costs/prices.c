#include "cluster/costs/prices.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cluster/feature.h"
#include "cluster/instances/life_cycle.h"
#include "cluster/listeners.h"
#include "cluster/state.h"

static const double us_per_hour = 3.6e9;

typedef struct step {
  int64_t from_us;
  double per_hour;
  double usd; /* cost from time 0 to from_us */
} step;

typedef struct price_list {
  struct price_list *next;
  uint32_t group;
  size_t count;
  step *steps;
} price_list;

typedef struct bill {
  const price_list *list; /* NULL = none */
  int64_t since_us;       /* start of the billed time that is not in usd yet */
  double usd;
  bool is_paid; /* it has been billed since the last change */
} bill;

/* Allocated in the cluster's arena. */
struct blis__prices {
  price_list *lists;
  bill *bills; /* of all instances */
};

static struct blis__prices *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_PRICES);
}

static const step *step_at(const price_list *list, int64_t time_us) {
  size_t low = 0;
  size_t high = list->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (list->steps[middle].from_us <= time_us) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return &list->steps[low];
}

/* Returns the cost from time 0 to time_us. */
static double usd_until(const price_list *list, int64_t time_us) {
  const step *at = step_at(list, time_us);
  return at->usd + at->per_hour * ((double)(time_us - at->from_us) / us_per_hour);
}

static double usd_of(const bill *b, int64_t until_us) {
  bool adds = b->is_paid && until_us > b->since_us;
  return b->usd + (adds ? usd_until(b->list, until_us) - usd_until(b->list, b->since_us) : 0);
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  (void)error;
  struct blis__prices *prices = ud;
  bill *b = &prices->bills[news->instance];
  if (b->list != NULL) {
    b->usd = usd_of(b, cluster->now_us);
    b->since_us = cluster->now_us;
    b->is_paid = blis_cluster_instance_is_paid(cluster, news->instance);
  }
  return BLIS_OK;
}

static blis_status check(const blis_price_step *steps, size_t count, blis_error *error) {
  if (count == 0 || steps[0].from_us != 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "prices: the first step must be at 0 us");
  }
  for (size_t i = 0; i < count; i++) {
    if (!(steps[i].per_hour >= 0) || isinf(steps[i].per_hour)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "prices: invalid value %g: expected a finite number of "
                       "at least 0",
                       steps[i].per_hour);
    }
    if (i > 0 && steps[i].from_us <= steps[i - 1].from_us) {
      return blis_fail(error, BLIS_ERR_INVALID, "prices: steps must be in order of time");
    }
  }
  return BLIS_OK;
}

static blis_status make(blis_cluster *cluster, blis_error *error) {
  if (state_of(cluster) != NULL) {
    return BLIS_OK;
  }
  uint32_t count = blis_cluster_instance_count(cluster);
  struct blis__prices *prices = blis_arena_new(&cluster->texts, sizeof *prices);
  BLIS_TRY_NEW(prices, error);
  *prices = (struct blis__prices){.bills = blis_arena_new(&cluster->texts, count * sizeof(bill))};
  BLIS_TRY_NEW(prices->bills, error);
  memset(prices->bills, 0, count * sizeof(bill));
  const blis__listener listener = {
      .ud = prices, .phase = BLIS__BOOKS, .on = {[BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  cluster->features[BLIS_FEATURE_PRICES] = prices;
  return BLIS_OK;
}

static price_list *new_list(blis_cluster *cluster, uint32_t group, const blis_price_step *steps,
                            size_t count) {
  price_list *list = blis_arena_new(&cluster->texts, sizeof *list);
  step *copies = blis_arena_new(&cluster->texts, count * sizeof *copies);
  if (list == NULL || copies == NULL) {
    return NULL;
  }
  double usd = 0;
  for (size_t i = 0; i < count; i++) {
    if (i > 0) {
      usd +=
          steps[i - 1].per_hour * ((double)(steps[i].from_us - steps[i - 1].from_us) / us_per_hour);
    }
    copies[i] = (step){steps[i].from_us, steps[i].per_hour, usd};
  }
  *list = (price_list){state_of(cluster)->lists, group, count, copies};
  return list;
}

static bool has_list(const struct blis__prices *prices, uint32_t group) {
  for (const price_list *l = prices->lists; l != NULL; l = l->next) {
    if (l->group == group) {
      return true;
    }
  }
  return false;
}

blis_status blis_cluster_set_prices(blis_cluster *cluster, uint32_t group,
                                    const blis_price_step *steps, size_t count, blis_error *error) {
  BLIS_TRY(check(steps, count, error));
  BLIS_TRY(make(cluster, error));
  struct blis__prices *prices = state_of(cluster);
  if (has_list(prices, group)) {
    return blis_fail(error, BLIS_ERR_INVALID, "prices: group %" PRIu32 " has prices already",
                     group);
  }
  price_list *list = new_list(cluster, group, steps, count);
  BLIS_TRY_NEW(list, error);
  prices->lists = list;
  for (uint32_t i = 0; i < blis_cluster_instance_count(cluster); i++) {
    if (blis_cluster_instance_facts(cluster, i)->group == group) {
      prices->bills[i] = (bill){.list = list,
                                .since_us = cluster->now_us,
                                .is_paid = blis_cluster_instance_is_paid(cluster, i)};
    }
  }
  return BLIS_OK;
}

bool blis_cluster_has_prices(const blis_cluster *cluster) {
  return state_of(cluster) != NULL;
}

double blis_cluster_instance_usd(const blis_cluster *cluster, uint32_t index, int64_t until_us) {
  const struct blis__prices *prices = state_of(cluster);
  bool is_billed = prices != NULL && prices->bills[index].list != NULL;
  return is_billed ? usd_of(&prices->bills[index], until_us) : -1;
}

double blis_cluster_gpu_price_per_hour(const blis_cluster *cluster, uint32_t index,
                                       int64_t time_us) {
  const struct blis__prices *prices = state_of(cluster);
  bool is_billed = prices != NULL && prices->bills[index].list != NULL;
  return is_billed ? step_at(prices->bills[index].list, time_us)->per_hour : -1;
}

const blis__feature blis__prices_feature = {
    .slot = BLIS_FEATURE_PRICES,
    .name = "prices",
};
