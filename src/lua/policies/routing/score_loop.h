/*
 * score_loop.h - many calls of a Lua function, or reads of a table, in one call. Generated Lua
 * functions handle LOOP_CHUNK candidates at a time and return all values on the stack. Calling a
 * function or reading a table costs less in Lua than from C.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_SCORE_LOOP_H
#define BLIS_LUA_POLICIES_ROUTING_SCORE_LOOP_H

#include <lua.h>
#include <stddef.h>

enum { LOOP_CHUNK = 16 };

typedef enum score_loop {
  LOOP_CALL,      /* (score, request, instances) -> a score for each */
  LOOP_WITH_BASE, /* (score, request, instances, scores): in and out */
  LOOP_TAKE       /* (scores) -> all scores; false replaces their table slots */
} score_loop;

/* Stores an empty table of loops in a new anchor. */
void push_score_loops(lua_State *L, int anchor);

/*
 * Pushes the loop for count <= LOOP_CHUNK candidates starting at first. A loop is created at its
 * first use. May raise.
 */
void push_score_loop(lua_State *L, int anchor, score_loop loop, size_t first, size_t count);

#endif
