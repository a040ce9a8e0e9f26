#include "lua/engine/shares.h"

#include <lauxlib.h>

#include "cluster/rules/tenant_budgets.h"
#include "lua/bind/bind.h"

/* Pushes options[name] and returns its number of entries; 0 if it is not set. */
static size_t push_list(lua_State *L, int index, const char *name) {
  if (lua_getfield(L, index, name) == LUA_TNIL) {
    return 0;
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  return lua_rawlen(L, -1);
}

/* Pushes entry i, counted from 0, of a list on the stack. The caller pops it after use. */
static const char *push_entry(lua_State *L, int list, size_t i) {
  lua_rawgeti(L, list, (lua_Integer)i + 1);
  luaL_checktype(L, -1, LUA_TTABLE);
  return check_field_string(L, -1, "name");
}

static void push_slo_overrides(lua_State *L, int index, blis_cluster_config *config) {
  size_t count = push_list(L, index, "slo_priorities");
  int list = lua_gettop(L);
  blis_slo_override *items = push_buffer(L, count, sizeof *items);
  for (size_t i = 0; i < count; i++) {
    items[i].slo_class = push_entry(L, list, i);
    items[i].value = check_field_integer(L, -1, "value");
    lua_pop(L, 1);
  }
  config->slo_overrides = items;
  config->slo_override_count = count;
}

static void push_tenant_budgets(lua_State *L, int index, blis_cluster_config *config) {
  size_t count = push_list(L, index, "tenant_budgets");
  int list = lua_gettop(L);
  blis_tenant_budget *items = push_buffer(L, count, sizeof *items);
  for (size_t i = 0; i < count; i++) {
    items[i].tenant = push_entry(L, list, i);
    items[i].share = check_field_number(L, -1, "value");
    lua_pop(L, 1);
  }
  blis_tenant_budgets *budgets = push_buffer(L, 1, sizeof *budgets);
  *budgets = (blis_tenant_budgets){.items = items, .count = count};
  config->options[BLIS_FEATURE_TENANTS] = budgets;
}

void push_shares(lua_State *L, int index, blis_cluster_config *config) {
  push_slo_overrides(L, index, config);
  push_tenant_budgets(L, index, config);
}
