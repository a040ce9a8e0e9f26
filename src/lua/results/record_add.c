#include "lua/results/record_add.h"

#include <inttypes.h>
#include <string.h>

#include "lua/bind/bind.h"
#include "lua/results/attempts.h"
#include "lua/results/records.h"

enum { RECORD = 2 }; /* its index in calls of add */

/* 285 years: sums over as many requests as memory has room for do not
   overflow. */
static const int64_t time_max_us = INT64_C(1) << 53;

/* What is kept, what follows from it, and what only requests have. */
static const char *const known[] = {
    "number", "state", "instance", "arrival_us", "ttft_us", "e2e_us", "scheduling_delay_us",
    "itl_sum_us", "itl_count", "end_us", "gateway_wait_us", "adapter_wait_us", "drafted_tokens",
    "accepted_tokens", "energy_j", "carbon_g", "prompt_tokens", "output_tokens", "tenant",
    "slo_class", "model", "session", "round_index", "was_counted", "had_hit", "reason", "priority",
    "attempts", "program", "encode_instance", "encode_start_us", "encode_end_us",
    "prefill_instance", "prefill_admitted_us", "prefill_end_us", "transfer_start_us",
    "transfer_end_us", "moved_bytes", "prefill_e2e_us", "decode_e2e_us", "cached_tokens",
    "tier_tokens",
    /* follow */
    "id", "status_code", "steps", "model_used", "verdict",
    /* of requests */
    "deadline_us", "content", "max_output_tokens", "client", "prefix_group", "prefix_tokens",
    "shared_tokens", "adapter", "cascade", "mean_logprob"};

static int64_t integer_of(lua_State *L, const char *name, int64_t low, int64_t high,
                          int64_t fallback) {
  int64_t value = fallback;
  if (lua_getfield(L, RECORD, name) != LUA_TNIL) {
    int is_integer = 0;
    value = lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || value < low || value > high) {
      luaL_error(L, "a request has %s = %s, expected an integer from %I to %I", name,
                 push_what(L, -1), (LUAI_UACINT)low, (LUAI_UACINT)high);
    }
  }
  lua_pop(L, 1);
  return value;
}

/* -1 = it never came. */
static int64_t time_of(lua_State *L, const char *name) {
  return integer_of(L, name, 0, time_max_us, -1);
}

static uint32_t text_of(lua_State *L, bind_records *self, const char *name) {
  uint32_t id = 0;
  if (lua_getfield(L, RECORD, name) != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TSTRING) {
      luaL_error(L, "a request has %s = %s, expected a text", name, push_what(L, -1));
    }
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    check_status(L, blis_intern_add(self->strings, text, length, &id), NULL);
  }
  lua_pop(L, 1);
  return id;
}

static blis_request check_request(lua_State *L, bind_records *self) {
  return (blis_request){
      .number = integer_of(L, "number", INT64_MIN, INT64_MAX, 0),
      .arrival_us = integer_of(L, "arrival_us", 0, time_max_us, 0),
      .prompt_tokens = (uint32_t)integer_of(L, "prompt_tokens", 0, UINT32_MAX, 0),
      .output_tokens = (uint32_t)integer_of(L, "output_tokens", 0, UINT32_MAX, 0),
      .tenant = text_of(L, self, "tenant"),
      .slo_class = text_of(L, self, "slo_class"),
      .model = text_of(L, self, "model"),
      .adapter = text_of(L, self, "adapter"),
      .session = text_of(L, self, "session"),
      .round_index = (int32_t)integer_of(L, "round_index", 0, INT32_MAX, 0),
  };
}

/* Where stages of it were apart; false where none was. */
static bool check_stages(lua_State *L, blis_stage_times *stages) {
  *stages = (blis_stage_times){
      .encode_instance = check_record_instance(L, RECORD, "encode_instance"),
      .prefill_instance = check_record_instance(L, RECORD, "prefill_instance"),
      .decode_instance = -1,
      .encode_start_us = time_of(L, "encode_start_us"),
      .encode_end_us = time_of(L, "encode_end_us"),
      .prefill_admitted_us = time_of(L, "prefill_admitted_us"),
      .prefill_end_us = time_of(L, "prefill_end_us"),
      .transfer_start_us = time_of(L, "transfer_start_us"),
      .transfer_end_us = time_of(L, "transfer_end_us"),
      .moved_bytes = integer_of(L, "moved_bytes", 0, time_max_us, 0),
      .prefill_e2e_us = time_of(L, "prefill_e2e_us"),
      .decode_e2e_us = time_of(L, "decode_e2e_us"),
  };
  return stages->encode_instance >= 0 || stages->prefill_instance >= 0;
}

