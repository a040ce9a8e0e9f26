/*
 * output.h - files that are written completely or not at all.
 */
#ifndef BLIS_LUA_FILES_OUTPUT_H
#define BLIS_LUA_FILES_OUTPUT_H

#include <lua.h>

void bind_open_outputs(lua_State *L);

/*
 * output(path): returns a file for write(text). commit() renames it to path. If it is closed or
 * collected earlier, no file remains.
 */
int bind_output_new(lua_State *L);

/* output_probe(path): raises if a file of that name cannot be started. */
int bind_output_probe(lua_State *L);

#endif
