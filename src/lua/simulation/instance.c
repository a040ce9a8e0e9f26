#include "lua/simulation/instance.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/simulation/drive_log.h"

/* The user value is the simulation. */
typedef struct instance {
  uint32_t index;
} instance;

/* Simulated faults. */

typedef struct fault {
  uint32_t index;
  bool re_route;
  blis_loss loss;
  double factor;
} fault;

static blis_status make_fail(void *ud, blis_cluster *cluster, blis_error *error) {
  const fault *f = ud;
  return blis_cluster_instance_fail(cluster, f->index, f->loss, error);
}

static blis_status make_drain(void *ud, blis_cluster *cluster, blis_error *error) {
  const fault *f = ud;
  return blis_cluster_instance_drain(cluster, f->index, f->re_route, error);
}

static blis_status make_restart(void *ud, blis_cluster *cluster, blis_error *error) {
  const fault *f = ud;
  return blis_cluster_instance_restore(cluster, f->index, error);
}

static blis_status make_slow(void *ud, blis_cluster *cluster, blis_error *error) {
  const fault *f = ud;
  return blis_cluster_instance_slow(cluster, f->index, f->factor, error);
}

static blis_status make_lose_cache(void *ud, blis_cluster *cluster, blis_error *error) {
  const fault *f = ud;
  return blis_cluster_instance_lose_cache(cluster, f->index, error);
}

/* Reads the options of a fault, { reroute = true }, the only option. */
static bool check_re_route(lua_State *L) {
  if (lua_isnoneornil(L, 2)) {
    return false;
  }
  luaL_checktype(L, 2, LUA_TTABLE);
  bool re_route = false;
  lua_pushnil(L);
  while (lua_next(L, 2) != 0) {
    bool is_known = lua_type(L, -2) == LUA_TSTRING && strcmp(lua_tostring(L, -2), "reroute") == 0;
    luaL_argcheck(L, is_known, 2, "reroute is the only option");
    luaL_argcheck(L, lua_isboolean(L, -1), 2, "reroute is true or false");
    re_route = lua_toboolean(L, -1);
    lua_pop(L, 1);
  }
  return re_route;
}

static const struct {
  const char *method;
  blis_status (*change)(void *ud, blis_cluster *cluster, blis_error *error);
} changes[] = {{"drain", make_drain},
               {"fail", make_fail},
               {"lose_cache", make_lose_cache},
               {"restart", make_restart},
               {"slow", make_slow}};

int bind_simulation_change_instance(lua_State *L) {
  fault f = {.index = (uint32_t)luaL_checkinteger(L, 2),
             .re_route = lua_toboolean(L, 4),
             .loss = {.kind = lua_isnil(L, 4)       ? BLIS_LOSS_USUAL
                              : lua_toboolean(L, 4) ? BLIS_LOSS_REROUTED
                                                    : BLIS_LOSS_FAILED},
             .factor = lua_tonumber(L, 4)};
  const char *method = luaL_checkstring(L, 3);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    if (strcmp(method, changes[i].method) == 0) {
      check_change(L, 1, changes[i].change, &f);
    }
  }
  lua_settop(L, 4);
  log_drive(L, "change_instance");
  return 0;
}

/*
 * Applies a method to the instance at index 1, and returns the instance. The value on top of the
 * stack is the argument of the method.
 */
static int suffer(lua_State *L, const char *method) {
  const instance *self = luaL_checkudata(L, 1, INSTANCE_TYPE);
  lua_pushcfunction(L, bind_simulation_change_instance);
  lua_getiuservalue(L, 1, 1);
  lua_pushinteger(L, self->index);
  lua_pushstring(L, method);
  lua_pushvalue(L, -5);
  lua_call(L, 4, 0);
  lua_settop(L, 1);
  return 1;
}

/* instance:fail([{ reroute = boolean }]); without options, hand-offs follow the configuration of
   the experiment. */
static int instance_fail(lua_State *L) {
  if (lua_isnoneornil(L, 2)) {
    lua_pushnil(L);
  } else {
    lua_pushboolean(L, check_re_route(L));
  }
  return suffer(L, "fail");
}

/* instance:drain([{ reroute = boolean }]) */
static int instance_drain(lua_State *L) {
  lua_pushboolean(L, check_re_route(L));
  return suffer(L, "drain");
}

/* instance:restart() */
static int instance_restart(lua_State *L) {
  return suffer(L, "restart");
}

/* instance:lose_cache() */
static int instance_lose_cache(lua_State *L) {
  return suffer(L, "lose_cache");
}

/* instance:slow(factor) */
static int instance_slow(lua_State *L) {
  lua_pushnumber(L, luaL_checknumber(L, 2));
  return suffer(L, "slow");
}

/* Metrics. */

/* Returns the simulation of the instance at index 1, and leaves the simulation on the stack. */
static const bind_simulation *check_owner(lua_State *L) {
  lua_getiuservalue(L, 1, 1);
  return check_simulation(L, lua_gettop(L));
}

/* Members of blis_instance_stats that an instance shows: XX(name). */
#define INSTANCE_STATS(XX)                                                                         \
  XX(completed)                                                                                    \
  XX(timed_out)                                                                                    \
  XX(unservable)                                                                                   \
  XX(steps)                                                                                        \
  XX(cache_hits)                                                                                   \
  XX(cache_misses)                                                                                 \
  XX(used_kv_blocks)

