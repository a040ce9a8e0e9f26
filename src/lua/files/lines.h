/*
 * lines.h - text files for Lua, line by line, compressed or not.
 */
#ifndef BLIS_LUA_FILES_LINES_H
#define BLIS_LUA_FILES_LINES_H

#include <lua.h>

/* file_head(path): up to 64 KiB from the start of a file, unpacked, without white space and a byte
   order mark in front. Raises. */
int bind_file_head(lua_State *L);

/*
 * file_lines(path, is_json): a function that returns the next line and its number, from 1; nil at
 * the end, where it closes the file. With is_json, it skips blank lines and returns each line as
 * push_json_value does. Errors name file and line. Raises.
 */
int bind_file_lines(lua_State *L);

#endif
