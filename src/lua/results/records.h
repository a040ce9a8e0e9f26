/*
 * records.h - the finished requests of a run and their origin.
 *
 * Records are a separate userdata, so that results outlive their simulation. record_list.h defines
 * how scripts read them.
 */
#ifndef BLIS_LUA_RESULTS_RECORDS_H
#define BLIS_LUA_RESULTS_RECORDS_H

#include <lua.h>

#include "lua/traffic/source.h"
#include "results/log/decisions.h"
#include "results/record/recorder.h"

#define RECORDS_TYPE "blis.records"

/* Zeroed when created; only Lua frees it. */
typedef struct bind_records {
  bind_source source;
  blis_intern *strings; /* strings of a list that a script has created, or NULL */
  blis_recorder *recorder;
  blis_decisions *decisions; /* NULL unless decisions are traced */
  int id_digits;             /* digits of instance ids; 0 = unknown */
} bind_records;

bind_records *push_records(lua_State *L);

bind_records *check_records(lua_State *L, int index);

/* Returns the state that is named in the table at index. May raise. */
blis_request_state check_record_state(lua_State *L, int index);

/* Returns the instance number in the field: 3 for "instance_3" and "instance_03"; -1 if the
   field is not set. Numbers have at most 7 digits, because each number has its own metrics.
   id_digits of the list becomes the lowest number of digits of any such field. May raise. */
int32_t check_record_instance(lua_State *L, bind_records *records, int index, const char *field);

#endif
