#include "lua/results/record_table.h"

#include <string.h>

#include "base/invariant.h"
#include "cluster/gateway/gateway.h"
#include "cluster/tiers/kv_tiers.h"
#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/results/attempts.h"

enum { RECORD = 2 }; /* stack index of the record in calls of add */

static int64_t value_at(const bind_records *records, size_t index, const blis_record *record,
                        const blis_record_field *field) {
  return field->kind == BLIS_FIELD_MEMBER
             ? blis_record_value(record, (blis_record_member)field->number)
             : blis_recorder_extra(records->recorder, index, (blis_record_extra)field->number);
}

/* Tables. */

static void push_text(lua_State *L, const bind_records *records, int64_t id) {
  const blis_intern *strings = records->source.source.strings;
  uint32_t number = id < 0 ? 0 : (uint32_t)id;
  lua_pushlstring(L, blis_intern_text(strings, number), blis_intern_length(strings, number));
}

/* Pushes a value of a record in the form of its field. Returns false, and pushes nothing, if the
   value is nil. */
static bool push_value(lua_State *L, const bind_records *records, const blis_record *record,
                       blis_record_form form, int64_t value) {
  switch (form) {
  case BLIS_FORM_INTEGER:
    lua_pushinteger(L, value);
    return true;
  case BLIS_FORM_FLAG:
    lua_pushboolean(L, value != 0);
    return true;
  case BLIS_FORM_STATE:
    lua_pushstring(L, blis_request_state_name((blis_request_state)value));
    return true;
  case BLIS_FORM_TEXT:
    push_text(L, records, value);
    return true;
  case BLIS_FORM_NAME:
    if (value > 0) {
      push_text(L, records, value);
    }
    return value > 0;
  case BLIS_FORM_REASON:
    if (value > 0) {
      lua_pushstring(L, blis_recorder_reason(records->recorder, record));
    }
    return value > 0;
  default:
    break;
  }
  if (value < 0) {
    return false;
  }
  if (form == BLIS_FORM_INSTANCE) {
    push_instance_id(L, value, records->id_digits);
  } else if (form == BLIS_FORM_NANO || form == BLIS_FORM_PICO) {
    lua_pushnumber(L, (double)value / (form == BLIS_FORM_NANO ? 1e9 : 1e12));
  } else {
    lua_pushinteger(L, value);
  }
  return true;
}

static void set_id(lua_State *L, const bind_records *records, size_t index,
                   const blis_record *record) {
  int64_t session = blis_recorder_extra(records->recorder, index, BLIS_EXTRA_session);
  int64_t round = blis_recorder_extra(records->recorder, index, BLIS_EXTRA_round_index);
  const blis_request named = {.number = record->number,
                              .session = session < 0 ? 0 : (uint32_t)session,
                              .round_index = round < 0 ? 0 : (int32_t)round};
  char id[BLIS_REQUEST_ID_SIZE];
  set_field_string(L, "id", blis_request_id(&named, records->source.source.strings, id));
}

/* Sets the HTTP status of a rejection at the gateway queue. */
static void set_status_code(lua_State *L, const bind_records *records, const blis_record *record) {
  int code = blis_gateway_status_code(blis_recorder_reason(records->recorder, record));
  if (code != 0) {
    set_field_integer(L, "status_code", code);
  }
}

static void set_tier_tokens(lua_State *L, const bind_records *records, size_t index) {
  uint32_t tiers = blis_recorder_tier_count(records->recorder);
  if (tiers == 0 || blis_recorder_tier_tokens(records->recorder, index, 0) < 0) {
    return;
  }
  lua_createtable(L, (int)tiers, 0);
  for (uint32_t t = 0; t < tiers; t++) {
    lua_pushinteger(L, blis_recorder_tier_tokens(records->recorder, index, t));
    lua_rawseti(L, -2, (lua_Integer)t + 1);
  }
  lua_setfield(L, -2, "tier_tokens");
}

void push_record_table(lua_State *L, const bind_records *records, size_t index) {
  const blis_record record = blis_recorder_record(records->recorder, index);
  size_t count;
  const blis_record_field *fields = blis_record_fields(&count);
  lua_createtable(L, 0, 20);
  for (size_t i = 0; i < count; i++) {
    const blis_record_field *field = &fields[i];
    if (field->kind != BLIS_FIELD_OTHER &&
        push_value(L, records, &record, field->form, value_at(records, index, &record, field))) {
      lua_setfield(L, -2, field->name);
    }
  }
  set_id(L, records, index, &record);
  set_status_code(L, records, &record);
  set_tier_tokens(L, records, index);
  double priority;
  if (blis_recorder_priority(records->recorder, index, &priority)) {
    push_signal(L, priority);
    lua_setfield(L, -2, "priority");
  }
  set_record_attempts(L, records, &record);
  set_printable(L);
}

