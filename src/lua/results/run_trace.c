#include "lua/results/run_trace.h"

#include "lua/bind/bind.h"
#include "lua/results/records.h"
#include "lua/traffic/workload.h"
#include "results/analysis/run_trace.h"
#include "workload/generate/source_copy.h"

int bind_run_requests(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  if (records->source.copy == NULL) {
    lua_pushnil(L);
    return 1;
  }
  blis_workload **made = push_workload(L);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_source_copy_get(records->source.copy, &alloc, made, &error), &error);
  return 1;
}

/* Reads {{slo_class =, ttft_ms =, itl_ms =, e2e_ms =}, ...} at index, which must remain there. */
static void check_targets(lua_State *L, int index, blis_trace_write_options *options) {
  lua_getfield(L, index, "targets");
  luaL_checktype(L, -1, LUA_TTABLE);
  int list = lua_gettop(L);
  options->target_count = lua_rawlen(L, list);
  blis_goodput_target *targets = push_buffer(L, options->target_count, sizeof *targets);
  for (size_t i = 0; i < options->target_count; i++) {
    lua_rawgeti(L, list, (lua_Integer)i + 1);
    targets[i] = (blis_goodput_target){
        .slo_class = check_field_string(L, -1, "slo_class"),
        .ttft_ms = opt_field_number(L, -1, "ttft_ms", 0),
        .itl_ms = opt_field_number(L, -1, "itl_ms", 0),
        .e2e_ms = opt_field_number(L, -1, "e2e_ms", 0),
    };
    lua_pop(L, 1);
  }
  options->targets = targets;
}

int bind_run_trace_write(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  const char *path = luaL_checkstring(L, 2);
  luaL_checktype(L, 3, LUA_TTABLE);
  luaL_argcheck(L, records->source.copy != NULL, 1, "no requests were kept");
  bool has_seed = lua_getfield(L, 3, "seed") != LUA_TNIL;
  blis_trace_write_options options = {
      .format = opt_field_string(L, 3, "format"),
      .is_replay = opt_field_boolean(L, 3, "is_replay", false),
      .has_seed = has_seed,
      .seed = opt_field_integer(L, 3, "seed", 0),
  };
  check_targets(L, 3, &options);
  lua_pushcfunction(L, bind_run_requests);
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  const blis_workload *requests = check_workload(L, -1);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  check_status(L, blis_recorder_sort(records->recorder), NULL);
  check_status(L, blis_run_trace_write(&alloc, path, requests, records->recorder, &options, &error),
               &error);
  return 0;
}
