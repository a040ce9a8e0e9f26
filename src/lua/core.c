#include "lua/core.h"

#include <string.h>

#include "base/duration.h"
#include "base/nearest.h"
#include "lua/bind/bind.h"
#include "lua/bind/embedded.h"
#include "lua/bind/math_random.h"
#include "lua/bind/rng.h"
#include "lua/bind/sandbox.h"
#include "lua/bind/vector.h"
#include "lua/engine/capacity.h"
#include "lua/engine/catalogue.h"
#include "lua/engine/composed_constants.h"
#include "lua/engine/engine.h"
#include "lua/engine/kv_cache.h"
#include "lua/engine/latency_object.h"
#include "lua/engine/lone_instance.h"
#include "lua/engine/model_facts.h"
#include "lua/engine/step_parts.h"
#include "lua/files/csv.h"
#include "lua/files/folder.h"
#include "lua/files/json.h"
#include "lua/files/lines.h"
#include "lua/files/output.h"
#include "lua/files/sqlite.h"
#include "lua/files/terminal.h"
#include "lua/files/unpacked.h"
#include "lua/files/yaml.h"
#include "lua/live/desk.h"
#include "lua/policies/builtin/catalogue.h"
#include "lua/policies/routing/by_hand.h"
#include "lua/policies/routing/policy.h"
#include "lua/policies/routing/scorer.h"
#include "lua/policies/view/listening.h"
#include "lua/policies/view/prefix_index.h"
#include "lua/policies/view/token_ids.h"
#include "lua/results/decisions.h"
#include "lua/results/figures.h"
#include "lua/results/record_list.h"
#include "lua/results/record_methods.h"
#include "lua/results/record_table.h"
#include "lua/results/run_trace.h"
#include "lua/simulation/construct.h"
#include "lua/simulation/event_queue.h"
#include "lua/simulation/faults.h"
#include "lua/simulation/instance.h"
#include "lua/simulation/live.h"
#include "lua/simulation/simulation.h"
#include "lua/traffic/distribution.h"
#include "lua/traffic/graph_file.h"
#include "lua/traffic/graph_table.h"
#include "lua/traffic/observe.h"
#include "lua/traffic/request_table.h"
#include "lua/traffic/trace.h"
#include "lua/traffic/trace_stream.h"
#include "lua/traffic/trace_tools.h"
#include "lua/traffic/workload.h"
#include "lua/traffic/workload_methods.h"
#include "lua/traffic/written_spec.h"
#include "lua/workers/child.h"
#include "lua/workers/http_peer.h"
#include "lua/workers/journals.h"
#include "lua/workers/pipes.h"
#include "lua/workers/source_id.h"
#include "lua/workers/workers.h"
#include "policy/contract/signals.h"

/* embedded(name): returns the content of a file below data/ and its SHA-256, or nil. */
static int core_embedded(lua_State *L) {
  const blis_embedded_file *file = blis_embedded_find(luaL_checkstring(L, 1));
  if (file == NULL) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushlstring(L, file->bytes, file->size);
  lua_pushstring(L, file->sha256);
  return 2;
}

/*
 * suggestion(word, words[, otherwise]) returns the end of a message about an unknown word: "; did
 * you mean 'this'?", or "; " followed by otherwise or all words.
 */
static int core_suggestion(lua_State *L) {
  blis_nearest nearest = {.wanted = luaL_checkstring(L, 1)};
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_Integer count = luaL_len(L, 2);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_rawgeti(L, 2, i); /* the table keeps it alive */
    blis_nearest_offer(&nearest, luaL_checkstring(L, -1));
    lua_pop(L, 1);
  }
  const char *otherwise = luaL_optstring(L, 3, NULL);
  blis_suggestion suggestion = otherwise == NULL ? blis_nearest_suggest(&nearest)
                                                 : blis_nearest_suggest_or(&nearest, otherwise);
  lua_pushstring(L, suggestion.text);
  return 1;
}

