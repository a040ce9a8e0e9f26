/*
 * deprecated.h - notes about deprecated names that functions in C accept.
 */
#ifndef BLIS_LUA_BIND_DEPRECATED_H
#define BLIS_LUA_BIND_DEPRECATED_H

#include <lua.h>

/*
 * Prints a note that old_name, used in place, is deprecated until 2.0.0 and that new_name replaces
 * it. Prints each note once per process. Leaves the stack unchanged. May raise an error for lack of
 * memory.
 */
void note_deprecated(lua_State *L, const char *place, const char *old_name, const char *new_name);

#endif
