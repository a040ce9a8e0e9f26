/*
 * record_table.h - converts request records to Lua tables and back.
 *
 * cluster/lists/record_fields.h defines the fields and their forms. This file sets and reads the
 * fields that are OTHER there.
 */
#ifndef BLIS_LUA_RESULTS_RECORD_TABLE_H
#define BLIS_LUA_RESULTS_RECORD_TABLE_H

#include "lua/results/records.h"

/* Pushes the record with this index in the list. */
void push_record_table(lua_State *L, const bind_records *records, size_t index);

/*
 * Method of a list of requests: add(record) adds a record with the fields of list[i]. Derived
 * fields (id, status_code, steps, ...) and fields that exist only in requests (client, content,
 * ...) are allowed and ignored. Any other name is an error, and so is a completed request without
 * its times. May raise; in this case the list is unchanged. Cost: one lookup per field in a list of
 * about 50 names.
 */
int bind_records_add(lua_State *L);

/* Pushes the fields as a list of tables: name, type, when, saved, exported, doc. */
int bind_record_fields(lua_State *L);

#endif