/* The table of fields. */

int bind_record_fields(lua_State *L) {
  size_t count;
  const blis_record_field *fields = blis_record_fields(&count);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    const blis_record_field *field = &fields[i];
    lua_createtable(L, 0, 6);
    set_field_string(L, "name", field->name);
    set_field_string(L, "type", blis_record_field_type(field));
    set_field_string(L, "when", field->when);
    set_field_string(L, "doc", field->text);
    lua_pushboolean(L, (field->surfaces & BLIS_SURFACE_SAVED) != 0);
    lua_setfield(L, -2, "saved");
    lua_pushboolean(L, (field->surfaces & BLIS_SURFACE_EXPORTED) != 0);
    lua_setfield(L, -2, "exported");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* Reading. */

/* Fields that only requests have. Requests of an instance become records; see lone_instance.c. */
static const char *const of_requests[] = {"deadline_us",   "content",      "max_output_tokens",
                                          "client",        "prefix_group", "prefix_tokens",
                                          "shared_tokens", "cascade",      "mean_logprob"};

enum { NAMES_MAX = 80 };

static void check_known(lua_State *L) {
  const char *known[NAMES_MAX];
  size_t count;
  size_t others = sizeof of_requests / sizeof *of_requests;
  const blis_record_field *fields = blis_record_fields(&count);
  BLIS_ASSERT(count + others <= NAMES_MAX);
  for (size_t i = 0; i < count; i++) {
    known[i] = fields[i].name;
  }
  memcpy(&known[count], of_requests, sizeof of_requests);
  check_names(L, RECORD, "a record", known, count + others);
}

/* Returns the value on top of the stack as an integer, within the limits of its form. */
static int64_t check_integer(lua_State *L, const char *name, blis_record_form form) {
  const blis_record_form_facts *facts = blis_record_form_facts_of(form);
  int is_integer = 0;
  int64_t value = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || value < facts->least || value > facts->most) {
    luaL_error(L, "a request has %s = %s, expected an integer from %I to %I", name,
               push_what(L, -1), (LUAI_UACINT)facts->least, (LUAI_UACINT)facts->most);
  }
  return value;
}

static int64_t check_amount(lua_State *L, const char *name, blis_record_form form) {
  double parts = form == BLIS_FORM_NANO ? 1e9 : 1e12;
  double most = (double)blis_record_form_facts_of(form)->most / parts;
  double amount = check_field_number(L, RECORD, name);
  if (!(amount >= 0 && amount <= most)) {
    luaL_error(L, "%s: invalid value %f: expected a number from 0 to %f", name, amount, most);
  }
  return (int64_t)(amount * parts + 0.5);
}

static uint32_t check_text(lua_State *L, bind_records *records, const char *name) {
  if (lua_type(L, -1) != LUA_TSTRING) {
    luaL_error(L, "a request has %s = %s, expected a string", name, push_what(L, -1));
  }
  uint32_t id = 0;
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  check_status(L, blis_intern_add(records->strings, text, length, &id), NULL);
  return id;
}

/* Returns the value of a field of the record. The value is on top of the stack and not nil. */
static int64_t check_value(lua_State *L, bind_records *records, const blis_record_field *field) {
  switch (field->form) {
  case BLIS_FORM_FLAG:
    return lua_toboolean(L, -1);
  case BLIS_FORM_STATE:
    return check_record_state(L, RECORD);
  case BLIS_FORM_INSTANCE:
    return check_record_instance(L, records, RECORD, field->name);
  case BLIS_FORM_TEXT:
  case BLIS_FORM_NAME:
    return check_text(L, records, field->name);
  case BLIS_FORM_NANO:
  case BLIS_FORM_PICO:
    return check_amount(L, field->name, field->form);
  default:
    return check_integer(L, field->name, field->form);
  }
}

/* Returns the value of a field that is not set. */
static int64_t unset_value(blis_record_form form) {
  return form == BLIS_FORM_MAYBE || form == BLIS_FORM_INSTANCE ? -1 : 0;
}

