/*
 * output.h - files that are written completely or not at all.
 */
#ifndef BLIS_LUA_FILES_OUTPUT_H
#define BLIS_LUA_FILES_OUTPUT_H

#include <lua.h>

void bind_open_outputs(lua_State *L);

/*
 * output(path): a file to be written with write(text), which gets its name by
 * commit(); closed or collected before that it leaves nothing behind.
 */
int bind_output_new(lua_State *L);

/* output_probe(path): raises if a file of that name cannot be started. */
int bind_output_probe(lua_State *L);

#endif
