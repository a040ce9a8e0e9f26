/*
 * by_hand.h - built-in scorers that scripts ask outside of runs, about a
 * request and candidates of their own.
 */
#ifndef BLIS_LUA_POLICIES_BY_HAND_H
#define BLIS_LUA_POLICIES_BY_HAND_H

#include <lua.h>

/* How many instances candidates asked about by hand can be of. */
enum { BY_HAND_INSTANCES = 1024 };

void bind_open_by_hand(lua_State *L);

/*
 * Pushes the scorer of the definition at index as it is asked by hand. It keeps
 * what it remembers until it is collected.
 */
void push_scorer_by_hand(lua_State *L, int index);

/*
 * The scorer at index scorer is asked about the request and the list of
 * candidates at these indices; pushes a buffer with a score for each of them.
 */
const double *push_scores_by_hand(lua_State *L, int scorer, int request, int candidates);

/* It hears that the request went to the candidate at that index. */
void check_observe_by_hand(lua_State *L, int scorer, int request, int candidate);

#endif
