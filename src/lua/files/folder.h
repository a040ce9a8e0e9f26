/*
 * folder.h - what Lua itself cannot tell of paths: directory listings, pipes.
 */
#ifndef BLIS_LUA_FILES_FOLDER_H
#define BLIS_LUA_FILES_FOLDER_H

#include <lua.h>

/*
 * folder(path): the names in a folder in the order of their bytes, without
 * those that begin with a dot; an empty list when it cannot be read.
 */
int bind_folder(lua_State *L);

/* is_pipe(path): whether who opens that waits for somebody at the other end. */
int bind_is_pipe(lua_State *L);

#endif
