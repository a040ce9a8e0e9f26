/*
 * desk.h - a live desk (live/desk.h) as a userdata: the traffic of a simulation that clients drive.
 */
#ifndef BLIS_LUA_LIVE_DESK_H
#define BLIS_LUA_LIVE_DESK_H

#include <lua.h>

#include "live/desk.h"

#define LIVE_DESK_TYPE "blis.live_desk"

void bind_open_live_desks(lua_State *L);

/*
 * live_desk{models = {name, ...}, adapters = {name, ...}, max_model_len =, vocabulary =,
 * media_tokens =, block_tokens =, seed =, lengths = {tokens, ...}, instances =, flavor =}: the
 * desk. desk:pins() returns the decisions of ports as {{request number, instance index from 0},
 * ...}.
 */
int bind_live_desk_new(lua_State *L);

/* Raises unless a desk is at index. */
blis_live_desk *check_live_desk(lua_State *L, int index);

/* NULL = it is something else. */
blis_live_desk *bind_live_desk_at(lua_State *L, int index);

#endif
