/*
 * written_spec.h - workload specifications in Lua, read from files or tables
 * (workload/spec/written_spec.h).
 */
#ifndef BLIS_LUA_TRAFFIC_WRITTEN_SPEC_H
#define BLIS_LUA_TRAFFIC_WRITTEN_SPEC_H

#include <lua.h>

#include "workload/spec/written_spec.h"

#define WRITTEN_SPEC_TYPE "blis.workload_spec"

void bind_open_written_specs(lua_State *L);

/*
 * workload_spec(given, place, settings): given is the path of a file, or a table that messages call
 * place. settings contains seed, replaces_seed, num_requests, horizon_us, replaces_horizon,
 * timeout_us, has_lazy_tokens, a profile, is_only_read (the specification needs no end),
 * refuses_adapters, and cohort_prefix (selects cohorts with this prefix).
 */
int bind_written_spec_new(lua_State *L);

/*
 * workload_keys(): { { name = "client", summary =, options = { { name = "id", type =, doc =, ... },
 * ... } }, ... }, returns the keys that specifications may contain.
 */
int bind_workload_keys(lua_State *L);

/*
 * workload_compose({{name, spec}, ...}): merges all specifications into one, in YAML, and returns a
 * list of the omitted parts.
 */
int bind_workload_compose(lua_State *L);

/* Returns the specification at index, valid as long as its userdata. Raises for any other value. */
const blis_workload_spec *check_written_spec(lua_State *L, int index);

#endif
