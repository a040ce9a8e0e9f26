#include "lua/results/record_list.h"

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/results/attempts.h"
#include "lua/results/figures.h"
#include "lua/results/record_methods.h"
#include "lua/results/record_table.h"
#include "lua/results/records.h"

int bind_records_new(lua_State *L) {
  bind_records *self = push_records(L);
  blis_alloc alloc = bind_alloc(L);
  self->strings = blis_intern_new(&alloc);
  self->recorder = blis_recorder_new(&alloc);
  if (self->strings == NULL || self->recorder == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  self->source.source.strings = self->strings;
  return 1;
}

static int records_index(lua_State *L) {
  const bind_records *self = check_records(L, 1);
  size_t count = blis_recorder_count(self->recorder);
  int64_t place = check_list_item(L, "a list of requests", count);
  if (place >= 0) {
    check_status(L, blis_recorder_sort(self->recorder), NULL);
    push_record_table(L, self, (size_t)place);
  }
  return 1;
}

static int records_len(lua_State *L) {
  const bind_records *self = check_records(L, 1);
  lua_pushinteger(L, (lua_Integer)blis_recorder_count(self->recorder));
  return 1;
}

static int records_tostring(lua_State *L) {
  const bind_records *self = check_records(L, 1);
  lua_pushfstring(L, "list of %I requests", (LUAI_UACINT)blis_recorder_count(self->recorder));
  return 1;
}

/* hash(): returns a hash of all records, 16 hexadecimal digits. */
static int records_hash(lua_State *L) {
  const bind_records *self = check_records(L, 1);
  push_hash(L, blis_recorder_hash(self->recorder));
  return 1;
}

static int records_gc(lua_State *L) {
  bind_records *self = luaL_checkudata(L, 1, RECORDS_TYPE);
  blis_recorder_free(self->recorder);
  self->recorder = NULL;
  blis_decisions_free(self->decisions);
  self->decisions = NULL;
  blis_intern_free(self->strings);
  self->strings = NULL;
  bind_source_close(&self->source);
  return 0;
}

static const luaL_Reg records_meta[] = {
    {"__gc", records_gc},
    {"__len", records_len},
    {"__tostring", records_tostring},
    {NULL, NULL},
};

static const luaL_Reg records_methods[] = {
    {"add", bind_records_add},
    {"after_completed", bind_records_after_completed},
    {"cohort", bind_records_cohort},
    {"course", bind_records_course},
    {"measured", bind_records_measured},
    {"batches", bind_records_batches},
    {"goodput", bind_records_goodput},
    {"goodput_over_time", bind_records_goodput_over_time},
    {"groups", bind_records_groups},
    {"hash", records_hash},
    {"load", bind_records_load},
    {"outcomes", bind_records_outcomes},
    {"over_time", bind_records_over_time},
    {"tasks", bind_records_tasks},
    {"slowest", bind_records_slowest},
    {"spread", bind_records_spread},
    {"unserved", bind_records_unserved},
    {"turned_away", bind_records_turned_away}, /* deprecated */
    {"warm_up", bind_records_warm_up},
    {"window", bind_records_window},
    {"within", bind_records_within},
    {NULL, NULL},
};

void bind_open_records(lua_State *L) {
  push_new_type(L, RECORDS_TYPE, records_meta, NULL);
  luaL_newlib(L, records_methods);
  lua_pushcclosure(L, records_index, 1);
  lua_setfield(L, -2, "__index");
  set_list_pairs(L);
  lua_pop(L, 1);
}
