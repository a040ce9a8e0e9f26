/* The methods of a simulation in Lua. */
#include <string.h>

#include "base/time.h"
#include "cluster/pending_events.h"
#include "cluster/rules/pins.h"
#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/policies/routing/routing.h"
#include "lua/policies/view/listening.h"
#include "lua/simulation/clone.h"
#include "lua/simulation/drive_log.h"
#include "lua/simulation/instance.h"
#include "lua/simulation/result.h"
#include "lua/simulation/simulation.h"

/* sim:step(): returns true unless no event was left. */
static int simulation_step(lua_State *L) {
  lua_settop(L, 1);
  log_drive(L, "step");
  bind_simulation *sim = check_drivable(L, "step");
  blis_error error = {0};
  bool done = true;
  sim->watch.is_asleep = true; /* scripts that step the simulation display it themselves */
  blis_status status = sim->is_finished ? BLIS_OK : blis_cluster_step(sim->cluster, &done, &error);
  sim->watch.is_asleep = false;
  check_shut(L, 1, sim, status, &error);
  lua_pushboolean(L, !done);
  return 1;
}

/* sim:run_until(t_us): executes everything up to and including t_us. */
static int simulation_run_until(lua_State *L) {
  lua_Integer limit_us = luaL_checkinteger(L, 2);
  lua_settop(L, 2);
  log_drive(L, "run_until");
  bind_simulation *sim = check_drivable(L, "run_until");
  blis_error error = {0};
  blis_status status =
      sim->is_finished ? BLIS_OK : blis_cluster_run_until(sim->cluster, limit_us, &error);
  check_shut(L, 1, sim, status, &error);
  lua_settop(L, 1);
  return 1;
}

static blis_status run_to_the_end(bind_simulation *sim, blis_error *error) {
  if (sim->is_finished) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_cluster_run_until(sim->cluster, BLIS_TIME_NEVER_US, error));
  BLIS_TRY(blis_cluster_finish(sim->cluster, error));
  sim->is_finished = true;
  return bind_collect_metrics(&sim->view, error);
}

/* Pushes the number of unused pins, and the request number of one of them. */
static int push_unused_pins(lua_State *L, const bind_simulation *sim) {
  int64_t number = 0;
  size_t count = blis_cluster_unused_pins(sim->cluster, &number);
  lua_pushinteger(L, (lua_Integer)count);
  lua_pushinteger(L, number);
  return 2;
}

/* sim:run(): runs to the end and returns the result. */
static int simulation_run(lua_State *L) {
  lua_settop(L, 1);
  log_drive(L, "run");
  bind_simulation *sim = check_drivable(L, "run");
  blis_error error = {0};
  blis_status status = run_to_the_end(sim, &error);
  check_shut(L, 1, sim, status, &error);
  if (lua_getiuservalue(L, 1, SIMULATION_RESULT) == LUA_TNIL) {
    lua_getiuservalue(L, 1, SIMULATION_CONFIG);
    lua_getfield(L, -1, "finish");
    push_summary(L, 1, sim);
    lua_call(L, 1 + push_unused_pins(L, sim), 1);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, SIMULATION_RESULT);
  }
  return 1;
}

/* A callback of sim:at. The function is its user value. The table of callbacks keeps it alive. */
typedef struct callback {
  bind_simulation *sim;
} callback;

/* Removes the function from the table before calling it, because it is called only once. */
static int call_back(lua_State *L) {
  enum { CALLBACK = 1, ANCHOR };
  const callback *called = lua_touserdata(L, CALLBACK);
  bind_hooks_anchor(L, &called->sim->hooks);
  lua_rawgeti(L, ANCHOR, ANCHOR_CALLBACKS);
  lua_rawgetp(L, -1, called);
  lua_getiuservalue(L, -1, 1); // [.., callbacks, userdata, function]
  lua_pushnil(L);
  lua_rawsetp(L, -4, called);
  lua_rawgeti(L, ANCHOR, ANCHOR_SELF);
  lua_call(L, 1, 0);
  return 0;
}

static blis_status fire(void *ud, blis_cluster *cluster, blis_error *error) {
  callback *called = ud;
  const bind_hook_place place = {
      .kind = "callback of sim:at", .name = "", .now_us = blis_cluster_now_us(cluster)};
  return bind_pcall(&called->sim->hooks, &place, call_back, called, error);
}