static bool push_stat(lua_State *L, const bind_simulation *sim, uint32_t index, const char *name) {
  blis_instance_stats stats;
  blis_instance_get_stats(blis_cluster_instance(sim->cluster, index), &stats);
#define XX(field)                                                                                  \
  if (strcmp(name, #field) == 0) {                                                                 \
    lua_pushinteger(L, stats.field);                                                               \
    return true;                                                                                   \
  }
  INSTANCE_STATS(XX)
#undef XX
  return false;
}

/* Pushes a field about the identity of the instance or whether it serves. Returns false for any
   other name. */
static bool push_identity(lua_State *L, const bind_simulation *sim, uint32_t index,
                          const char *name) {
  const blis_cluster *cluster = sim->cluster;
  const blis_instance_facts *facts = blis_cluster_instance_facts(cluster, index);
  if (strcmp(name, "id") == 0) {
    lua_pushstring(L, blis_cluster_instance_id(cluster, index));
  } else if (strcmp(name, "index") == 0) {
    lua_pushinteger(L, (lua_Integer)index + 1);
  } else if (strcmp(name, "state") == 0) {
    lua_pushstring(L, blis_service_name(blis_cluster_instance_service(cluster, index)));
  } else if (strcmp(name, "model") == 0) {
    lua_pushstring(L, facts->model);
  } else if (strcmp(name, "gpu") == 0) {
    lua_pushstring(L, facts->gpu);
  } else {
    return false;
  }
  return true;
}

/* Returns whether a signal is about a request, so that it has no value without a request. */
static bool is_about_request(blis_signal signal) {
  return (BLIS_SIGNAL_BIT(signal) & BLIS_SIGNALS_OF_REQUEST) != 0;
}

/* Returns whether a signal is maintained. Signals computed from counts exist only if a policy of
   the run reads one of them. */
static bool is_maintained(const bind_simulation *sim, blis_signal signal) {
  return (BLIS_SIGNAL_BIT(signal) & BLIS_SIGNALS_OF_HISTORY) == 0 ||
         blis_cluster_has_history(sim->cluster);
}

static bool has_instance_field(lua_State *L, const char *name) {
  luaL_checkudata(L, 1, INSTANCE_TYPE);
  blis_signal signal = blis_signal_find(name);
  if (signal == BLIS_SIGNAL_COUNT) {
    return true;
  }
  bool is_there = !is_about_request(signal) && is_maintained(check_owner(L), signal);
  lua_settop(L, 2);
  return is_there;
}

static bool push_instance_field(lua_State *L, const char *name) {
  const instance *self = luaL_checkudata(L, 1, INSTANCE_TYPE);
  const bind_simulation *sim = check_owner(L);
  if (push_identity(L, sim, self->index, name)) {
    return true;
  }
  blis_signal signal = blis_signal_find(name);
  if (signal == BLIS_SIGNAL_COUNT) {
    return push_stat(L, sim, self->index, name);
  }
  if (is_about_request(signal)) {
    luaL_error(L, "'%s' belongs to a request; only policies can read it", name);
  }
  if (!is_maintained(sim, signal)) {
    luaL_error(L, "'%s' is kept only where a policy of the run reads it", name);
  }
  push_signal(L, blis_cluster_signal(sim->cluster, self->index, signal));
  return true;
}

static int instance_tostring(lua_State *L) {
  const instance *self = luaL_checkudata(L, 1, INSTANCE_TYPE);
  const bind_simulation *sim = check_owner(L);
  lua_pushstring(L, blis_cluster_instance_id(sim->cluster, self->index));
  return 1;
}

static const luaL_Reg instance_meta[] = {
    {"__tostring", instance_tostring},
    {NULL, NULL},
};

static const luaL_Reg instance_methods[] = {
    {"drain", instance_drain},           {"fail", instance_fail}, {"restart", instance_restart},
    {"lose_cache", instance_lose_cache}, {"slow", instance_slow}, {NULL, NULL},
};

/* The identity, every signal, and the statistics. */
static const char *const instance_fields[] = {"id",
                                              "index",
                                              "state",
                                              "model",
                                              "gpu",
#define XX(constant, group, combination, name, ...) name,
                                              BLIS_SIGNAL_MAP(XX)
#undef XX
#define XX(name) #name,
                                                  INSTANCE_STATS(XX)
#undef XX
                                                      NULL};

static const bind_fields instance_members = {.owner = "an instance",
                                             .names = instance_fields,
                                             .methods = instance_methods,
                                             .push = push_instance_field,
                                             .has = has_instance_field};

void bind_open_instances(lua_State *L) {
  push_new_type(L, INSTANCE_TYPE, instance_meta, NULL);
  set_fields(L, &instance_members);
  lua_pop(L, 1);
}

static void push_instance(lua_State *L, int simulation, uint32_t i) {
  instance *made = lua_newuserdatauv(L, sizeof *made, 1);
  made->index = i;
  lua_pushvalue(L, simulation);
  lua_setiuservalue(L, -2, 1);
  luaL_setmetatable(L, INSTANCE_TYPE);
}

/* Pushes the list of instances, which grows with the cluster. Its items are created only once. */
void push_instances(lua_State *L, int index, const bind_simulation *sim) {
  uint32_t count = blis_cluster_instance_count(sim->cluster);
  if (lua_getiuservalue(L, index, SIMULATION_INSTANCES) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_createtable(L, (int)count, 0);
    set_printable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, index, SIMULATION_INSTANCES);
  }
  for (uint32_t i = (uint32_t)lua_rawlen(L, -1); i < count; i++) {
    push_instance(L, index, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}
