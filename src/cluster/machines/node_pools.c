#include "cluster/machines/node_pools.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/clock.h"
#include "cluster/feature.h"
#include "cluster/instances/placement.h"
#include "cluster/instances/start.h"
#include "cluster/machines/machines.h"
#include "cluster/service.h"
#include "cluster/units.h"

enum { NODES_MAX = 100000, GPUS_MAX = 4096 };

typedef struct node {
  struct blis__node_pools *owner;
  uint32_t pool;
  uint32_t used;
  bool is_ready;
} node;

struct blis__node_pools {
  blis_node_pool *pools; /* in the arena */
  uint32_t *most_nodes;  /* one per pool; in the arena */
  size_t pool_count;
  BLIS_ARRAY(node *) nodes;    /* in the arena; initially ordered by pool */
  BLIS_ARRAY(int32_t) node_of; /* indexed by instance; -1 = none */
  BLIS_ARRAY(double) price_of; /* indexed by instance; price of its last pool, -1 = none */
  blis_random random;
  blis_node_pool_rules rules;
  bool looks_for_room; /* check for free GPUs at the end of the event */
};

static struct blis__node_pools *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_MACHINES);
}

/* Counting. */

static uint32_t gpus_of(const blis_cluster *cluster, uint32_t i) {
  int64_t tp = cluster->facts[i].tp;
  return tp < 1 ? 1 : tp > GPUS_MAX ? GPUS_MAX + 1 : (uint32_t)tp;
}

static bool is_gpu_of(const blis_cluster *cluster, uint32_t i, const blis_node_pool *pool) {
  return strcasecmp(cluster->facts[i].gpu, pool->gpu) == 0;
}

static uint32_t count_nodes(const struct blis__node_pools *n, size_t pool, bool only_ready) {
  uint32_t count = 0;
  for (size_t k = 0; k < n->nodes.count; k++) {
    const node *one = n->nodes.items[k];
    count += one->pool == pool && (one->is_ready || !only_ready);
  }
  return count;
}

/* Allocation and release. */

static int32_t *node_of(struct blis__node_pools *n, uint32_t i) {
  return i < n->node_of.count ? &n->node_of.items[i] : NULL;
}

/* Returns the price of an instance in a pool; negative = price in its facts. */
static double price_on(const blis_cluster *cluster, uint32_t i, const blis_node_pool *pool) {
  if (pool->cost_per_hour >= 0 || is_gpu_of(cluster, i, pool)) {
    return pool->cost_per_hour;
  }
  return pool->gpu_price_per_hour * gpus_of(cluster, i);
}

static blis_status remember(blis_cluster *cluster, uint32_t i, int32_t place) {
  struct blis__node_pools *n = state_of(cluster);
  while (n->node_of.count <= i) {
    BLIS_TRY(blis_array_push(&cluster->alloc, &n->node_of, -1));
  }
  while (n->price_of.count <= i) {
    BLIS_TRY(blis_array_push(&cluster->alloc, &n->price_of, -1));
  }
  n->node_of.items[i] = place;
  n->price_of.items[i] = price_on(cluster, i, &n->pools[n->nodes.items[place]->pool]);
  return BLIS_OK;
}

static void unplace(blis_cluster *cluster, uint32_t i) {
  int32_t *place = state_of(cluster) == NULL ? NULL : node_of(state_of(cluster), i);
  if (place != NULL && *place >= 0) {
    node *from = state_of(cluster)->nodes.items[*place];
    BLIS_ASSERT(from->used >= gpus_of(cluster, i));
    from->used -= gpus_of(cluster, i);
    *place = -1;
  }
}

/* Returns the first node with enough free GPUs, among the ready nodes or among the others. */
static int32_t find_room(const blis_cluster *cluster, uint32_t i, bool takes_any, bool is_ready) {
  const struct blis__node_pools *n = state_of(cluster);
  uint32_t gpus = gpus_of(cluster, i);
  for (size_t pool = 0; pool < n->pool_count; pool++) {
    if (!takes_any && !is_gpu_of(cluster, i, &n->pools[pool])) {
      continue;
    }
    for (size_t k = 0; k < n->nodes.count; k++) {
      const node *one = n->nodes.items[k];
      if (one->pool == pool && one->is_ready == is_ready &&
          one->used + gpus <= n->pools[pool].gpus_per_node) {
        return (int32_t)k;
      }
    }
  }
  return -1;
}

