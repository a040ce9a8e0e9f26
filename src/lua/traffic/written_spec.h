/*
 * written_spec.h - workload specifications as Lua sees them, read from
 * files or from tables (workload/spec/written_spec.h).
 */
#ifndef BLIS_LUA_TRAFFIC_WRITTEN_SPEC_H
#define BLIS_LUA_TRAFFIC_WRITTEN_SPEC_H

#include <lua.h>

#include "workload/spec/written_spec.h"

#define WRITTEN_SPEC_TYPE "blis.workload_spec"

void bind_open_written_specs(lua_State *L);

/*
 * workload_spec(given, place, settings): given is the path of a file, or a table, which messages
 * call place. settings: seed, replaces_seed, num_requests, horizon_us, replaces_horizon,
 * timeout_us, has_lazy_tokens, a profile, is_only_read (no end is needed), refuses_adapters,
 * cohort_prefix (only such cohorts).
 */
int bind_written_spec_new(lua_State *L);

/*
 * workload_keys(): { { name = "client", summary =, options = { { name = "id",
 * type =, doc =, ... }, ... } }, ... }, what specifications may have.
 */
int bind_workload_keys(lua_State *L);

/*
 * workload_compose({{name, spec}, ...}): merges all specifications into one, in YAML, and returns a
 * list of the omitted parts.
 */
int bind_workload_compose(lua_State *L);

/* Raises for anything else. Valid as long as the userdata. */
const blis_workload_spec *check_written_spec(lua_State *L, int index);

#endif