/* sim:at(t_us, function(sim)): can also be called inside hooks. */
static int simulation_at(lua_State *L) {
  bind_simulation *sim = check_simulation(L, 1);
  lua_Integer at_us = luaL_checkinteger(L, 2);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  luaL_argcheck(L, !sim->is_finished, 1, "the simulation is over");
  lua_settop(L, 3);
  log_drive(L, "at");
  lua_getiuservalue(L, 1, SIMULATION_ANCHOR);
  lua_rawgeti(L, 4, ANCHOR_CALLBACKS);
  callback *called = lua_newuserdatauv(L, sizeof *called, 1);
  called->sim = sim;
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, -2, 1);
  lua_rawsetp(L, 5, called);
  blis_error error = {0};
  blis_status status = blis_cluster_call_at(sim->cluster, at_us, fire, called, &error);
  if (status != BLIS_OK) {
    lua_pushnil(L);
    lua_rawsetp(L, 5, called);
  }
  check_status(L, status, &error);
  lua_settop(L, 1);
  return 1;
}

/* Replaces the table at index with a copy, which its owner cannot change. */
static void copy_table(lua_State *L, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  lua_newtable(L);
  int copy = lua_gettop(L);
  lua_pushnil(L);
  while (lua_next(L, index) != 0) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, copy);
  }
  lua_replace(L, index);
}

/* sim:change_routing { parameter = value, ... } */
static int simulation_change_routing(lua_State *L) {
  bind_simulation *sim = check_simulation(L, 1);
  lua_settop(L, 2);
  luaL_argcheck(L, !sim->is_finished, 1, "the simulation is over");
  copy_table(L, 2);
  blis_params params = check_changes(L, 2);
  blis_error error = {0};
  check_status(L, blis_cluster_change_routing(sim->cluster, &params, &error), &error);
  lua_settop(L, 2);
  log_drive(L, "change_routing");
  lua_settop(L, 1);
  return 1;
}

/* Keeps intervals in microseconds within the range of an integer. */
enum { MAX_WATCH_INTERVAL_MS = 1000000000 };

/* sim:watch([watch_interval_ms]) */
static int simulation_watch(lua_State *L) {
  bind_simulation *sim = check_simulation(L, 1);
  lua_Integer interval_ms = luaL_optinteger(L, 2, -1);
  bool is_allowed = interval_ms >= 0 && interval_ms <= MAX_WATCH_INTERVAL_MS;
  luaL_argcheck(L, is_allowed || lua_isnoneornil(L, 2), 2, "expected 0 to 1000000000 ms");
  luaL_argcheck(L, !sim->is_finished, 1, "the simulation is over");
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, SIMULATION_CONFIG);
  lua_getiuservalue(L, 1, SIMULATION_ANCHOR);
  lua_getfield(L, 2, "watcher");
  lua_call(L, 0, 2); // [sim, config, anchor, function, usual interval]
  sim->watch.interval_us = (interval_ms >= 0 ? interval_ms : lua_tointeger(L, 5)) * 1000;
  lua_settop(L, 4);
  set_watch(L, 3, &sim->watch);
  lua_settop(L, 1);
  return 1;
}

static void push_pending_event(lua_State *L, const bind_simulation *sim,
                               const blis_pending_event *event) {
  lua_createtable(L, 0, 3);
  set_field_integer(L, "time_us", event->time_us);
  set_field_string(L, "kind", event->kind);
  if (event->session != NULL) {
    const bind_request_name name = {
        .number = event->request, .session = event->session, .round_index = event->round_index};
    push_request_id(L, &name);
    lua_setfield(L, -2, "request");
  }
  if (event->instance >= 0) {
    push_instance_id(L, event->instance, sim->records->id_digits);
    lua_setfield(L, -2, "instance");
  }
}

/* sim:events(): returns the scheduled events in their order. */
static int simulation_events(lua_State *L) {
  const bind_simulation *sim = check_simulation(L, 1);
  size_t count = sim->is_finished ? 0 : blis_cluster_pending_count(sim->cluster);
  blis_pending_event *events = push_buffer(L, count, sizeof *events);
  if (count > 0) {
    blis_cluster_pending_events(sim->cluster, events);
  }
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    push_pending_event(L, sim, &events[i]);
    set_printable(L);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_printable(L);
  return 1;
}

