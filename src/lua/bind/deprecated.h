/*
 * deprecated.h - notes about deprecated names that C functions accept.
 */
#ifndef BLIS_LUA_BIND_DEPRECATED_H
#define BLIS_LUA_BIND_DEPRECATED_H

#include <lua.h>

/*
 * Prints a note that old_name, used in place, is deprecated, that new_name replaces it, and that it
 * will be removed in 2.0.0. Each note is printed once per process. Leaves the stack unchanged. May
 * raise an error if memory is exhausted.
 */
void note_deprecated(lua_State *L, const char *place, const char *old_name, const char *new_name);

#endif
