/*
 * acceptance.h - how probable it is that drafts of a request hold, as a
 * function of a script: acceptance(request, position) -> 0 to 1.
 *
 * It is asked for all positions when a request comes to an instance, in the
 * order in which they come, and never again while it is there: so its answers
 * depend on nothing that batches do. It sees what policies see.
 */
#ifndef BLIS_LUA_POLICIES_ACCEPTANCE_H
#define BLIS_LUA_POLICIES_ACCEPTANCE_H

#include <lua.h>

#include "cluster/cluster.h"
#include "lua/policies/decision.h"

typedef struct bind_acceptance {
  bind_decider decider; /* no function: it is not asked for */
  blis_cluster *cluster;
  int64_t tokens; /* positions */
} bind_acceptance;

/*
 * Of the speculation in the options of engines at index: fills *made, which
 * must not move from then on, and has *config ask it, if there is a function.
 */
void check_acceptance(lua_State *L, int index, bind_view *view, bind_acceptance *made,
                      blis_speculation_config *config);

#endif
