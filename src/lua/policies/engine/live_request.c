#include "lua/policies/engine/live_request.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/policies/view/hints.h"

enum { ID = 0, PRIORITY = 4, HINTS = 7 }; /* indices in field_names */

static const char *const field_names[LIVE_REQUEST_FIELDS] = {
    "id",           "arrival_us",        "deadline_us",     "prompt_tokens",
    "priority",     "max_output_tokens", "progress_tokens", "hints",
    "output_tokens"};

static int live_request_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING && strcmp(lua_tostring(L, 2), field_names[HINTS]) == 0) {
    return 0; /* there are no hints */
  }
  return luaL_error(L,
                    "a request in an instance has no field '%s'; it has id, "
                    "arrival_us, deadline_us (0 = none), prompt_tokens, "
                    "priority, max_output_tokens, progress_tokens and hints",
                    luaL_tolstring(L, 2, NULL));
}

bind_request_name live_request_name(const blis_live_request *request) {
  return (bind_request_name){
      .number = request->number, .session = request->session, .round_index = request->round_index};
}

void push_live_request(lua_State *L, bind_live_request *held, bool oracle) {
  lua_createtable(L, 0, LIVE_REQUEST_FIELDS);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, live_request_index);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  for (int i = 0; i < LIVE_REQUEST_FIELDS; i++) {
    bool is_hidden = i == LIVE_REQUEST_FIELDS - 1 && !oracle;
    held->values[i] = is_hidden ? -1 : INT64_MIN;
  }
}

static int64_t bits_of(double number) {
  int64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

void set_live_request(lua_State *L, bind_live_request *held, const bind_view *view,
                      const blis_live_request *request, int64_t progress_tokens) {
  const double priority = bind_view_priority(view, request->priority);
  const bind_alias *alias = &view->hooks->alias;
  int table = lua_gettop(L);
  push_hints(L, view, request->slot);
  const int64_t values[LIVE_REQUEST_FIELDS] = {
      request->number,
      bind_alias_us(alias, request->arrival_us),
      request->deadline_us == 0 ? 0 : bind_alias_us(alias, request->deadline_us),
      request->prompt_tokens,
      bits_of(priority),
      request->max_output_tokens,
      progress_tokens,
      (int64_t)(intptr_t)lua_topointer(L, -1),
      view->oracle ? request->output_tokens : -1};
  for (int i = 0; i < LIVE_REQUEST_FIELDS; i++) {
    if (held->values[i] == values[i]) {
      continue;
    }
    if (i == ID) {
      const bind_request_name name = live_request_name(request);
      push_alias_request(L, alias, &name);
    } else if (i == PRIORITY) {
      push_signal(L, priority);
    } else if (i == HINTS) {
      push_hints_copy(L, view, table + 1);
    } else {
      lua_pushinteger(L, values[i]);
    }
    lua_setfield(L, table, field_names[i]);
    held->values[i] = values[i];
  }
  lua_settop(L, table);
}
