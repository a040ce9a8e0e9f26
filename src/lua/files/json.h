/*
 * json.h - JSON for Lua: a writer that writes fields in the order of calls, and a reader that
 * returns tables.
 */
#ifndef BLIS_LUA_FILES_JSON_H
#define BLIS_LUA_FILES_JSON_H

#include <lua.h>

#include "base/format/json.h"

void bind_open_json(lua_State *L);

/*
 * json_writer([indent]): returns a writer with the methods object([key]), array([key]), done(),
 * field(key, value), item(value), and take(). #writer is the number of bytes that take() would
 * return. Numbers have the shortest form that reads back as the same value.
 */
int bind_json_writer_new(lua_State *L);

/*
 * json_read(text[, file]): returns the value. Objects and arrays are tables, null is
 * core.json_null.
 */
int bind_json_read(lua_State *L);

/*
 * Pushes a value as json_read does. Of a lenient parser (blis_json_allow_any_number), an integer
 * beyond 64 bits is its low bits, and a number that is not finite is NaN.
 */
void push_json_value(lua_State *L, blis_json_value value);

#endif
