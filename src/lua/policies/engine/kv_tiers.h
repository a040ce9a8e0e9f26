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
  bind_live_request shown; /* for load_choice */
  int load_choice;         /* places in the anchor, as the next three; 0 = none */
  int request;
  int offer; /* the table that it gets, */
  int block; /* table that scores receive */
  int scores[BLIS_KV_TIERS_MAX];
  int names[BLIS_KV_TIERS_MAX];
  uint32_t count;
} bind_kv_tiers;

/*
 * Reads the table at index, in the form of blis.feature.kv_tiers.read. *made borrows from scripts,
 * which stays, and from the values it pushes. May raise.
 */
void check_kv_tiers(lua_State *L, int index, const bind_view *view, bind_kv_tiers *scripts,
                    blis_kv_tiers *made);

#endif
