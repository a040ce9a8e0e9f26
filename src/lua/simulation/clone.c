#include "lua/simulation/clone.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cluster/rules/pins.h"
#include "lua/bind/bind.h"
#include "lua/simulation/construct.h"
#include "lua/simulation/drive_log.h"
#include "lua/simulation/simulation.h"

/* Calls the method of the note on top of the stack on the clone. */
static void repeat_note(lua_State *L, int clone) {
  int note = lua_gettop(L);
  int arguments = (int)lua_rawlen(L, note) - 1;
  lua_Integer times = 1;
  lua_rawgeti(L, note, NOTE_METHOD);
  const char *method = lua_tostring(L, -1);
  if (strcmp(method, "step") == 0) {
    lua_rawgeti(L, note, NOTE_FIRST);
    times = lua_tointeger(L, -1);
    arguments = 0;
  }
  for (lua_Integer k = 0; k < times; k++) {
    lua_getfield(L, clone, method);
    lua_pushvalue(L, clone);
    for (int i = 0; i < arguments; i++) {
      lua_rawgeti(L, note, NOTE_FIRST + i);
    }
    lua_call(L, arguments + 1, 0);
  }
  lua_settop(L, note);
}

static void check_same(lua_State *L, const bind_simulation *sim, const bind_simulation *clone) {
  bool is_same =
      blis_cluster_fingerprint(sim->cluster) == blis_cluster_fingerprint(clone->cluster) &&
      blis_recorder_hash(sim->records->recorder) == blis_recorder_hash(clone->records->recorder);
  if (!is_same) {
    blis_error error = {0};
    blis_fail(&error, BLIS_ERR_INVALID,
              "the simulation cannot be cloned: replaying it reached a "
              "different state at %" PRId64
              " us. A function of the script keeps state between runs, or the "
              "run was interrupted",
              blis_cluster_now_us(sim->cluster));
    bind_raise(L, &error);
  }
}

int bind_simulation_clone(lua_State *L) {
  enum { SELF = 1, CLONE, LOG };
  lua_settop(L, SELF);
  const bind_simulation *sim = check_simulation(L, SELF);
  if (sim->hooks.L != NULL) {
    return luaL_error(L, "sim:clone() cannot be called inside a hook of the same simulation");
  }
  if (sim->has_failed) {
    return bind_simulation_raise_failure(L, SELF);
  }
  lua_pushcfunction(L, bind_simulation_new);
  lua_getiuservalue(L, SELF, SIMULATION_CONFIG);
  lua_call(L, 1, 1); // [sim, clone]
  lua_getiuservalue(L, SELF, SIMULATION_ANCHOR);
  lua_rawgeti(L, -1, ANCHOR_LOG);
  lua_remove(L, -2); // [sim, clone, log]
  lua_Integer count = (lua_Integer)lua_rawlen(L, LOG);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, LOG, i);
    repeat_note(L, CLONE);
    lua_settop(L, LOG);
  }
  check_same(L, sim, check_simulation(L, CLONE));
  lua_settop(L, CLONE);
  return 1;
}

/* Returns the number of a request from its id; raises if the value is not an id. */
static int64_t check_request_number(lua_State *L, int index) {
  const char *id = luaL_checkstring(L, index);
  int64_t number = 0;
  int end = 0;
  if (sscanf(id, "request_%" SCNd64 "%n", &number, &end) == 1 && id[end] == '\0' && number >= 0) {
    return number;
  }
  const char *last = strrchr(id, '_');
  if (strncmp(id, "session_", 8) == 0 && last != NULL &&
      sscanf(last, "_%" SCNd64 "%n", &number, &end) == 1 && last[end] == '\0' && number > 0) {
    return -number;
  }
  luaL_argerror(L, index, "expected the id of a request, such as request_17");
  return 0;
}

static uint32_t check_instance_number(lua_State *L, int index) {
  const char *id = luaL_checkstring(L, index);
  uint32_t number = 0;
  int end = 0;
  if (sscanf(id, "instance_%" SCNu32 "%n", &number, &end) != 1 || id[end] != '\0') {
    luaL_argerror(L, index, "expected the id of an instance: instance_2");
  }
  return number;
}

static uint32_t check_stage(lua_State *L, int index, const bind_simulation *sim) {
  static const char *const names[] = {"any", "prefill", "decode", NULL};
  static const uint32_t roles[] = {0, BLIS_ROLE_PREFILL, BLIS_ROLE_DECODE};
  uint32_t role = roles[check_word(L, index, "any", names)];
  if (role != 0 && !blis_cluster_has_pools(sim->cluster)) {
    luaL_argerror(L, index, "there are no pools, so that routing has no stages");
  }
  return role;
}

int bind_simulation_pin(lua_State *L) {
  const bind_simulation *sim = check_simulation(L, 1);
  int64_t number = check_request_number(L, 2);
  uint32_t instance = check_instance_number(L, 3);
  uint32_t role = check_stage(L, 4, sim);
  lua_settop(L, 4);
  log_drive(L, "pin");
  blis_error error = {0};
  check_status(L, blis_cluster_pin(sim->cluster, number, role, instance, &error), &error);
  lua_settop(L, 1);
  return 1;
}
