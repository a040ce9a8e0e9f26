#include "lua/results/record_list.h"

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/results/attempts.h"
#include "lua/results/figures.h"
#include "lua/results/load.h"
#include "lua/results/outcomes.h"
#include "lua/results/records.h"
#include "lua/results/spread.h"
#include "lua/results/steady.h"

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

/* Times that never came are nil. */
static void set_time(lua_State *L, const char *name, int64_t time_us) {
  if (time_us >= 0) {
    set_field_integer(L, name, time_us);
  }
}

static void set_instance(lua_State *L, const char *name, int32_t instance) {
  lua_pushfstring(L, "instance_%I", (LUAI_UACINT)instance);
  lua_setfield(L, -2, name);
}

/* Where stages of the request were apart. */
static void set_stages(lua_State *L, const blis_stage_times *stages) {
  if (stages != NULL && stages->encode_instance >= 0) {
    set_instance(L, "encode_instance", stages->encode_instance);
    set_time(L, "encode_start_us", stages->encode_start_us);
    set_time(L, "encode_end_us", stages->encode_end_us);
  }
  if (stages == NULL || stages->prefill_instance < 0) {
    return;
  }
  set_instance(L, "prefill_instance", stages->prefill_instance);
  set_time(L, "prefill_admitted_us", stages->prefill_admitted_us);
  set_time(L, "prefill_end_us", stages->prefill_end_us);
  set_time(L, "transfer_start_us", stages->transfer_start_us);
  set_time(L, "transfer_end_us", stages->transfer_end_us);
  set_field_integer(L, "moved_bytes", stages->moved_bytes);
  set_time(L, "prefill_e2e_us", stages->prefill_e2e_us);
  set_time(L, "decode_e2e_us", stages->decode_e2e_us);
}

/* Of who was turned away at the gateway's queue. */
static void set_status_code(lua_State *L, const char *reason) {
  int code = blis_gateway_status_code(reason);
  if (code != 0) {
    set_field_integer(L, "status_code", code);
  }
}

static void push_record(lua_State *L, const bind_records *self, size_t index) {
  const blis_record kept = blis_recorder_record(self->recorder, index);
  const blis_record *record = &kept;
  const blis_intern *strings = self->source.source.strings;
  lua_createtable(L, 0, 20);
  const blis_request named = {.number = record->number,
                              .session = record->session,
                              .round_index = record->round_index};
  char id[BLIS_REQUEST_ID_SIZE];
  set_field_string(L, "id", blis_request_id(&named, strings, id));
  set_field_string(L, "state", blis_request_state_name(record->state));
  set_field_integer(L, "number", record->number);
  set_field_integer(L, "arrival_us", record->arrival_us);
  set_time(L, "ttft_us", record->ttft_us);
  set_time(L, "e2e_us", record->e2e_us);
  set_time(L, "scheduling_delay_us", record->scheduling_delay_us);
  set_field_integer(L, "itl_sum_us", record->itl_sum_us);
  set_field_integer(L, "itl_count", record->itl_count);
  set_field_integer(L, "end_us", record->end_us);
  set_time(L, "gateway_wait_us", record->gateway_wait_us);
  set_field_integer(L, "prompt_tokens", record->prompt_tokens);
  set_field_integer(L, "output_tokens", record->output_tokens);
  if (record->instance >= 0) {
    set_instance(L, "instance", record->instance);
  }
  set_field_text(L, "tenant", strings, record->tenant);
  set_field_text(L, "slo_class", strings, record->slo_class);
  set_field_text(L, "model", strings, record->model);
  set_field_text(L, "session", strings, record->session);
  if (record->session != 0) {
    set_field_integer(L, "round_index", record->round_index);
  }
  lua_pushboolean(L, record->was_counted);
  lua_setfield(L, -2, "was_counted");
  lua_pushboolean(L, record->had_hit);
  lua_setfield(L, -2, "had_hit");
  const char *reason = blis_recorder_reason(self->recorder, record);
  if (reason[0] != '\0') {
    set_field_string(L, "reason", reason);
    set_status_code(L, reason);
  }
  double priority;
  if (blis_recorder_priority(self->recorder, index, &priority)) {
    push_signal(L, priority);
    lua_setfield(L, -2, "priority");
  }
  set_stages(L, blis_recorder_stages(self->recorder, index));
  set_record_attempts(L, self, record);
}

