#include "lua/policies/live_request.h"

#include <string.h>

#include "lua/bind/bind.h"

enum { ID = 0, PRIORITY = 4 }; /* places in field_names */

static const char *const field_names[LIVE_REQUEST_FIELDS] = {
    "id",       "arrival_us",        "deadline_us",     "prompt_tokens",
    "priority", "max_output_tokens", "progress_tokens", "output_tokens"};

static int live_request_index(lua_State *L) {
  return luaL_error(L,
                    "a request in an instance has no field '%s'; it has id, "
                    "arrival_us, deadline_us (0 = none), prompt_tokens, "
                    "priority, max_output_tokens and progress_tokens",
                    luaL_tolstring(L, 2, NULL));
}

bind_request_name live_request_name(const blis_live_request *request) {
  return (bind_request_name){.number = request->number,
                             .session = request->session,
                             .round_index = request->round_index};
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

void set_live_request(lua_State *L, bind_live_request *held, bool oracle,
                      const blis_live_request *request, double priority,
                      int64_t progress_tokens) {
  const int64_t values[LIVE_REQUEST_FIELDS] = {
      request->number,      request->arrival_us,
      request->deadline_us, request->prompt_tokens,
      bits_of(priority),    request->output_budget_tokens,
      progress_tokens,      oracle ? request->output_tokens : -1};
  for (int i = 0; i < LIVE_REQUEST_FIELDS; i++) {
    if (held->values[i] == values[i]) {
      continue;
    }
    if (i == ID) {
      const bind_request_name name = live_request_name(request);
      push_request_id(L, &name);
    } else if (i == PRIORITY) {
      push_signal(L, priority);
    } else {
      lua_pushinteger(L, values[i]);
    }
    lua_setfield(L, -2, field_names[i]);
    held->values[i] = values[i];
  }
}
