/*
 * folder.h - the contents of folders, and the opening of files, for Lua.
 */
#ifndef BLIS_LUA_FILES_FOLDER_H
#define BLIS_LUA_FILES_FOLDER_H

#include <lua.h>

/*
 * folder(path): returns the names in a folder in byte order, without names that begin with a dot.
 * Returns an empty list if the folder cannot be read.
 */
int bind_folder(lua_State *L);

/*
 * open_input(path[, kind]): returns a file of the io library, open for reading, or nil and "PATH:
 * REASON". kind is "text" (the default) or "data". base/format/open_input.h lists the files that
 * are rejected. Every Lua file of blis opens its inputs with this function.
 */
int bind_open_input(lua_State *L);

#endif
