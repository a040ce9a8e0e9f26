/*
 * sqlite.h - writes Lua tables to an SQLite database; the only user of SQLite.
 */
#ifndef BLIS_LUA_FILES_SQLITE_H
#define BLIS_LUA_FILES_SQLITE_H

#include <lua.h>

/*
 * sqlite_write(path, {{name=, columns={text, ...}, rows={{value, ...}, ...}}, ...}): writes a new
 * database that replaces the file at path, completely or not at all. Values are numbers, strings,
 * booleans, or nil. About 4 us per row of ten columns.
 */
int bind_sqlite_write(lua_State *L);

#endif
