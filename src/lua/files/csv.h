/*
 * csv.h - tables of comma-separated values for scripts.
 */
#ifndef BLIS_LUA_FILES_CSV_H
#define BLIS_LUA_FILES_CSV_H

#include <lua.h>

/*
 * core.csv_read(path, columns): a list of rows, {name = value, line = n} each.
 * columns is {{name =, is_text =, is_optional =}, ...}; what is no text is an
 * integer of at least 0. Errors name file, line, column and value.
 */
int bind_csv_read(lua_State *L);

#endif