static blis_status take(blis_cluster *cluster, uint32_t i, int32_t place) {
  unplace(cluster, i);
  BLIS_TRY(remember(cluster, i, place));
  node *to = state_of(cluster)->nodes.items[place];
  to->used += gpus_of(cluster, i);
  BLIS_ASSERT(to->used <= state_of(cluster)->pools[to->pool].gpus_per_node);
  return BLIS_OK;
}

/* Instances that wait for GPUs: they start when others are removed, or when a node is ready. */

/* Releases the GPUs of permanently failed instances. */
static void collect_failed(blis_cluster *cluster) {
  for (uint32_t i = 0; i < cluster->existing; i++) {
    if (cluster->services[i] == BLIS_SERVICE_FAILED &&
        !blis_cluster_instance_will_recover(cluster, i)) {
      unplace(cluster, i);
    }
  }
}

static blis_status look(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  state_of(cluster)->looks_for_room = false;
  if (!blis_cluster_has_requests(cluster)) {
    return BLIS_OK;
  }
  collect_failed(cluster);
  return blis__start_pending(cluster, error);
}

/* Places pending instances at the end of an event. */
static blis_status look_for_room(blis_cluster *cluster, blis_error *error) {
  if (state_of(cluster)->looks_for_room) {
    return BLIS_OK;
  }
  state_of(cluster)->looks_for_room = true;
  return blis_cluster_call_at(cluster, cluster->now_us, look, NULL, error);
}

static blis_status on_service_changed(void *ud, blis_cluster *cluster, const blis__news *news,
                                      blis_error *error) {
  (void)ud;
  blis_service service = cluster->services[news->instance];
  if (service == BLIS_SERVICE_DRAINED) {
    unplace(cluster, news->instance);
  }
  bool is_gone = service == BLIS_SERVICE_DRAINED || service == BLIS_SERVICE_FAILED;
  return is_gone ? look_for_room(cluster, error) : BLIS_OK;
}

/* Nodes. */

