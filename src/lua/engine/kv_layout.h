/* kv_layout.h - reads the KV groups of a model from the table of cluster options. */
#ifndef BLIS_LUA_ENGINE_KV_LAYOUT_H
#define BLIS_LUA_ENGINE_KV_LAYOUT_H

#include <lua.h>
#include <stdbool.h>

#include "kv/layout.h"

/*
 * Reads the field kv_layout of the table at index, which lua/blis/engine/kv_layout.lua has checked.
 * Returns false, and leaves *layout unchanged, if it is absent. May raise.
 */
bool check_kv_layout(lua_State *L, int index, blis_kv_layout *layout);

#endif
