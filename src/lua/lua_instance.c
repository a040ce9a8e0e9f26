/* Instances as userdata, for looking inside a simulation. */
#include <string.h>

#include "lua/bind.h"
#include "lua/lua_simulation.h"

#define INSTANCE_TYPE "blis.instance"

/* The user value is the simulation. */
typedef struct instance {
  uint32_t index;
} instance;

/* The simulation of the instance at index 1, which is left on the stack. */
static const bind_simulation *check_owner(lua_State *L) {
  lua_getiuservalue(L, 1, 1);
  return check_simulation(L, lua_gettop(L));
}

static bool push_stat(lua_State *L, const bind_simulation *sim, uint32_t index,
                      const char *name) {
  blis_instance_stats stats;
  blis_instance_get_stats(blis_cluster_instance(sim->cluster, index), &stats);
  const struct {
    const char *name;
    int64_t value;
  } fields[] = {
      {"completed", stats.completed},
      {"timed_out", stats.timed_out},
      {"unservable", stats.unservable},
      {"steps", stats.steps},
      {"cache_hits", stats.cache_hits},
      {"cache_misses", stats.cache_misses},
      {"used_kv_blocks", stats.used_kv_blocks},
  };
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (strcmp(name, fields[i].name) == 0) {
      lua_pushinteger(L, fields[i].value);
      return true;
    }
  }
  return false;
}

static int instance_index(lua_State *L) {
  const instance *self = luaL_checkudata(L, 1, INSTANCE_TYPE);
  const char *name = luaL_checkstring(L, 2);
  const bind_simulation *sim = check_owner(L);
  if (strcmp(name, "id") == 0) {
    lua_pushstring(L, blis_cluster_instance_id(sim->cluster, self->index));
    return 1;
  }
  if (strcmp(name, "index") == 0) {
    lua_pushinteger(L, (lua_Integer)self->index + 1);
    return 1;
  }
  blis_signal signal = blis_signal_find(name);
  if (signal != BLIS_SIGNAL_COUNT &&
      (BLIS_SIGNAL_BIT(signal) & BLIS_SIGNALS_OF_REQUEST) != 0) {
    return luaL_error(L, "'%s' is about a request; policies can read it", name);
  }
  if (signal != BLIS_SIGNAL_COUNT) {
    push_signal(L, blis_cluster_signal(sim->cluster, self->index, signal));
    return 1;
  }
  if (!push_stat(L, sim, self->index, name)) {
    return luaL_error(L, "an instance has no field '%s'", name);
  }
  return 1;
}

static int instance_tostring(lua_State *L) {
  const instance *self = luaL_checkudata(L, 1, INSTANCE_TYPE);
  lua_pushfstring(L, "instance_%I", (LUAI_UACINT)self->index);
  return 1;
}

static const luaL_Reg instance_meta[] = {
    {"__index", instance_index},
    {"__tostring", instance_tostring},
    {NULL, NULL},
};

void bind_open_instances(lua_State *L) {
  push_new_type(L, INSTANCE_TYPE, instance_meta, NULL);
  lua_pop(L, 1);
}

void push_instances(lua_State *L, int index, const bind_simulation *sim) {
  if (lua_getiuservalue(L, index, SIMULATION_INSTANCES) != LUA_TNIL) {
    return;
  }
  lua_pop(L, 1);
  lua_createtable(L, (int)sim->instance_count, 0);
  for (uint32_t i = 0; i < sim->instance_count; i++) {
    instance *made = lua_newuserdatauv(L, sizeof *made, 1);
    made->index = i;
    lua_pushvalue(L, index);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, INSTANCE_TYPE);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, index, SIMULATION_INSTANCES);
}