static blis_status add_node(blis_cluster *cluster, size_t pool, bool is_ready, int32_t *place) {
  struct blis__node_pools *n = state_of(cluster);
  node *made = blis_arena_new(&cluster->texts, sizeof *made);
  if (made == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *made = (node){.owner = n, .pool = (uint32_t)pool, .is_ready = is_ready};
  *place = (int32_t)n->nodes.count;
  BLIS_TRY(blis_array_push(&cluster->alloc, &n->nodes, made));
  if (is_ready) {
    n->most_nodes[pool]++;
  }
  return BLIS_OK;
}

static blis_status on_node_ready(void *ud, blis_cluster *cluster, blis_error *error) {
  node *one = ud;
  one->is_ready = true;
  one->owner->most_nodes[one->pool]++;
  return look_for_room(cluster, error);
}

/* Orders a node for an instance without a node. *place stays -1 if this is not possible. */
static blis_status order_node(blis_cluster *cluster, uint32_t i, int32_t *place,
                              blis_error *error) {
  struct blis__node_pools *n = state_of(cluster);
  for (size_t pool = 0; pool < n->pool_count && !n->rules.orders_none; pool++) {
    const blis_node_pool *p = &n->pools[pool];
    if (!is_gpu_of(cluster, i, p) || gpus_of(cluster, i) > p->gpus_per_node ||
        count_nodes(n, pool, false) >= p->max_nodes) {
      continue;
    }
    BLIS_TRY_MEM(add_node(cluster, pool, false, place), error);
    int64_t delay_us = blis_delay_draw(&p->provisioning, &n->random);
    int64_t ready_us = blis_time_after_us(cluster->now_us, delay_us);
    blis__note_life_due(cluster, ready_us);
    return blis_cluster_call_at(cluster, ready_us, on_node_ready, n->nodes.items[*place], error);
  }
  return BLIS_OK;
}

static blis_status place_one(blis_cluster *cluster, uint32_t i, blis__placement *placement,
                             blis_error *error) {
  struct blis__node_pools *n = state_of(cluster);
  *placement = BLIS__PLACED;
  const int32_t *held = node_of(n, i);
  if (held != NULL && *held >= 0 && n->nodes.items[*held]->is_ready) {
    return BLIS_OK;
  }
  int32_t place = find_room(cluster, i, false, true);
  if (place >= 0) {
    BLIS_TRY_MEM(take(cluster, i, place), error);
    return BLIS_OK;
  }
  *placement = BLIS__NODE_ORDERED;
  if (held != NULL && *held >= 0) {
    return BLIS_OK; /* its node is already ordered */
  }
  place = find_room(cluster, i, false, false);
  if (place < 0) {
    BLIS_TRY(order_node(cluster, i, &place, error));
  }
  if (place < 0) {
    *placement = BLIS__PENDING;
    return BLIS_OK;
  }
  BLIS_TRY_MEM(take(cluster, i, place), error);
  return BLIS_OK;
}

bool blis__has_room_like(const blis_cluster *cluster, uint32_t i) {
  if (state_of(cluster) == NULL) {
    return true;
  }
  return find_room(cluster, i, false, true) >= 0;
}

/* Construction. */

static blis_status check_pool(const blis_node_pool *pool, size_t place, blis_error *error) {
  if (pool->gpus_per_node >= 1 && pool->gpus_per_node <= GPUS_MAX &&
      pool->nodes <= pool->max_nodes && pool->max_nodes <= NODES_MAX) {
    return BLIS_OK;
  }
  return blis_fail(
      error, BLIS_ERR_INVALID,
      "node pool %zu (%s): %" PRIu32 " GPUs per node, %" PRIu32 " nodes at first and %" PRIu32
      " at most; expected 1 to %d GPUs, and no more nodes at "
      "first than at most, which is up to %d",
      place, pool->name, pool->gpus_per_node, pool->nodes, pool->max_nodes, GPUS_MAX, NODES_MAX);
}

static blis_status copy_pools(blis_cluster *cluster, const blis_node_pools_config *config,
                              blis_error *error) {
  struct blis__node_pools *n = state_of(cluster);
  n->pools = blis_arena_new(&cluster->texts, config->count * sizeof *n->pools);
  n->most_nodes = blis_arena_new(&cluster->texts, config->count * sizeof *n->most_nodes);
  BLIS_TRY_NEW(n->pools, error);
  BLIS_TRY_NEW(n->most_nodes, error);
  for (size_t p = 0; p < config->count; p++) {
    blis_node_pool *pool = &n->pools[p];
    *pool = config->pools[p];
    n->most_nodes[p] = 0;
    BLIS_TRY(check_pool(pool, p + 1, error));
    pool->name = blis_arena_text(&cluster->texts, pool->name, strlen(pool->name));
    pool->gpu = blis_arena_text(&cluster->texts, pool->gpu, strlen(pool->gpu));
    BLIS_TRY_NEW(pool->name, error);
    BLIS_TRY_NEW(pool->gpu, error);
    n->pool_count++;
    for (uint32_t k = 0; k < pool->nodes; k++) {
      int32_t place;
      BLIS_TRY_MEM(add_node(cluster, p, true, &place), error);
    }
  }
  return BLIS_OK;
}

/* Returns whether any pool can ever hold an instance like this. */
static bool can_hold(const blis_cluster *cluster, uint32_t i) {
  const struct blis__node_pools *n = state_of(cluster);
  for (size_t p = 0; p < n->pool_count; p++) {
    const blis_node_pool *pool = &n->pools[p];
    if (is_gpu_of(cluster, i, pool) && pool->max_nodes > 0 &&
        gpus_of(cluster, i) <= pool->gpus_per_node) {
      return true;
    }
  }
  return false;
}

static blis_status place_first_ones(blis_cluster *cluster, blis_error *error) {
  const struct blis__node_pools *n = state_of(cluster);
  for (uint32_t i = 0; i < cluster->existing; i++) {
    int32_t place = find_room(cluster, i, n->rules.takes_any_gpu, true);
    if (place < 0) {
      return blis_fail(
          error, BLIS_ERR_INVALID,
          "node pools: %s, with %" PRIu32 " GPUs %s, finds no room on their nodes: %" PRIu32
          " of %" PRIu32 " instances are placed",
          cluster->ids[i], gpus_of(cluster, i), cluster->facts[i].gpu, i, cluster->existing);
    }
    BLIS_TRY_MEM(take(cluster, i, place), error);
  }
  return BLIS_OK;
}

/*
 * Checks that all configured instances fit in some pool, because later instances are copies of
 * them.
 */
static blis_status check_all_fit(const blis_cluster *cluster, blis_error *error) {
  if (state_of(cluster)->rules.takes_any_gpu) {
    return BLIS_OK;
  }
  for (uint32_t i = 0; i < cluster->existing; i++) {
    if (!can_hold(cluster, i)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "node pools: none has nodes with %" PRIu32
                       " GPUs of type '%s', which %s needs",
                       gpus_of(cluster, i), cluster->facts[i].gpu, cluster->ids[i]);
    }
  }
  return BLIS_OK;
}

