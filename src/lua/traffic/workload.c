#include "lua/traffic/workload.h"

#include "lua/bind/bind.h"

blis_workload **push_workload(lua_State *L) {
  blis_workload **self = lua_newuserdatauv(L, sizeof *self, 0);
  *self = NULL;
  luaL_setmetatable(L, WORKLOAD_TYPE);
  return self;
}

const blis_workload *check_workload(lua_State *L, int index) {
  blis_workload **self = luaL_checkudata(L, index, WORKLOAD_TYPE);
  luaL_argcheck(L, *self != NULL, index, "the workload is empty");
  return *self;
}

static void set_lengths(lua_State *L, const char *name, const blis_length_statistics *lengths) {
  lua_createtable(L, 0, 7);
  set_field_integer(L, "sum", lengths->sum);
  set_field_number(L, "mean", lengths->mean);
  set_field_integer(L, "min", lengths->min);
  set_field_integer(L, "p50", lengths->p50);
  set_field_integer(L, "p90", lengths->p90);
  set_field_integer(L, "p99", lengths->p99);
  set_field_integer(L, "max", lengths->max);
  set_printable(L);
  lua_setfield(L, -2, name);
}

uint32_t check_block_size(lua_State *L) {
  lua_Integer block_size = luaL_optinteger(L, 2, 16);
  luaL_argcheck(L, block_size >= 1 && block_size <= UINT32_MAX, 2,
                "a block has at least one token");
  return (uint32_t)block_size;
}

void push_statistics(lua_State *L, const blis_workload_statistics *measured,
                     lua_Integer block_size) {
  lua_createtable(L, 0, 19);
  set_field_integer(L, "requests", measured->count);
  set_field_integer(L, "first_arrival_us", measured->first_arrival_us);
  set_field_integer(L, "last_arrival_us", measured->last_arrival_us);
  set_field_number(L, "requests_per_sec", measured->requests_per_sec);
  set_field_integer(L, "busiest_second", measured->busiest_second);
  set_field_number(L, "gap_cv", measured->gap_cv);
  set_lengths(L, "prompt_tokens", &measured->prompt);
  set_lengths(L, "output_tokens", &measured->output);
  set_field_integer(L, "block_size", block_size);
  set_field_integer(L, "reused_tokens", measured->reused_tokens);
  set_field_number(L, "reused_share", measured->reused_share);
  set_field_integer(L, "shareable_blocks", measured->shareable_blocks);
  set_field_integer(L, "tenants", measured->tenants);
  set_field_integer(L, "slo_classes", measured->slo_classes);
  set_field_integer(L, "models", measured->models);
  set_field_integer(L, "sessions", measured->sessions);
  set_field_integer(L, "clients", measured->clients);
  set_field_integer(L, "prefix_groups", measured->prefix_groups);
  set_lengths(L, "turns", &measured->turns);
  set_printable(L);
}

void push_recorded_request(lua_State *L, const blis_request *request, const blis_intern *strings) {
  lua_createtable(L, 0, 19);
  const bind_request_name name = {.number = request->number,
                                  .session = blis_intern_text(strings, request->session),
                                  .round_index = request->round_index};
  push_request_id(L, &name);
  lua_setfield(L, -2, "id");
  set_field_integer(L, "arrival_us", request->arrival_us);
  if (request->deadline_us != 0) {
    set_field_integer(L, "deadline_us", request->deadline_us);
  }
  set_field_integer(L, "prompt_tokens", request->prompt_tokens);
  set_field_integer(L, "output_tokens", request->output_tokens);
  set_field_integer(L, "max_output_tokens", request->max_output_tokens);
  set_field_integer(L, "shared_tokens", request->shared_tokens);
  set_field_text(L, "tenant", strings, request->tenant);
  set_field_text(L, "slo_class", strings, request->slo_class);
  set_field_text(L, "model", strings, request->model);
  set_field_text(L, "session", strings, request->session);
  set_field_text(L, "client", strings, request->client);
  set_field_text(L, "adapter", strings, request->adapter);
  if (request->cascade != 0) {
    set_field_text(L, "cascade", strings, request->cascade);
  }
  if (request->mean_logprob != 0) {
    set_field_text(L, "mean_logprob", strings, request->mean_logprob);
  }
  set_field_text(L, "prefix_group", strings, request->prefix_group);
  set_field_integer(L, "prefix_tokens", request->prefix_tokens);
  set_field_integer(L, "round_index", request->round_index);
  set_printable(L);
}

void push_workload_request(lua_State *L, const blis_workload *workload, size_t index) {
  push_recorded_request(L, blis_workload_request(workload, index), blis_workload_strings(workload));
}

void push_goodput_targets(lua_State *L, const blis_goodput_target *targets, size_t count) {
  lua_newtable(L);
  for (size_t i = 0; i < count; i++) {
    lua_createtable(L, 0, 4);
    set_field_string(L, "slo_class", targets[i].slo_class);
    set_field_number(L, "ttft_ms", targets[i].ttft_ms);
    set_field_number(L, "itl_ms", targets[i].itl_ms);
    set_field_number(L, "e2e_ms", targets[i].e2e_ms);
    set_printable(L);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_printable(L);
}

void push_notes(lua_State *L, const blis_workload *workload) {
  lua_newtable(L);
  for (size_t i = 0; i < blis_workload_note_count(workload); i++) {
    lua_pushstring(L, blis_workload_note_text(workload, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  set_printable(L);
}