static int records_index(lua_State *L) {
  const bind_records *self = check_records(L, 1);
  size_t count = blis_recorder_count(self->recorder);
  int64_t place = check_list_item(L, "a list of requests", count);
  if (place >= 0) {
    check_status(L, blis_recorder_sort(self->recorder), NULL);
    push_record(L, self, (size_t)place);
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
  lua_pushfstring(L, "list of %I requests",
                  (LUAI_UACINT)blis_recorder_count(self->recorder));
  return 1;
}

/* hash(): 16 hexadecimal digits over all records. */
static int records_hash(lua_State *L) {
  const bind_records *self = check_records(L, 1);
  push_hash(L, blis_recorder_hash(self->recorder));
  return 1;
}

/* Records that a script adds. */

static int64_t record_integer(lua_State *L, const char *name, int64_t low,
                              int64_t high, int64_t fallback) {
  int64_t value = fallback;
  if (lua_getfield(L, 2, name) != LUA_TNIL) {
    int is_integer = 0;
    value = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || value < low || value > high) {
      luaL_error(L, "a request has %s = %s, expected an integer from %I to %I",
                 name, push_what(L, -1), (LUAI_UACINT)low, (LUAI_UACINT)high);
    }
  }
  lua_pop(L, 1);
  return value;
}

static uint32_t record_text(lua_State *L, bind_records *self,
                            const char *name) {
  uint32_t id = 0;
  if (lua_getfield(L, 2, name) != LUA_TNIL) {
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    if (lua_type(L, -1) != LUA_TSTRING) {
      luaL_error(L, "a request has %s = %s, expected a text", name,
                 push_what(L, -1));
    }
    check_status(L, blis_intern_add(self->strings, text, length, &id), NULL);
  }
  lua_pop(L, 1);
  return id;
}

static blis_request record_request(lua_State *L, bind_records *self) {
  return (blis_request){
      .number = record_integer(L, "number", INT64_MIN, INT64_MAX, 0),
      .arrival_us = record_integer(L, "arrival_us", 0, INT64_MAX, 0),
      .prompt_tokens =
          (uint32_t)record_integer(L, "prompt_tokens", 0, UINT32_MAX, 0),
      .output_tokens =
          (uint32_t)record_integer(L, "output_tokens", 0, UINT32_MAX, 0),
      .tenant = record_text(L, self, "tenant"),
      .slo_class = record_text(L, self, "slo_class"),
      .model = record_text(L, self, "model"),
      .session = record_text(L, self, "session"),
      .round_index = (int32_t)record_integer(L, "round_index", 0, INT32_MAX, 0),
  };
}

/* add(record): one more, with the fields that list[i] has. */
static int records_add(lua_State *L) {
  bind_records *self = check_records(L, 1);
  luaL_argcheck(L, self->strings != NULL, 1, "the requests of a run");
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  const blis_request request = record_request(L, self);
  const blis_request_end end = {
      .request = &request,
      .state = check_record_state(L, 2),
      .instance = check_record_instance(L, 2),
      .reason = opt_field_string(L, 2, "reason"),
      .was_counted = opt_field_boolean(L, 2, "was_counted", false),
      .had_hit = opt_field_boolean(L, 2, "had_hit", false),
      .ttft_us = record_integer(L, "ttft_us", 0, INT64_MAX, -1),
      .e2e_us = record_integer(L, "e2e_us", 0, INT64_MAX, -1),
      .scheduling_delay_us =
          record_integer(L, "scheduling_delay_us", 0, INT64_MAX, -1),
      .itl_sum_us = record_integer(L, "itl_sum_us", 0, INT64_MAX, 0),
      .itl_count = record_integer(L, "itl_count", 0, UINT32_MAX, 0),
      .end_us = record_integer(L, "end_us", 0, INT64_MAX, 0),
      .gateway_wait_us = record_integer(L, "gateway_wait_us", 0, INT64_MAX, -1),
      .priority = opt_field_number(L, 2, "priority", 0),
  };
  const blis_request_sink *sink = blis_recorder_sink(self->recorder);
  blis_error error = {0};
  check_status(L, sink->ended(sink->ud, &end, &error), &error);
  check_record_attempts(L, 2, self, &request);
  return 0;
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
    {"add", records_add},
    {"after_completed", bind_records_after_completed},
    {"batches", bind_records_batches},
    {"goodput", bind_records_goodput},
    {"goodput_over_time", bind_records_goodput_over_time},
    {"groups", bind_records_groups},
    {"hash", records_hash},
    {"load", bind_records_load},
    {"outcomes", bind_records_outcomes},
    {"slowest", bind_records_slowest},
    {"spread", bind_records_spread},
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
