#include "lua/results/record_list.h"
#include "lua/results/tasks.h"

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/results/attempts.h"
#include "lua/results/figures.h"
#include "lua/results/load.h"
#include "lua/results/outcomes.h"
#include "lua/results/record_add.h"
#include "lua/results/records.h"
#include "lua/results/spread.h"
#include "lua/results/steady.h"
#include "lua/results/turned_away.h"

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

/* What never came is nil. */
static void set_count(lua_State *L, const char *name, int64_t count) {
  if (count >= 0) {
    set_field_integer(L, name, count);
  }
}

static void set_time(lua_State *L, const char *name, int64_t time_us) {
  set_count(L, name, time_us);
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

/* What was found of its prompt, with KV tiers: a list of these. */
static void set_hits(lua_State *L, const bind_records *self, size_t index) {
  blis_kv_hits hits;
  if (!blis_recorder_hits(self->recorder, index, &hits)) {
    return;
  }
  set_field_integer(L, "cached_tokens", hits.cached_tokens);
  lua_createtable(L, (int)hits.count, 0);
  for (uint32_t t = 0; t < hits.count; t++) {
    lua_pushinteger(L, hits.tier_tokens[t]);
    lua_rawseti(L, -2, (lua_Integer)t + 1);
  }
  lua_setfield(L, -2, "tier_tokens");
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
  const blis_request named = {
      .number = record->number, .session = record->session, .round_index = record->round_index};
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
  set_time(L, "adapter_wait_us", record->adapter_wait_us);
  set_count(L, "drafted_tokens", record->drafted_tokens);
  set_count(L, "accepted_tokens", record->accepted_tokens);
  if (record->energy_nj >= 0) {
    set_field_number(L, "energy_j", (double)record->energy_nj / 1e9);
  }
  if (record->carbon_pg >= 0) {
    set_field_number(L, "carbon_g", (double)record->carbon_pg / 1e12);
  }
  set_field_integer(L, "prompt_tokens", record->prompt_tokens);
  set_field_integer(L, "output_tokens", record->output_tokens);
  if (record->instance >= 0) {
    set_instance(L, "instance", record->instance);
  }
  set_field_text(L, "tenant", strings, record->tenant);
  set_field_text(L, "slo_class", strings, record->slo_class);
  set_field_text(L, "model", strings, record->model);
  if (record->adapter != 0) {
    set_field_text(L, "adapter", strings, record->adapter);
  }
  set_field_text(L, "session", strings, record->session);
  if (record->session != 0) {
    set_field_integer(L, "round_index", record->round_index);
  }
  if (record->program != 0) {
    set_field_text(L, "program", strings, record->program);
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
  set_hits(L, self, index);
  set_record_attempts(L, self, record);
  set_printable(L);
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
  lua_pushfstring(L, "list of %I requests", (LUAI_UACINT)blis_recorder_count(self->recorder));
  return 1;
}

/* hash(): 16 hexadecimal digits over all records. */
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
    {"measured", bind_records_measured},
    {"batches", bind_records_batches},
    {"goodput", bind_records_goodput},
    {"goodput_over_time", bind_records_goodput_over_time},
    {"groups", bind_records_groups},
    {"hash", records_hash},
    {"load", bind_records_load},
    {"outcomes", bind_records_outcomes},
    {"tasks", bind_records_tasks},
    {"slowest", bind_records_slowest},
    {"spread", bind_records_spread},
    {"turned_away", bind_records_turned_away},
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
