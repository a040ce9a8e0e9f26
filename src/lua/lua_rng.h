/*
 * lua_rng.h - blis.rng(seed, name): a named random stream for scripts.
 */
#ifndef BLIS_LUA_LUA_RNG_H
#define BLIS_LUA_LUA_RNG_H

#include <lua.h>

void bind_open_rng(lua_State *L);

/* rng(seed [, name]) */
int bind_rng_new(lua_State *L);

#endif