static const blis__placer placer = {place_one, unplace};

blis_status blis_cluster_set_node_pools(blis_cluster *cluster, const blis_node_pools_config *config,
                                        blis_error *error) {
  BLIS_ASSERT(cluster->counts.arrived == 0 && state_of(cluster) == NULL);
  struct blis__node_pools *n = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *n);
  BLIS_TRY_NEW(n, error);
  cluster->features[BLIS_FEATURE_MACHINES] = n;
  cluster->placer = &placer;
  n->rules = config->rules;
  blis_random_init_named(&n->random, config->seed, "node-provisioning");
  BLIS_TRY(copy_pools(cluster, config, error));
  BLIS_TRY(check_all_fit(cluster, error));
  BLIS_TRY(place_first_ones(cluster, error));
  const blis__listener listener = {.phase = BLIS__BOOKS,
                                   .on = {[BLIS__SERVICE_CHANGED] = on_service_changed}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

static void free_node_pools(blis_cluster *cluster) {
  struct blis__node_pools *n = state_of(cluster);
  if (n != NULL) {
    blis_array_deinit(&cluster->alloc, &n->nodes);
    blis_array_deinit(&cluster->alloc, &n->node_of);
    blis_array_deinit(&cluster->alloc, &n->price_of);
    blis_alloc_free(&cluster->alloc, n, sizeof *n);
  }
}

/* Queries. */

blis__machine blis__machine_of(const blis_cluster *cluster, uint32_t i) {
  const blis_instance_facts *facts = &cluster->facts[i];
  blis__machine machine = {facts->gpu, (double)facts->tp, facts->cost_per_hour};
  struct blis__node_pools *n = state_of(cluster);
  const int32_t *held = n == NULL ? NULL : node_of(n, i);
  if (held == NULL || *held < 0) {
    return machine;
  }
  const blis_node_pool *own = &n->pools[n->nodes.items[*held]->pool];
  machine.gpu = own->gpu;
  if (!n->rules.has_first_price) {
    machine.cost_per_hour = own->cost_per_hour >= 0 ? own->cost_per_hour : machine.cost_per_hour;
    return machine;
  }
  for (size_t p = n->pool_count; p-- > 0;) {
    if (strcmp(n->pools[p].gpu, machine.gpu) == 0 && n->pools[p].cost_per_hour >= 0) {
      machine.cost_per_hour = n->pools[p].cost_per_hour;
    }
  }
  return machine;
}

double blis_cluster_node_price_per_hour(const blis_cluster *cluster, uint32_t i) {
  const struct blis__node_pools *n = state_of(cluster);
  return n != NULL && i < n->price_of.count ? n->price_of.items[i] : -1;
}

bool blis__has_machines(const blis_cluster *cluster) {
  return state_of(cluster) != NULL;
}

size_t blis_cluster_node_pool_count(const blis_cluster *cluster) {
  return state_of(cluster) == NULL ? 0 : state_of(cluster)->pool_count;
}

blis_node_pool_use blis_cluster_node_pool_use(const blis_cluster *cluster, size_t pool) {
  const struct blis__node_pools *n = state_of(cluster);
  blis_node_pool_use use = {.name = n->pools[pool].name,
                            .gpu = n->pools[pool].gpu,
                            .nodes = count_nodes(n, pool, true),
                            .most_nodes = n->most_nodes[pool]};
  use.gpus = use.nodes * n->pools[pool].gpus_per_node;
  for (size_t k = 0; k < n->nodes.count; k++) {
    const node *one = n->nodes.items[k];
    use.used += one->pool == pool && one->is_ready ? one->used : 0;
  }
  return use;
}

const blis__feature blis__machines_feature = {
    .slot = BLIS_FEATURE_MACHINES,
    .name = "machines",
    .free = free_node_pools,
};
