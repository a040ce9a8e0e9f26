#include "lua/simulation/paid.h"

#include <string.h>

#include "base/invariant.h"
#include "cluster/costs/billing.h"
#include "cluster/costs/prices.h"
#include "cluster/instances/life_cycle.h"
#include "cluster/machines/node_pools.h"
#include "lua/bind/bind.h"

/* Times and prices of a group; all members except `us` are rounded as billed. */
typedef struct paid {
  int64_t us;
  int64_t billed_us;
  int64_t node_us;
  double node_usd;
  int64_t listed_us;
  double listed_gpu_usd;
} paid;

static void add(paid *group, const blis_cluster *cluster, uint32_t i, int64_t end_us) {
  int64_t paid_us = blis_cluster_instance_paid_us(cluster, i, end_us);
  blis_rounding more = blis_cluster_instance_rounding(cluster, i, end_us);
  int64_t billed_us = paid_us + more.us;
  double listed_usd = blis_cluster_instance_usd(cluster, i, end_us);
  double node_price = blis_cluster_node_price_per_hour(cluster, i);
  group->us += paid_us;
  group->billed_us += billed_us;
  if (listed_usd >= 0) {
    group->listed_us += billed_us;
    group->listed_gpu_usd += listed_usd + more.gpu_usd;
  } else if (node_price >= 0) {
    group->node_us += billed_us;
    group->node_usd += node_price * ((double)billed_us / 3.6e9);
  }
}

/* all_us is the time of an instance that exists for the whole run. */
static void push_group(lua_State *L, const paid *group, int64_t all_us) {
  lua_createtable(L, 0, 7);
  set_field_number(L, "seconds", (double)group->us / 1e6);
  set_field_number(L, "billed_seconds", (double)group->billed_us / 1e6);
  set_field_number(L, "whole_seconds", (double)all_us / 1e6);
  set_field_number(L, "node_seconds", (double)group->node_us / 1e6);
  set_field_number(L, "node_usd", group->node_usd);
  set_field_number(L, "listed_seconds", (double)group->listed_us / 1e6);
  set_field_number(L, "listed_gpu_usd", group->listed_gpu_usd);
}

void set_paid(lua_State *L, const bind_simulation *sim, int64_t end_us, bool always) {
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
  if (always || blis_cluster_node_pool_count(cluster) > 0 || blis_cluster_has_prices(cluster) ||
      blis_cluster_has_billing(cluster) || all_us != (int64_t)count * end_us) {
    lua_createtable(L, (int)group_count, 0);
    for (uint32_t g = 0; g < group_count; g++) {
      blis_billing billing = blis_cluster_billing(cluster, g);
      push_group(L, &groups[g], blis_billed_us(&billing, end_us));
      lua_rawseti(L, -2, (lua_Integer)g + 1);
    }
    lua_setfield(L, -3, "paid");
  }
  lua_pop(L, 1);
}

/* Reads the steps of the list on top of the stack. */
static void set_list(lua_State *L, const bind_simulation *sim) {
  int list = lua_gettop(L);
  size_t count = lua_rawlen(L, list);
  blis_price_step *steps = push_buffer(L, count, sizeof *steps);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    int step = lua_gettop(L);
    steps[i] = (blis_price_step){check_field_integer(L, step, "from_us"),
                                 check_field_number(L, step, "per_hour")};
    lua_pop(L, 1);
  }
  blis_error error = {0};
  uint32_t group = (uint32_t)check_field_integer(L, list, "group");
  check_status(L, blis_cluster_set_prices(sim->cluster, group, steps, count, &error), &error);
}

void check_set_prices(lua_State *L, int config, const bind_simulation *sim) {
  int top = lua_gettop(L);
  if (lua_getfield(L, config, "prices") == LUA_TNIL) {
    lua_settop(L, top);
    return;
  }
  size_t count = lua_rawlen(L, top + 1);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, top + 1, (lua_Integer)i + 1);
    set_list(L, sim);
    lua_settop(L, top + 1);
  }
  lua_settop(L, top);
}

void check_set_billing(lua_State *L, int config, const bind_simulation *sim) {
  int top = lua_gettop(L);
  lua_getfield(L, config, "cluster");
  if (lua_getfield(L, -1, "billing") == LUA_TNIL) {
    lua_settop(L, top);
    return;
  }
  int rules = lua_gettop(L);
  size_t count = lua_rawlen(L, rules);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, rules, (lua_Integer)i + 1);
    int rule = lua_gettop(L);
    const blis_billing billing = {.granularity_us = check_field_integer(L, rule, "granularity_us"),
                                  .minimum_us = check_field_integer(L, rule, "minimum_us")};
    blis_error error = {0};
    check_status(L,
                 blis_cluster_set_billing(sim->cluster,
                                          (uint32_t)check_field_integer(L, rule, "group"), &billing,
                                          &error),
                 &error);
    lua_settop(L, rules);
  }
  lua_settop(L, top);
}
