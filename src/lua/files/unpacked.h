/*
 * unpacked.h - the content of compressed files for scripts.
 */
#ifndef BLIS_LUA_FILES_UNPACKED_H
#define BLIS_LUA_FILES_UNPACKED_H

#include <lua.h>

/* unpacked(path): returns the content of a file, decompressed if it is compressed with gzip or
   zstd. */
int bind_unpacked(lua_State *L);

#endif
