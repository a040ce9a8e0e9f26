#include "lua/results/records.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lua/bind/bind.h"

/* Raises if the list is closed: the finalizer of another value may run after that of the list. */
bind_records *check_records(lua_State *L, int index) {
  bind_records *self = luaL_checkudata(L, index, RECORDS_TYPE);
  luaL_argcheck(L, self->recorder != NULL, index, "the list of requests is gone");
  return self;
}

bind_records *push_records(lua_State *L) {
  bind_records *self = lua_newuserdatauv(L, sizeof *self, 1);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, RECORDS_TYPE);
  return self;
}

blis_request_state check_record_state(lua_State *L, int index) {
  lua_getfield(L, index, "state");
  if (lua_type(L, -1) != LUA_TSTRING) {
    luaL_error(L,
               "a request has state = %s, expected a string such as "
               "'completed'",
               push_what(L, -1));
  }
  const char *name = lua_tostring(L, -1);
  int state = 0;
  while (state < BLIS_REQUEST_STATE_COUNT &&
         strcmp(blis_request_state_name((blis_request_state)state), name) != 0) {
    state++;
  }
  if (state == BLIS_REQUEST_STATE_COUNT) {
    luaL_error(L, "unknown request state '%s'", name);
  }
  lua_pop(L, 1);
  return (blis_request_state)state;
}

int32_t check_record_instance(lua_State *L, bind_records *records, int index, const char *field) {
  int32_t instance = -1;
  if (lua_getfield(L, index, field) != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TSTRING) {
      luaL_error(L, "a request has %s = %s, expected instance_<number>", field, push_what(L, -1));
    }
    const char *text = lua_tostring(L, -1);
    char rest = 0;
    if (sscanf(text, "instance_%7" SCNd32 "%c", &instance, &rest) != 1 ||
        text[sizeof "instance_" - 1] < '0') { /* rejects signs and spaces */
      luaL_error(L, "a request has %s = '%s', expected instance_<number>", field, text);
    }
    const int digits = (int)(strlen(text) - (sizeof "instance_" - 1));
    if (records->id_digits == 0 || digits < records->id_digits) {
      records->id_digits = digits;
    }
  }
  lua_pop(L, 1);
  return instance;
}
