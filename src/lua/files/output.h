/*
 * output.h - files that are written completely or not at all.
 */
#ifndef BLIS_LUA_FILES_OUTPUT_H
#define BLIS_LUA_FILES_OUTPUT_H

#include <lua.h>

void bind_open_outputs(lua_State *L);

/*
 * output(path): returns a temporary file with the methods write(text) and commit(), which renames
 * the file to path. If the file is closed or collected before commit(), nothing remains.
 */
int bind_output_new(lua_State *L);

/* output_probe(path): raises if such a file cannot be created. */
int bind_output_probe(lua_State *L);

#endif
