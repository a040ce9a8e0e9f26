#include "lua/results/record_methods.h"

#include "lua/bind/bind.h"
#include "lua/bind/deprecated.h"
#include "lua/bind/fields.h"
#include "lua/results/records.h"

static bool is_unserved(const blis_record *record) {
  return record->state == BLIS_REQUEST_REJECTED || record->state == BLIS_REQUEST_FAILED ||
         record->state == BLIS_REQUEST_UNSERVABLE || record->state == BLIS_REQUEST_TIMED_OUT;
}

static void push_end(lua_State *L, const blis_recorder *recorder, const blis_record *record,
                     size_t place) {
  lua_createtable(L, 0, 4);
  set_field_string(L, "state", blis_request_state_name(record->state));
  const char *reason = blis_recorder_reason(recorder, record);
  if (reason[0] != '\0') {
    set_field_string(L, "reason", reason);
  }
  set_field_integer(L, "requests", 0);
  set_field_integer(L, "first", (int64_t)place + 1);
}

/* Increments the count of the outcome on top of the stack, and pops the outcome. */
static void count_end(lua_State *L) {
  lua_getfield(L, -1, "requests");
  lua_Integer requests = lua_tointeger(L, -1);
  lua_pop(L, 1);
  set_field_integer(L, "requests", requests + 1);
  lua_pop(L, 1);
}

int bind_records_unserved(lua_State *L) {
  const blis_recorder *recorder = check_records(L, 1)->recorder;
  check_status(L, blis_recorder_sort(check_records(L, 1)->recorder), NULL);
  lua_settop(L, 1);
  lua_newtable(L); /* the list */
  lua_newtable(L); /* its outcomes by state and reason */
  lua_Integer ends = 0;
  size_t count = blis_recorder_count(recorder);
  for (size_t i = 0; i < count; i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    if (!is_unserved(&record)) {
      continue;
    }
    lua_Integer key = (lua_Integer)record.reason * 16 + record.state;
    if (lua_rawgeti(L, 3, key) == LUA_TNIL) {
      lua_pop(L, 1);
      push_end(L, recorder, &record, i);
      lua_pushvalue(L, -1);
      lua_rawseti(L, 2, ++ends);
      lua_pushvalue(L, -1);
      lua_rawseti(L, 3, key);
    }
    count_end(L);
  }
  lua_settop(L, 2);
  return 1;
}

int bind_records_turned_away(lua_State *L) {
  note_deprecated(L, "requests", "turned_away", "unserved");
  return bind_records_unserved(L);
}
