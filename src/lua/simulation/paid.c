#include "lua/simulation/paid.h"

#include <string.h>

#include "base/invariant.h"
#include "cluster/life_cycle.h"
#include "cluster/node_pools.h"
#include "lua/bind/bind.h"

/* Of a group. */
typedef struct paid {
  int64_t us;
  int64_t node_us;
  double node_usd;
} paid;

static void add(paid *group, const blis_cluster *cluster, uint32_t i,
                int64_t end_us) {
  int64_t paid_us = blis_cluster_instance_paid_us(cluster, i, end_us);
  double price = blis_cluster_node_price_per_hour(cluster, i);
  group->us += paid_us;
  if (price >= 0) {
    group->node_us += paid_us;
    group->node_usd += price * ((double)paid_us / 3.6e9);
  }
}

static void push_group(lua_State *L, const paid *group) {
  lua_createtable(L, 0, 3);
  set_field_number(L, "seconds", (double)group->us / 1e6);
  set_field_number(L, "node_seconds", (double)group->node_us / 1e6);
  set_field_number(L, "node_usd", group->node_usd);
}

void set_paid(lua_State *L, const bind_simulation *sim, int64_t end_us,
              bool always) {
  const blis_cluster *cluster = sim->cluster;
  uint32_t group_count = sim->groups.other_count + 1;
  uint32_t count = blis_cluster_instance_count(cluster);
  int64_t all_us = 0;
  paid *groups = push_buffer(L, group_count, sizeof *groups);
  memset(groups, 0, group_count * sizeof *groups);
  for (uint32_t i = 0; i < count; i++) {
    uint32_t group = blis_cluster_instance_facts(cluster, i)->group;
    BLIS_ASSERT(group < group_count);
    add(&groups[group], cluster, i, end_us);
    all_us += blis_cluster_instance_paid_us(cluster, i, end_us);
  }
  if (always || blis_cluster_node_pool_count(cluster) > 0 ||
      all_us != (int64_t)count * end_us) {
    lua_createtable(L, (int)group_count, 0);
    for (uint32_t g = 0; g < group_count; g++) {
      push_group(L, &groups[g]);
      lua_rawseti(L, -2, (lua_Integer)g + 1);
    }
    lua_setfield(L, -3, "paid");
  }
  lua_pop(L, 1);
}
