/*
 * kv_tiers.h - KV tiers from Lua: their options, and the functions of a script that select which
 * blocks are loaded and which are evicted.
 */
#ifndef BLIS_LUA_POLICIES_ENGINE_KV_TIERS_H
#define BLIS_LUA_POLICIES_ENGINE_KV_TIERS_H

#include <lua.h>

#include "cluster/tiers/kv_tiers.h"
#include "lua/policies/engine/live_request.h"

typedef struct bind_kv_tiers {
  const bind_view *view;
  bind_live_request shown; /* request that load_choice receives */
  int load_choice;         /* index in the anchor, like the next three members; 0 = none */
  int request;
  int offer; /* table that load_choice receives */
  int block; /* table that scores receive */
  int scores[BLIS_KV_TIERS_MAX];
  int names[BLIS_KV_TIERS_MAX];
  uint32_t count;
} bind_kv_tiers;

/*
 * Reads the table at index, in the form of blis.feature.kv_tiers.read. *made borrows from scripts,
 * which must remain valid, and from the values that are pushed. May raise.
 */
void check_kv_tiers(lua_State *L, int index, const bind_view *view, bind_kv_tiers *scripts,
                    blis_kv_tiers *made);

#endif