static void check_fields(lua_State *L, bind_records *records, blis_record *record,
                         blis_record_extras *extras) {
  size_t count;
  const blis_record_field *fields = blis_record_fields(&count);
  for (size_t i = 0; i < count; i++) {
    const blis_record_field *field = &fields[i];
    bool is_member = field->kind == BLIS_FIELD_MEMBER;
    if (field->kind == BLIS_FIELD_OTHER || field->form == BLIS_FORM_REASON) {
      continue;
    }
    bool is_nil = lua_getfield(L, RECORD, field->name) == LUA_TNIL;
    if (is_nil && is_member) {
      blis_record_set(record, (blis_record_member)field->number, unset_value(field->form));
    } else if (!is_nil) {
      int64_t value = check_value(L, records, field);
      if (is_member) {
        blis_record_set(record, (blis_record_member)field->number, value);
      } else if (value > 0 || field->form != BLIS_FORM_TEXT) { /* "" = not set */
        blis_record_extras_set(extras, (blis_record_extra)field->number, value);
      }
    }
    lua_pop(L, 1);
  }
}

/* Reads the KV tier hits of the record. Returns false if it has none. */
static bool check_hits(lua_State *L, const bind_records *records, const blis_record_extras *extras,
                       blis_kv_hits *hits) {
  uint32_t others = blis_recorder_tier_count(records->recorder);
  int64_t cached = blis_record_extras_get(extras, BLIS_EXTRA_cached_tokens);
  if (cached < 0) {
    return false;
  }
  *hits = (blis_kv_hits){.cached_tokens = cached};
  if (lua_getfield(L, RECORD, "tier_tokens") != LUA_TTABLE || lua_rawlen(L, -1) < 1 ||
      lua_rawlen(L, -1) > BLIS_KV_TIERS_MAX) {
    luaL_error(L, "a request has tier_tokens = %s, expected a list of 1 to %d", push_what(L, -1),
               BLIS_KV_TIERS_MAX);
  }
  hits->count = (uint32_t)lua_rawlen(L, -1);
  if (others > 0 && hits->count != others) {
    luaL_error(L, "a request has tokens in %d KV tiers, and another one in %d", (int)hits->count,
               (int)others);
  }
  for (uint32_t t = 0; t < hits->count; t++) {
    lua_rawgeti(L, -1, (lua_Integer)t + 1);
    int is_integer = 0;
    hits->tier_tokens[t] = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || hits->tier_tokens[t] < 0 || hits->tier_tokens[t] > UINT32_MAX) {
      luaL_error(L, "a request has tier_tokens[%d] = %s, expected a number of tokens", (int)t + 1,
                 push_what(L, -1));
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return true;
}

/* Checks that a completed request has all times, because metrics are computed from them. */
static void check_times(lua_State *L, const blis_record *record) {
  static const char *const times[] = {"ttft_us", "e2e_us", "end_us"};
  if (!blis_record_is_completed(record)) {
    return;
  }
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    if (lua_getfield(L, RECORD, times[i]) == LUA_TNIL) {
      luaL_error(L, "a %s request has no %s", blis_request_state_name(record->state), times[i]);
    }
    lua_pop(L, 1);
  }
  if (record->end_us < record->arrival_us) {
    luaL_error(L, "a request has arrival_us = %I and end_us = %I, which is less",
               (LUAI_UACINT)record->arrival_us, (LUAI_UACINT)record->end_us);
  }
  if (record->ttft_us > record->e2e_us) {
    luaL_error(L, "a request has ttft_us = %I and e2e_us = %I, which is less",
               (LUAI_UACINT)record->ttft_us, (LUAI_UACINT)record->e2e_us);
  }
}

int bind_records_add(lua_State *L) {
  bind_records *self = check_records(L, 1);
  luaL_argcheck(L, self->strings != NULL, 1, "the requests of a run");
  luaL_checktype(L, RECORD, LUA_TTABLE);
  lua_settop(L, RECORD);
  check_known(L);
  blis_record record = {0};
  blis_record_extras extras = {0};
  check_record_state(L, RECORD);
  check_fields(L, self, &record, &extras);
  check_times(L, &record);
  blis_kv_hits hits;
  bool has_hits = check_hits(L, self, &extras, &hits);
  const char *reason = opt_field_string(L, RECORD, "reason");
  double priority = opt_field_number(L, RECORD, "priority", 0);
  check_record_attempts(L, RECORD, self, &record);
  check_status(L,
               blis_recorder_add(self->recorder, &record, reason, priority, &extras,
                                 has_hits ? &hits : NULL),
               NULL);
  return 0;
}
