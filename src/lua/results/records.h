/*
 * records.h - the finished requests of a run and their origin.
 *
 * A separate userdata, so that results outlive their simulation. record_list.h defines its form in
 * scripts.
 */
#ifndef BLIS_LUA_RESULTS_RECORDS_H
#define BLIS_LUA_RESULTS_RECORDS_H

#include <lua.h>

#include "lua/traffic/source.h"
#include "results/log/decisions.h"
#include "results/record/recorder.h"

#define RECORDS_TYPE "blis.records"

/* Zeroed when new; only Lua frees it. */
typedef struct bind_records {
  bind_source source;
  blis_intern *strings; /* of a list made by a script; or NULL */
  blis_recorder *recorder;
  blis_decisions *decisions; /* NULL unless they are traced */
  int id_digits;             /* of the ids of instances; 0 = none is known */
} bind_records;

bind_records *push_records(lua_State *L);

bind_records *check_records(lua_State *L, int index);

/* The state in the table at index, by that name. Raises. */
blis_request_state check_record_state(lua_State *L, int index);

/* Returns the number in the field, 3 for "instance_3" and "instance_03"; -1 without it. Numbers
   have at most 7 digits, because each has metrics. The least number of digits of the fields of a
   list becomes its id_digits. Raises. */
int32_t check_record_instance(lua_State *L, bind_records *records, int index, const char *field);

#endif
