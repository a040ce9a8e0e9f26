/*
 * score_loop.h - many calls of a Lua function, or reads of a table, at once. Generated functions in
 * Lua handle LOOP_CHUNK candidates at a time and return all values on the stack. A call between Lua
 * functions, or a read of a table in Lua, costs less than from C.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_SCORE_LOOP_H
#define BLIS_LUA_POLICIES_ROUTING_SCORE_LOOP_H

#include <lua.h>
#include <stddef.h>

enum { LOOP_CHUNK = 16 };

typedef enum score_loop {
  LOOP_CALL,      /* (score, request, instances) -> a score for each */
  LOOP_WITH_BASE, /* (score, request, instances, scores): in and out */
  LOOP_TAKE       /* (scores) -> each of them; false takes their places */
} score_loop;

/* Sets the loops, none made yet, in a new anchor. */
void push_score_loops(lua_State *L, int anchor);

/*
 * Pushes the loop for the count candidates after the first ones; it is made at its first use. count
 * <= LOOP_CHUNK. Raises.
 */
void push_score_loop(lua_State *L, int anchor, score_loop loop, size_t first, size_t count);

#endif
