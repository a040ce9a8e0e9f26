/*
 * composed_constants.h - the constants of the composed step-time model as a Lua table.
 */
#ifndef BLIS_LUA_ENGINE_COMPOSED_CONSTANTS_H
#define BLIS_LUA_ENGINE_COMPOSED_CONSTANTS_H

#include <lua.h>

/*
 * composed_constants(gpu, catalogue, has_tables): returns the constants of a GPU, as an entry of
 * the list `composed` of a catalog file (gpu_constants.h). has_tables selects the constants for
 * kernel tables. The entry has no `also` and no `with_tables`.
 */
int bind_composed_constants(lua_State *L);

#endif
