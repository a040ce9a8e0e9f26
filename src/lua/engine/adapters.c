#include "lua/engine/adapters.h"

#include "cluster/adapters/adapters.h"
#include "lua/bind/bind.h"

/* Returns a buffer that the table at owner keeps alive. */
static void *keep_buffer(lua_State *L, int owner, size_t count, size_t size) {
  void *made = push_buffer(L, count, size);
  lua_rawseti(L, owner, (lua_Integer)lua_rawlen(L, owner) + 1);
  return made;
}

static void check_list(lua_State *L, int list, int owner, bind_adapters *adapters) {
  size_t count = lua_rawlen(L, list);
  int64_t *ranks = keep_buffer(L, owner, count, sizeof *ranks);
  int64_t *load_us = keep_buffer(L, owner, count, sizeof *load_us);
  int64_t *fetch_us = keep_buffer(L, owner, count, sizeof *fetch_us);
  const char **names = keep_buffer(L, owner, count, sizeof *names);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    int adapter = lua_gettop(L);
    names[i] = check_field_string(L, adapter, "id");
    ranks[i] = check_field_integer(L, adapter, "rank");
    load_us[i] = check_field_integer(L, adapter, "load_us");
    fetch_us[i] = check_field_integer(L, adapter, "fetch_us");
    lua_pop(L, 1);
  }
  adapters->config.count = (uint32_t)count;
  adapters->config.ranks = ranks;
  adapters->config.load_us = load_us;
  adapters->config.fetch_us = fetch_us;
  adapters->names = (blis_adapter_names){.names = names, .count = (uint32_t)count};
}

static void check_tiers(lua_State *L, int list, int owner, blis_adapter_config *config) {
  size_t count = lua_rawlen(L, list);
  blis_adapter_tier *tiers = keep_buffer(L, owner, count, sizeof *tiers);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    tiers[i].rank = check_field_integer(L, -1, "rank");
    tiers[i].factor = check_field_number(L, -1, "factor");
    lua_pop(L, 1);
  }
  config->tiers = tiers;
  config->tier_count = count;
}

void check_adapters(lua_State *L, int index, bind_adapters *adapters) {
  lua_newtable(L);
  int owner = lua_gettop(L);
  lua_getfield(L, index, "adapters");
  luaL_checktype(L, -1, LUA_TTABLE);
  check_list(L, owner + 1, owner, adapters);
  lua_getfield(L, index, "tiers");
  luaL_checktype(L, -1, LUA_TTABLE);
  check_tiers(L, owner + 2, owner, &adapters->config);
  lua_settop(L, owner);
  blis_adapter_config *config = &adapters->config;
  config->slots = check_field_integer(L, index, "slots");
  config->host_slots = check_field_integer(L, index, "host_slots");
  config->skips = opt_field_boolean(L, index, "skips", false);
  config->max_skip_us = check_field_integer(L, index, "max_skip_us");
  config->loads_in_steps = opt_field_boolean(L, index, "loads_in_steps", false);
  config->pins_preempted = opt_field_boolean(L, index, "pins_preempted", false);
}
