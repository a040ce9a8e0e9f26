/*
 * desk.h - a live desk (live/desk.h) as a userdata: the traffic of a simulation that is driven by
 * clients.
 */
#ifndef BLIS_LUA_LIVE_DESK_H
#define BLIS_LUA_LIVE_DESK_H

#include <lua.h>

#include "live/desk.h"

#define LIVE_DESK_TYPE "blis.live_desk"

void bind_open_live_desks(lua_State *L);

/*
 * live_desk{models = {name, ...}, adapters = {name, ...}, max_model_len =, vocabulary =,
 * media_tokens =, block_tokens =, seed =, lengths = {tokens, ...}, instances =, flavor =}: creates
 * a desk. desk:pins() returns the routing decisions that result from ports as {{request number,
 * instance index from 0}, ...}.
 */
int bind_live_desk_new(lua_State *L);

/* Returns the desk at index; raises if the value is not a desk. */
blis_live_desk *check_live_desk(lua_State *L, int index);

/* Returns the desk at index, or NULL if the value is not a desk. */
blis_live_desk *bind_live_desk_at(lua_State *L, int index);

#endif
