#include "lua/simulation/drive_log.h"

#include <string.h>

#include "lua/simulation/simulation.h"

/*
 * Extends the note of the previous call, which is on top of the stack, if this call only continues
 * it: more steps, or a later end time. Returns false for any other call.
 */
static bool extend_note(lua_State *L, const char *method, int argument) {
  lua_rawgeti(L, -1, NOTE_METHOD);
  bool is_same = strcmp(lua_tostring(L, -1), method) == 0;
  lua_pop(L, 1);
  bool is_step = strcmp(method, "step") == 0;
  if (!is_same || (!is_step && strcmp(method, "run_until") != 0)) {
    return false;
  }
  lua_rawgeti(L, -1, NOTE_FIRST);
  lua_Integer noted = lua_tointeger(L, -1);
  lua_pop(L, 1);
  if (is_step) {
    noted++;
  } else if (lua_tointeger(L, argument) > noted) {
    noted = lua_tointeger(L, argument);
  }
  lua_pushinteger(L, noted);
  lua_rawseti(L, -2, NOTE_FIRST);
  return true;
}

static void add_note(lua_State *L, int log, const char *method, int top) {
  lua_createtable(L, top, 0);
  lua_pushstring(L, method);
  lua_rawseti(L, -2, NOTE_METHOD);
  if (strcmp(method, "step") == 0) {
    lua_pushinteger(L, 1);
    lua_rawseti(L, -2, NOTE_FIRST);
  }
  for (int i = 2; i <= top; i++) {
    lua_pushvalue(L, i);
    lua_rawseti(L, -2, NOTE_FIRST + i - 2);
  }
  lua_rawseti(L, log, (lua_Integer)lua_rawlen(L, log) + 1);
}

void log_drive(lua_State *L, const char *method) {
  const bind_simulation *sim = check_simulation(L, 1);
  if (sim->hooks.L != NULL || sim->has_failed || sim->is_finished) {
    return;
  }
  int top = lua_gettop(L);
  lua_getiuservalue(L, 1, SIMULATION_ANCHOR);
  lua_rawgeti(L, -1, ANCHOR_LOG);
  int log = lua_gettop(L);
  lua_Integer count = (lua_Integer)lua_rawlen(L, log);
  bool is_extended = false;
  if (count > 0) {
    lua_rawgeti(L, log, count);
    is_extended = extend_note(L, method, 2);
  }
  if (!is_extended) {
    add_note(L, log, method, top);
  }
  lua_settop(L, top);
}
