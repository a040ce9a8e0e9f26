/*
 * acceptance.h - draft acceptance rates as a function of a script: acceptance(request, position)
 * returns 0 to 1.
 *
 * The function is called for all positions when a request reaches an instance, and not again while
 * the request is on this instance. Calls are in the order of these events. Results therefore do not
 * depend on batches. The function reads the same fields as policies.
 */
#ifndef BLIS_LUA_POLICIES_ENGINE_ACCEPTANCE_H
#define BLIS_LUA_POLICIES_ENGINE_ACCEPTANCE_H

#include <lua.h>

#include "cluster/cluster.h"
#include "lua/policies/view/decision.h"

typedef struct bind_acceptance {
  bind_decider decider; /* without a function it is not called */
  blis_cluster *cluster;
  int64_t tokens; /* number of positions */
} bind_acceptance;

/* Reads the speculation options of engines at index. Fills *made, which must not move
 * afterwards, and sets the callback in *config if there is a function. */
void check_acceptance(lua_State *L, int index, bind_view *view, bind_acceptance *made,
                      blis_speculation_config *config);

#endif
