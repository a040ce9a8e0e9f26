/*
 * by_hand.h - built-in scorers that scripts call outside of runs, with their own request and
 * candidates.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_BY_HAND_H
#define BLIS_LUA_POLICIES_ROUTING_BY_HAND_H

#include <lua.h>

/* Maximum number of instances among candidates of direct calls. */
enum { BY_HAND_INSTANCES = 1024 };

void bind_open_by_hand(lua_State *L);

/* Pushes the scorer of the definition at index for direct calls. It keeps its state until it is
 * collected. */
void push_scorer_by_hand(lua_State *L, int index);

/* Calls the scorer at index scorer for the request and the list of candidates at these indices;
 * pushes a buffer with one score per candidate. */
const double *push_scores_by_hand(lua_State *L, int scorer, int request, int candidates);

/* Notifies the scorer that the request was routed to the candidate at that index. */
void check_observe_by_hand(lua_State *L, int scorer, int request, int candidate);

#endif