/* What was found of its prompt; false where nothing is said. */
static bool check_hits(lua_State *L, const bind_records *self, blis_kv_hits *hits) {
  uint32_t others = blis_recorder_tier_count(self->recorder);
  int64_t cached = integer_of(L, "cached_tokens", 0, UINT32_MAX - 1, -1);
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
      luaL_error(L,
                 "a request has tier_tokens[%d] = %s, expected a number of "
                 "tokens",
                 (int)t + 1, push_what(L, -1));
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return true;
}

/* In parts of which a unit has so many; -1 = it has none. */
static int64_t amount_of(lua_State *L, const char *name, double parts, double most) {
  double amount = opt_field_number(L, RECORD, name, -1);
  if (amount == -1) {
    return -1;
  }
  if (!(amount >= 0 && amount <= most)) {
    luaL_error(L, "%s: %f is not allowed, expected a number from 0 to %f", name, amount, most);
  }
  return (int64_t)(amount * parts + 0.5);
}

/* Of at most 2^53 nJ, up to which they are whole. */
static int64_t energy_of(lua_State *L) {
  return amount_of(L, "energy_j", 1e9, (double)(INT64_C(1) << 53) / 1e9);
}

static blis_request_end check_end(lua_State *L) {
  return (blis_request_end){
      .state = check_record_state(L, RECORD),
      .instance = check_record_instance(L, RECORD, "instance"),
      .reason = opt_field_string(L, RECORD, "reason"),
      .was_counted = opt_field_boolean(L, RECORD, "was_counted", false),
      .had_hit = opt_field_boolean(L, RECORD, "had_hit", false),
      .ttft_us = time_of(L, "ttft_us"),
      .e2e_us = time_of(L, "e2e_us"),
      .scheduling_delay_us = time_of(L, "scheduling_delay_us"),
      .itl_sum_us = integer_of(L, "itl_sum_us", 0, time_max_us, 0),
      .itl_count = integer_of(L, "itl_count", 0, UINT32_MAX, 0),
      .end_us = integer_of(L, "end_us", 0, time_max_us, 0),
      .gateway_wait_us = time_of(L, "gateway_wait_us"),
      .adapter_wait_us = time_of(L, "adapter_wait_us"),
      .energy_nj = energy_of(L),
      .carbon_pg = amount_of(L, "carbon_g", 1e12, 8e6),
      .drafted_tokens = integer_of(L, "drafted_tokens", 0, time_max_us, -1),
      .accepted_tokens = integer_of(L, "accepted_tokens", 0, time_max_us, -1),
      .priority = opt_field_number(L, RECORD, "priority", 0),
  };
}

/* Figures are made of the times of completed requests, which all have them. */
static void check_times(lua_State *L, const blis_request_end *end) {
  static const char *const times[] = {"ttft_us", "e2e_us", "end_us"};
  if (!blis_request_is_completed(end->state)) {
    return;
  }
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    if (lua_getfield(L, RECORD, times[i]) == LUA_TNIL) {
      luaL_error(L, "a %s request has no %s", blis_request_state_name(end->state), times[i]);
    }
    lua_pop(L, 1);
  }
  if (end->end_us < end->request->arrival_us) {
    luaL_error(L, "a request has arrival_us = %I and end_us = %I, which is less",
               (LUAI_UACINT)end->request->arrival_us, (LUAI_UACINT)end->end_us);
  }
  if (end->ttft_us > end->e2e_us) {
    luaL_error(L, "a request has ttft_us = %I and e2e_us = %I, which is less",
               (LUAI_UACINT)end->ttft_us, (LUAI_UACINT)end->e2e_us);
  }
}

int bind_records_add(lua_State *L) {
  bind_records *self = check_records(L, 1);
  luaL_argcheck(L, self->strings != NULL, 1, "the requests of a run");
  luaL_checktype(L, RECORD, LUA_TTABLE);
  lua_settop(L, RECORD);
  check_names(L, RECORD, "a record", known, sizeof known / sizeof *known);
  blis_request request = check_request(L, self);
  const blis_program program = {.name = text_of(L, self, "program")};
  const blis_call call = {.program = &program};
  request.call = program.name != 0 ? &call : NULL;
  blis_stage_times stages;
  blis_request_end end = check_end(L);
  end.request = &request;
  check_times(L, &end);
  end.stages = check_stages(L, &stages) ? &stages : NULL;
  blis_kv_hits hits;
  end.hits = check_hits(L, self, &hits) ? &hits : NULL;
  check_record_attempts(L, RECORD, self, &request);
  const blis_request_sink *sink = blis_recorder_sink(self->recorder);
  blis_error error = {0};
  check_status(L, sink->ended(sink->ud, &end, &error), &error);
  return 0;
}