/*
 * parse_duration(text): returns the microseconds of a string such as "30s". On failure returns nil
 * and "unit" or "malformed", or nil, "no unit", and the value if the string is a bare number.
 */
static int core_parse_duration(lua_State *L) {
  static const char *const faults[] = {[BLIS_DURATION_NO_UNIT] = "no unit",
                                       [BLIS_DURATION_UNIT] = "unit",
                                       [BLIS_DURATION_MALFORMED] = "malformed"};
  size_t length;
  const char *text = luaL_checklstring(L, 1, &length);
  double us = 0;
  blis_duration_fault fault = blis_parse_duration((blis_slice){text, length}, &us);
  if (fault == BLIS_DURATION_OK) {
    lua_pushnumber(L, us);
    return 1;
  }
  lua_pushnil(L);
  lua_pushstring(L, faults[fault]);
  if (fault != BLIS_DURATION_NO_UNIT) {
    return 2;
  }
  lua_pushnumber(L, us);
  return 3;
}

/* error_object(code, message): returns an argument for error(). */
static int core_error_object(lua_State *L) {
  push_error_object(L, luaL_checkstring(L, 1));
  luaL_checkstring(L, 2);
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "message");
  return 1;
}

/*
 * script_place(folder) returns the source, its short form, and the line of the innermost Lua
 * function whose source does not begin with folder. Returns nothing without such a function.
 */
static int core_script_place(lua_State *L) {
  size_t length;
  const char *folder = luaL_checklstring(L, 1, &length);
  lua_Debug place;
  for (int level = 1; lua_getstack(L, level, &place) != 0; level++) {
    lua_getinfo(L, "Sl", &place);
    if (place.what[0] != 'C' && strncmp(place.source, folder, length) != 0) {
      lua_pushlstring(L, place.source, place.srclen);
      lua_pushstring(L, place.short_src);
      lua_pushinteger(L, place.currentline);
      return 3;
    }
  }
  return 0;
}