static int simulation_gc(lua_State *L) {
  bind_simulation *sim = check_any_simulation(L, 1);
  bind_simulation_close(sim);
  bind_hooks_shut(L, &sim->hooks);
  return 0;
}

static int simulation_close(lua_State *L) {
  bind_simulation *sim = check_any_simulation(L, 1);
  luaL_argcheck(L, sim->hooks.L == NULL, 1,
                "a simulation cannot be closed inside one of its hooks");
  bind_simulation_close(sim);
  return 0;
}

/* Fields in addition to next_us, which may be nil. */
static const char *const simulation_fields[] = {"now_us",     "seed",      "instances", "injected",
                                                "routed",     "rejected",  "completed", "timed_out",
                                                "unservable", "failed",    "escalated", "rerouted",
                                                "retried",    "in_flight", NULL};

static bool push_simulation_field(lua_State *L, const char *name) {
  bind_simulation *sim = check_simulation(L, 1);
  if (strcmp(name, "instances") == 0) {
    push_instances(L, 1, sim);
    return true;
  }
  if (strcmp(name, "next_us") == 0) {
    int64_t next_us = sim->is_finished ? BLIS_TIME_NEVER_US : blis_cluster_next_us(sim->cluster);
    if (next_us == BLIS_TIME_NEVER_US) {
      lua_pushnil(L);
    } else {
      lua_pushinteger(L, next_us);
    }
    return true;
  }
  blis_cluster_counts counts;
  blis_cluster_get_counts(sim->cluster, &counts);
  const struct {
    const char *name;
    int64_t value;
  } fields[] = {
      {"now_us", blis_cluster_now_us(sim->cluster)},
      {"seed", sim->seed},
      {"injected", counts.arrived},
      {"routed", counts.routed},
      {"rejected", counts.rejected},
      {"completed", counts.completed},
      {"timed_out", counts.timed_out},
      {"unservable", counts.unservable},
      {"failed", counts.failed},
      {"escalated", counts.escalated},
      {"rerouted", counts.rerouted},
      {"retried", counts.retried},
      {"in_flight", counts.in_flight},
  };
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (strcmp(name, fields[i].name) == 0) {
      lua_pushinteger(L, fields[i].value);
      return true;
    }
  }
  return false;
}

/* Instances. */
static int simulation_len(lua_State *L) {
  lua_pushinteger(L, blis_cluster_instance_count(check_simulation(L, 1)->cluster));
  return 1;
}

static int simulation_tostring(lua_State *L) {
  const bind_simulation *sim = check_any_simulation(L, 1);
  if (sim->cluster == NULL) {
    lua_pushliteral(L, "simulation (closed)");
    return 1;
  }
  blis_cluster_counts counts;
  blis_cluster_get_counts(sim->cluster, &counts);
  size_t instances = blis_cluster_instance_count(sim->cluster);
  lua_pushfstring(L, "simulation (%I instance%s, at %I us, %I of %I requests done)",
                  (LUAI_UACINT)instances, instances == 1 ? "" : "s",
                  (LUAI_UACINT)blis_cluster_now_us(sim->cluster), (LUAI_UACINT)counts.completed,
                  (LUAI_UACINT)counts.arrived);
  return 1;
}

static const luaL_Reg simulation_meta[] = {
    {"__gc", simulation_gc},
    {"__close", simulation_close},
    {"__len", simulation_len},
    {"__tostring", simulation_tostring},
    {NULL, NULL},
};

static const luaL_Reg simulation_methods[] = {
    {"at", simulation_at},
    {"change_instance", bind_simulation_change_instance},
    {"change_routing", simulation_change_routing},
    {"clone", bind_simulation_clone},
    {"close", simulation_close},
    {"events", simulation_events},
    {"pin", bind_simulation_pin},
    {"run", simulation_run},
    {"run_until", simulation_run_until},
    {"step", simulation_step},
    {"watch", simulation_watch},
    {NULL, NULL},
};

static const bind_fields simulation_members = {.owner = "a simulation",
                                               .names = simulation_fields,
                                               .methods = simulation_methods,
                                               .push = push_simulation_field};

void bind_open_simulations(lua_State *L) {
  push_new_type(L, SIMULATION_TYPE, simulation_meta, NULL);
  set_fields(L, &simulation_members);
  lua_pop(L, 1);
}
