/*
 * json.h - JSON for Lua: a writer that keeps the order of calls, and a reader into tables.
 */
#ifndef BLIS_LUA_FILES_JSON_H
#define BLIS_LUA_FILES_JSON_H

#include <lua.h>

#include "base/format/json.h"

void bind_open_json(lua_State *L);

/*
 * json_writer([indent]): a writer with object([key]), array([key]), done(),
 * field(key, value), item(value), take() and #writer, the bytes that take()
 * would return. Numbers are as short as they can be and read back equal.
 */
int bind_json_writer_new(lua_State *L);

/*
 * json_read(text[, file]): the value. Objects and arrays are tables, null is
 * core.json_null.
 */
int bind_json_read(lua_State *L);

/*
 * Pushes a value as json_read does. Of a lenient parser (blis_json_allow_any_number), an integer
 * beyond 64 bits is its low bits, and a number that is not finite is NaN.
 */
void push_json_value(lua_State *L, blis_json_value value);

#endif
