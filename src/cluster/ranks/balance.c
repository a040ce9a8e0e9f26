#include "cluster/ranks/balance.h"

#include "base/invariant.h"
#include "cluster/feature.h"
#include "cluster/stages.h"
#include "cluster/units.h"
#include "policy/memory/rank_balancer.h"

struct blis__rank_balance {
  uint32_t *fronts;               /* indexed by instance; in the arena */
  blis__rank_balancer *balancers; /* indexed by the first instance of a group */
  uint32_t *numbers;              /* 0, 1, 2, ...; in the arena */
  int64_t named;                  /* rank fixed for the next decision; -1 = none */
};

static blis__rank_balance *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_RANK_BALANCE);
}

static const blis_rank_config *config_of(const blis_cluster *cluster, uint32_t i) {
  return blis_instance_get_config(cluster->instances[i])->ranks;
}

static blis_status on_chosen(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error);
static blis_status on_unit_made(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error);

static bool balances_itself(const blis_rank_config *ranks) {
  return ranks != NULL && ranks->balances_itself && ranks->count > 1;
}

/*
 * Returns whether any group balances its ranks. *has_roles is set to whether instances have roles.
 */
static bool is_wanted(const blis_cluster *cluster, bool *has_roles) {
  const blis_cluster_config *config = &cluster->config;
  bool found = false;
  *has_roles = false;
  for (uint32_t i = 0; i < config->instance_count; i++) {
    found |= balances_itself(config->instances[i].ranks);
    *has_roles |= config->facts != NULL && config->facts[i].roles != 0;
  }
  return found;
}

static blis_status allocate(blis_cluster *cluster, blis_error *error) {
  blis__rank_balance *balance = state_of(cluster);
  uint32_t count = cluster->config.instance_count;
  balance->fronts = blis_arena_new(&cluster->texts, count * sizeof *balance->fronts);
  balance->numbers = blis_arena_new(&cluster->texts, count * sizeof *balance->numbers);
  balance->balancers = blis_alloc_zeroed(&cluster->alloc, count, sizeof *balance->balancers);
  BLIS_TRY_NEW(balance->fronts, error);
  BLIS_TRY_NEW(balance->numbers, error);
  BLIS_TRY_NEW(balance->balancers, error);
  for (uint32_t i = 0; i < count; i++) {
    balance->fronts[i] = i;
    balance->numbers[i] = i;
  }
  return BLIS_OK;
}

/* Makes these instances a self-balancing group if they are configured this way. */
static void join(const blis_cluster *cluster, uint32_t first, uint32_t count,
                 const blis_rank_config *ranks) {
  const blis__rank_balance *balance = state_of(cluster);
  if (!balances_itself(ranks)) {
    return;
  }
  blis__rank_balancer_init(&balance->balancers[first], ranks->clients, ranks->publish_us);
  for (uint32_t i = first; i < first + count; i++) {
    balance->fronts[i] = first;
  }
}

static blis_status prepare(blis_cluster *cluster, blis_error *error) {
  bool has_roles;
  if (!is_wanted(cluster, &has_roles)) {
    return BLIS_OK;
  }
  if (has_roles) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "ranks: groups that balance themselves cannot have roles "
                     "(prefill, decode, encode); let the router balance them");
  }
  cluster->features[BLIS_FEATURE_RANK_BALANCE] =
      blis_alloc_zeroed(&cluster->alloc, 1, sizeof *state_of(cluster));
  BLIS_TRY_NEW(state_of(cluster), error);
  state_of(cluster)->named = -1;
  BLIS_TRY(allocate(cluster, error));
  uint32_t size;
  for (uint32_t i = 0; i < cluster->existing; i += size) {
    size = blis__unit_size(cluster, i);
    join(cluster, i, size, cluster->config.instances[i].ranks);
  }
  cluster->fronts = state_of(cluster)->fronts;
  const blis__listener listener = {
      .ud = state_of(cluster),
      .phase = BLIS__BOOKS,
      .need = BLIS__NEEDS_STATE,
      .on = {[BLIS__CHOSEN] = on_chosen, [BLIS__UNIT_MADE] = on_unit_made}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

static void free_balance(blis_cluster *cluster) {
  blis__rank_balance *balance = state_of(cluster);
  uint32_t count = cluster->config.instance_count;
  if (balance == NULL) {
    return;
  }
  for (uint32_t i = 0; balance->balancers != NULL && i < count; i++) {
    blis__rank_balancer_deinit(&balance->balancers[i], &cluster->alloc);
  }
  blis_alloc_free(&cluster->alloc, balance->balancers, count * sizeof *balance->balancers);
  blis_alloc_free(&cluster->alloc, balance, sizeof *balance);
}

/* Called when a group was started as a copy of an existing one. */
static blis_status on_unit_made(void *ud, blis_cluster *cluster, const blis__news *news,
                                blis_error *error) {
  (void)ud, (void)error;
  uint32_t first = news->instance;
  join(cluster, first, blis__unit_size(cluster, first), config_of(cluster, first));
  return BLIS_OK;
}

void blis__name_rank(const blis_cluster *cluster, uint32_t instance) {
  if (state_of(cluster) != NULL) {
    state_of(cluster)->named = instance;
  }
}

/* Returns the load of an engine. */
static blis__rank_load load_of(const blis_cluster *cluster, uint32_t i) {
  blis_instance_load load = blis_instance_get_load(cluster->instances[i]);
  return (blis__rank_load){load.queue_depth, load.batch_size};
}

/*
 * Called after a router has chosen a group or rejected the request. Chooses the rank in the group.
 */
static blis_status on_chosen(void *ud, blis_cluster *cluster, const blis__news *news,
                             blis_error *error) {
  blis__rank_balance *balance = ud;
  blis__choice *choice = news->choice;
  int64_t named = balance->named;
  balance->named = -1;
  if (choice->decision.rejected != NULL || !balances_itself(config_of(cluster, choice->instance))) {
    return BLIS_OK;
  }
  uint32_t first = choice->instance;
  BLIS_ASSERT(balance->fronts[first] == first);
  uint32_t count = blis__unit_size(cluster, first);
  blis__rank_balancer *balancer = &balance->balancers[first];
  BLIS_TRY_MEM(blis__rank_balancer_reserve(balancer, &cluster->alloc, count), error);
  if (blis__rank_balancer_is_due(balancer, cluster->now_us)) {
    for (uint32_t r = 0; r < count; r++) {
      blis__rank_balancer_publish(balancer, r, load_of(cluster, first + r));
    }
  }
  if (named < 0) {
    choice->instance =
        first + (uint32_t)blis__rank_balancer_choose(balancer, balance->numbers, count);
    return BLIS_OK;
  }
  BLIS_ASSERT(balance->fronts[named] == first);
  blis__rank_balancer_send(balancer, (uint32_t)named - first);
  choice->instance = (uint32_t)named;
  return BLIS_OK;
}

const blis__feature blis__rank_balance_feature = {
    .slot = BLIS_FEATURE_RANK_BALANCE,
    .name = "rank balance",
    .prepare = prepare,
    .free = free_balance,
};
