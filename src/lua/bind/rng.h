/*
 * rng.h - blis.rng(seed, name): a named random stream for scripts.
 */
#ifndef BLIS_LUA_BIND_RNG_H
#define BLIS_LUA_BIND_RNG_H

#include <lua.h>

#include "base/random.h"

void bind_open_rng(lua_State *L);

/*
 * Pushes a stream called name, which the caller seeds. The stream lives as long as the pushed
 * value.
 */
blis_random *push_rng(lua_State *L, const char *name);

/* rng(seed [, name]) */
int bind_rng_new(lua_State *L);

#endif