/* signals(): returns {{name=, unit=, summary=, freshness=}, ...} */
static int core_signals(lua_State *L) {
  lua_createtable(L, BLIS_SIGNAL_COUNT, 0);
  for (int i = 0; i < BLIS_SIGNAL_COUNT; i++) {
    lua_createtable(L, 0, 4);
    set_field_string(L, "name", blis_signal_name((blis_signal)i));
    set_field_string(L, "unit", blis_signal_unit((blis_signal)i));
    set_field_string(L, "summary", blis_signal_summary((blis_signal)i));
    set_field_string(L, "freshness", blis_signal_freshness((blis_signal)i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* set_tostring(type, fn): sets the function that prints values of a type. */
static int core_set_tostring(lua_State *L) {
  luaL_checktype(L, 2, LUA_TFUNCTION);
  if (luaL_getmetatable(L, luaL_checkstring(L, 1)) != LUA_TTABLE) {
    return luaL_argerror(L, 1, "unknown type");
  }
  lua_pushvalue(L, 2);
  lua_setfield(L, -2, "__tostring");
  return 0;
}

/* Makes the table on top of the stack printable, and nested tables. Lists whose items are not
   tables are not traversed. */
static void set_all_printable(lua_State *L) {
  if (lua_getmetatable(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  luaL_checkstack(L, 8, "tables in tables are too deep");
  set_printable(L);
  bool is_flat = lua_rawgeti(L, -1, 1) != LUA_TTABLE && !lua_isnil(L, -1);
  lua_pop(L, 1);
  lua_pushnil(L);
  while (lua_next(L, -2) != 0) {
    if (lua_istable(L, -1)) {
      set_all_printable(L);
    }
    lua_pop(L, 1);
    if (is_flat && lua_isinteger(L, -1)) { /* items come before named fields */
      lua_pop(L, 1);
      return;
    }
  }
}

/* printable(table): makes it, and nested tables without a metatable, print as short Lua. Returns
   it. */
static int core_printable(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  set_all_printable(L);
  return 1;
}

/* is_workload(value): returns whether value is a list of requests, not a specification */
static int core_is_workload(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, luaL_testudata(L, 1, WORKLOAD_TYPE) != NULL);
  return 1;
}

/* is_trace_stream(value): returns whether value is a stream of a trace file */
static int core_is_trace_stream(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, luaL_testudata(L, 1, TRACE_STREAM_TYPE) != NULL);
  return 1;
}

/* is_graph_file(value): returns whether graph_file() returned value */
static int core_is_graph_file(lua_State *L) {
  lua_pushboolean(L, bind_graph_file_at(L, 1) != NULL);
  return 1;
}

/* is_workload_spec(value): returns whether workload_spec() returned value */
static int core_is_workload_spec(lua_State *L) {
  luaL_checkany(L, 1);
  lua_pushboolean(L, luaL_testudata(L, 1, WRITTEN_SPEC_TYPE) != NULL);
  return 1;
}

static const luaL_Reg core_functions[] = {
    {"call_seeded", bind_call_seeded},
    {"catalogue", bind_catalogue_new},
    {"check_arrival", bind_check_arrival},
    {"check_distribution", bind_check_distribution},
    {"child", bind_child_new},
    {"http_peer", bind_http_peer_new},
    {"claim_file", bind_file_claim},
    {"clock_us", bind_clock_us},
    {"csv_read", bind_csv_read},
    {"embedded", core_embedded},
    {"engine_facts", bind_engine_facts},
    {"step_kernels", bind_step_kernels},
    {"step_parts", bind_step_parts},
    {"error_object", core_error_object},
    {"event_kinds", bind_event_kinds},
    {"event_queue", bind_event_queue_new},
    {"figures", bind_figures},
    {"record_fields", bind_record_fields},
    {"file_head", bind_file_head},
    {"file_lines", bind_file_lines},
    {"folder", bind_folder},
    {"gpu_memory", bind_catalogue_gpu_memory},
    {"hardware", bind_catalogue_hardware},
    {"hash128", bind_hash128},
    {"is_in_background", bind_is_in_background},
    {"is_trace_stream", core_is_trace_stream},
    {"is_workload", core_is_workload},
    {"is_workload_spec", core_is_workload_spec},
    {"journal", bind_journal_new},
    {"json_read", bind_json_read},
    {"json_writer", bind_json_writer_new},
    {"jail", bind_jail},
    {"jail_can_filter", bind_jail_can_filter},
    {"jail_prepare", bind_jail_prepare},
    {"kv_cache", bind_kv_cache_new},
    {"kv_capacity", bind_kv_capacity},
    {"coefficients", bind_coefficients},
    {"own_coefficients", bind_own_coefficients},
    {"limit_memory", bind_limit_memory},
    {"add_faults", bind_add_faults},
    {"live_desk", bind_live_desk_new},
    {"observe", bind_observe},
    {"observed_write", bind_observed_write},
    {"observe_library", bind_observe_library},
    {"live_library", bind_live_library},
    {"live_zmq_library", bind_live_zmq_library},
    {"live_serve", bind_live_serve},
    {"lone_instance", bind_lone_instance_new},
    {"latency_definition", bind_latency_definition},
    {"latency_model", bind_latency_model_new},
    {"make_folder", bind_folder_make},
    {"model_config", bind_model_config},
    {"check_kernel_table", bind_check_kernel_table},
    {"composed_constants", bind_composed_constants},
    {"model_entry", bind_model_entry},
    {"model_facts", bind_model_facts},
    {"model_id", bind_catalogue_model_id},
    {"models", bind_catalogue_models},
    {"mser5", bind_mser5},
    {"parse_duration", core_parse_duration},
    {"suggestion", core_suggestion},
    {"output", bind_output_new},
    {"output_probe", bind_output_probe},
    {"is_terminal", bind_is_terminal},
    {"policies", bind_policy_catalogue},
    {"printable", core_printable},
    {"policy", bind_policy_new},
    {"policy_definition", bind_policy_definition},
    {"prefix_index", bind_prefix_index_new},
    {"processors", bind_processors},
    {"records", bind_records_new},
    {"rng", bind_rng_new},
    {"run_requests", bind_run_requests},
    {"run_trace_write", bind_run_trace_write},
    {"sandbox_call", bind_sandbox_call},
    {"sandbox_charge", bind_sandbox_charge},
    {"sandbox_seal", bind_sandbox_seal},
    {"scorer_list", bind_scorer_list},
    {"script_place", core_script_place},
    {"set_tostring", core_set_tostring},
    {"show_graph", bind_show_graph},
    {"signals", core_signals},
    {"simulation", bind_simulation_new},
    {"sqlite_write", bind_sqlite_write},
    {"stream_methods", bind_stream_methods},
    {"open_input", bind_open_input},
    {"parent", bind_parent},
    {"pipe_read", bind_pipe_read},
    {"pipe_write", bind_pipe_write},
    {"terminal_size", bind_terminal_size},
    {"termination_requested", bind_termination_requested},
    {"token_ids", bind_token_ids},
    {"trace_cap", bind_trace_cap},
    {"trace_cut", bind_trace_cut},
    {"trace_filter", bind_trace_filter},
    {"trace_explain", bind_trace_explain},
    {"trace_formats", bind_trace_formats},
    {"trace_merge", bind_trace_merge},
    {"trace_open", bind_trace_open},
    {"trace_read", bind_trace_read},
    {"trace_scale", bind_trace_scale},
    {"trace_stream", bind_trace_stream_new},
    {"trace_warp", bind_trace_warp},
    {"trace_write", bind_trace_write},
    {"trace_write_formats", bind_trace_write_formats},
    {"unpacked", bind_unpacked},
    {"watch_termination", bind_watch_termination},
    {"workers", bind_workers_new},
    {"workload", bind_workload_new},
    {"workload_compose", bind_workload_compose},
    {"workload_keys", bind_workload_keys},
    {"workload_methods", bind_workload_methods},
    {"workload_of_function", bind_workload_of_function},
    {"check_graph", bind_check_graph},
    {"check_graphs", bind_check_graphs},
    {"graph_file", bind_graph_file_new},
    {"graph_formats", bind_graph_formats},
    {"is_graph_file", core_is_graph_file},
    {"workload_spec", bind_written_spec_new},
    {"writer_name", bind_writer_name},
    {"yaml_parse", bind_yaml_parse},
    {"yaml_read", bind_yaml_read},
    {NULL, NULL},
};

int luaopen_blis_core(lua_State *L) {
  luaL_checkversion(L);
  bind_open_errors(L);
  bind_open_figures_type(L);
  bind_open_by_hand(L);
  bind_open_children(L);
  bind_open_http_peers(L);
  bind_open_decisions(L);
  bind_open_event_queues(L);
  bind_open_instances(L);
  bind_open_journals(L);
  bind_open_json(L);
  bind_open_kv_caches(L);
  bind_open_latency_models(L);
  bind_open_live_desks(L);
  bind_open_lone_instances(L);
  bind_open_outputs(L);
  bind_open_policies(L);
  bind_open_prefix_indexes(L);
  bind_open_records(L);
  bind_open_rng(L);
  bind_open_scorers(L);
  bind_open_script_random(L);
  bind_open_simulations(L);
  bind_open_workers(L);
  bind_open_workloads(L);
  bind_open_graph_files(L);
  bind_open_trace_streams(L);
  bind_open_written_specs(L);
  luaL_newlib(L, core_functions);
  push_vector_library(L);
  lua_setfield(L, -2, "vec");
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "json_null");
  lua_pushliteral(L, BLIS_VERSION);
  lua_setfield(L, -2, "_VERSION");
  lua_pushstring(L, blis_source_id);
  lua_setfield(L, -2, "source_id");
  return 1;
}
