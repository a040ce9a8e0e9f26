/*
 * hints.h - what a priority policy says of a request beside its priority: a
 * table of the script, which later policies read as request.hints.
 *
 * Hints are kept by slot of the live request, so there are never more than
 * there are live requests. A run without hints costs nothing.
 */
#ifndef BLIS_LUA_POLICIES_HINTS_H
#define BLIS_LUA_POLICIES_HINTS_H

#include "lua/policies/view.h"

/* Pushes the hints about the request in a slot: a table, or nil. */
void push_hints(lua_State *L, const bind_view *view, uint32_t slot);

/* Keeps the value on top of the stack (popped), a table or nil. May raise. */
void set_hints(lua_State *L, bind_view *view, uint32_t slot);

#endif
