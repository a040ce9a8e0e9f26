/*
 * lines.h - reads text files line by line for Lua; files may be compressed.
 */
#ifndef BLIS_LUA_FILES_LINES_H
#define BLIS_LUA_FILES_LINES_H

#include <lua.h>

/* file_head(path): returns up to 64 KiB from the start of a file, decompressed, without leading
   white space and byte order mark. May raise. */
int bind_file_head(lua_State *L);

/*
 * file_lines(path, is_json): returns a function that returns the next line and its number, from 1.
 * At the end, the function closes the file and returns nil. With is_json, it skips blank lines and
 * returns each line as a value, like push_json_value. Errors contain the file and line. May raise.
 */
int bind_file_lines(lua_State *L);

#endif
