/*
 * lua_scorer.h - a scorer whose rating is a Lua function, in three forms:
 * called per candidate, once on columns, or once for all candidates.
 */
#ifndef BLIS_LUA_LUA_SCORER_H
#define BLIS_LUA_LUA_SCORER_H

#include <lua.h>

#include "lua/lua_view.h"
#include "routing/scorer.h"

/* The numbers of lua/blis/policy.lua. */
typedef enum bind_scorer_form {
  SCORER_PER_CANDIDATE, /* score(request, instance) -> number */
  SCORER_COLUMNS,       /* score(request, columns) -> vector or number */
  SCORER_ALL            /* score_all(request, instances, scores) */
} bind_scorer_form;

/*
 * Makes *scorer from the definition at index: a table with name, form, score
 * and perhaps observe. The caller owns *scorer, which borrows view. May raise,
 * and then nothing is left behind.
 */
void check_lua_scorer(lua_State *L, int index, bind_view *view,
                      blis_scorer *scorer);

#endif
