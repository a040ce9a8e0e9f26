/*
 * unpacked.h - the text of packed files for scripts.
 */
#ifndef BLIS_LUA_FILES_UNPACKED_H
#define BLIS_LUA_FILES_UNPACKED_H

#include <lua.h>

/* unpacked(path): all that is in a file, which gzip or zstd may have packed. */
int bind_unpacked(lua_State *L);

#endif
