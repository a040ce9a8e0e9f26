/*
 * core.h - the entry point of the C half, `require "blis.core"`.
 */
#ifndef BLIS_LUA_CORE_H
#define BLIS_LUA_CORE_H

#include <lua.h>

#if defined(__GNUC__)
#define BLIS_EXPORT __attribute__((visibility("default")))
#else
#define BLIS_EXPORT
#endif

/* Pushes the module table. The loader of stock Lua finds this function by its name. */
BLIS_EXPORT int luaopen_blis_core(lua_State *L);

#endif
