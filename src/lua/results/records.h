/*
 * lua_records.h - the finished requests of a run, and where they came from.
 *
 * A userdata of its own, so that results outlive their simulation. As a Lua
 * value it is a read-only list of tables in order of arrival, made when they
 * are read.
 */
#ifndef BLIS_LUA_RESULTS_RECORDS_H
#define BLIS_LUA_RESULTS_RECORDS_H

#include <lua.h>

#include "lua/traffic/workload.h"
#include "results/decisions.h"
#include "results/recorder.h"

#define RECORDS_TYPE "blis.records"

/* Zeroed when new; freed by Lua alone. */
typedef struct bind_records {
  bind_source source;
  blis_intern *strings; /* of a list made by a script; or NULL */
  blis_recorder *recorder;
  blis_decisions *decisions; /* NULL unless they are traced */
} bind_records;

void bind_open_records(lua_State *L);

bind_records *push_records(lua_State *L);

bind_records *check_records(lua_State *L, int index);

/* records(): an empty list, to be filled with list:add(record). */
int bind_records_new(lua_State *L);

/* The state in the table at index, by that name. Raises. */
blis_request_state check_record_state(lua_State *L, int index);

/* instance = "instance_3" there as 3; -1 without one. Raises. */
int32_t check_record_instance(lua_State *L, int index);

#endif
