/*
 * csv.h - tables of comma-separated values for scripts.
 */
#ifndef BLIS_LUA_FILES_CSV_H
#define BLIS_LUA_FILES_CSV_H

#include <lua.h>

/*
 * core.csv_read(path, columns): returns a list of rows, each {name = value, line = n}. columns is
 * {{name =, is_text =, is_optional =}, ...}. Columns without is_text contain integers >= 0. Errors
 * name the file, line, column, and value.
 */
int bind_csv_read(lua_State *L);

#endif
