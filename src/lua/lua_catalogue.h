/*
 * lua_catalogue.h - the catalogue of models, GPUs and coefficients of a state.
 */
#ifndef BLIS_LUA_LUA_CATALOGUE_H
#define BLIS_LUA_LUA_CATALOGUE_H

#include <lua.h>

#include "latency/catalogue.h"

/*
 * The files that are compiled in, read at the first call; the registry owns
 * it. May raise.
 */
const blis_catalogue *check_catalogue(lua_State *L);

/* models(): the ids, in the order of the catalogue. */
int bind_catalogue_models(lua_State *L);

#endif
