/*
 * sqlite.h - writes Lua tables to an SQLite database; the only user of SQLite.
 */
#ifndef BLIS_LUA_FILES_SQLITE_H
#define BLIS_LUA_FILES_SQLITE_H

#include <lua.h>

/*
 * sqlite_write(path, {{name=, columns={text, ...}, rows={{value, ...}, ...}},
 * ...}): a new database in place of what path was, whole or not at all. Values
 * are numbers, texts, booleans or nil. About 4 us per row of ten columns.
 */
int bind_sqlite_write(lua_State *L);

#endif
