#include "lua/lua_records.h"

#include <string.h>

#include "lua/bind.h"

#define RECORDS_TYPE "blis.records"

static int records_gc(lua_State *L) {
  bind_records *self = luaL_checkudata(L, 1, RECORDS_TYPE);
  blis_recorder_free(self->recorder);
  self->recorder = NULL;
  bind_source_close(&self->source);
  return 0;
}

bind_records *push_records(lua_State *L) {
  bind_records *self = lua_newuserdatauv(L, sizeof *self, 1);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, RECORDS_TYPE);
  return self;
}

static const char *state_name(blis_request_state state) {
  switch (state) {
  case BLIS_REQUEST_ARRIVED:
    return "still_arriving";
  case BLIS_REQUEST_QUEUED:
    return "still_queued";
  case BLIS_REQUEST_RUNNING:
    return "still_running";
  case BLIS_REQUEST_COMPLETED:
    return "completed";
  case BLIS_REQUEST_LENGTH_CAPPED:
    return "length_capped";
  case BLIS_REQUEST_TIMED_OUT:
    return "timed_out";
  case BLIS_REQUEST_UNSERVABLE:
    return "unservable";
  case BLIS_REQUEST_FAILED:
    return "failed";
  case BLIS_REQUEST_REJECTED:
    return "rejected";
  }
  return "unknown";
}

static void set_text(lua_State *L, const char *name, const blis_intern *strings,
                     uint32_t id) {
  lua_pushlstring(L, blis_intern_text(strings, id),
                  blis_intern_length(strings, id));
  lua_setfield(L, -2, name);
}

/* Times that never came are nil. */
static void set_time(lua_State *L, const char *name, int64_t time_us) {
  if (time_us >= 0) {
    set_field_integer(L, name, time_us);
  }
}

static void push_record(lua_State *L, const bind_records *self,
                        const blis_record *record) {
  const blis_intern *strings = self->source.source.strings;
  lua_createtable(L, 0, 18);
  const blis_request named = {.number = record->number,
                              .session = record->session,
                              .round_index = record->round_index};
  char id[BLIS_REQUEST_ID_SIZE];
  set_field_string(L, "id", blis_request_id(&named, strings, id));
  set_field_string(L, "state", state_name((blis_request_state)record->state));
  set_field_integer(L, "arrival_us", record->arrival_us);
  set_time(L, "ttft_us", record->ttft_us);
  set_time(L, "e2e_us", record->e2e_us);
  set_time(L, "scheduling_delay_us", record->scheduling_delay_us);
  set_field_integer(L, "itl_sum_us", record->itl_sum_us);
  set_field_integer(L, "itl_count", record->itl_count);
  set_field_integer(L, "end_us", record->end_us);
  set_field_integer(L, "prompt_tokens", record->prompt_tokens);
  set_field_integer(L, "output_tokens", record->output_tokens);
  if (record->instance >= 0) {
    lua_pushfstring(L, "instance_%I", (LUAI_UACINT)record->instance);
    lua_setfield(L, -2, "instance");
  }
  set_text(L, "tenant", strings, record->tenant);
  set_text(L, "slo_class", strings, record->slo_class);
  set_text(L, "model", strings, record->model);
  set_text(L, "session", strings, record->session);
  if (record->session != 0) {
    set_field_integer(L, "round_index", record->round_index);
  }
  const char *reason = blis_recorder_reason(self->recorder, record);
  if (reason[0] != '\0') {
    set_field_string(L, "reason", reason);
  }
}

static int records_index(lua_State *L) {
  const bind_records *self = luaL_checkudata(L, 1, RECORDS_TYPE);
  int is_integer = 0;
  lua_Integer index = lua_tointegerx(L, 2, &is_integer);
  if (!is_integer) {
    return luaL_error(L, "a list of requests has no field '%s'",
                      luaL_tolstring(L, 2, NULL));
  }
  if (index < 1 || (size_t)index > blis_recorder_count(self->recorder)) {
    lua_pushnil(L);
  } else {
    push_record(L, self, &blis_recorder_records(self->recorder)[index - 1]);
  }
  return 1;
}

static int records_len(lua_State *L) {
  const bind_records *self = luaL_checkudata(L, 1, RECORDS_TYPE);
  lua_pushinteger(L, (lua_Integer)blis_recorder_count(self->recorder));
  return 1;
}

static int records_tostring(lua_State *L) {
  const bind_records *self = luaL_checkudata(L, 1, RECORDS_TYPE);
  lua_pushfstring(L, "list of %I requests",
                  (LUAI_UACINT)blis_recorder_count(self->recorder));
  return 1;
}

static const luaL_Reg records_meta[] = {
    {"__gc", records_gc},   {"__index", records_index},
    {"__len", records_len}, {"__tostring", records_tostring},
    {NULL, NULL},
};

void bind_open_records(lua_State *L) {
  push_new_type(L, RECORDS_TYPE, records_meta, NULL);
  lua_pushboolean(L, 0); /* a record list is never empty of its recorder */
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
}
