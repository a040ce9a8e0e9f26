/*
 * hints.h - what a priority policy says of a request beside its priority: a
 * table of the script, which later policies read as request.hints.
 *
 * Hints are kept by slot of the live request, so there are never more than
 * there are live requests. A run without hints costs nothing.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_HINTS_H
#define BLIS_LUA_POLICIES_VIEW_HINTS_H

#include "lua/policies/view/view.h"

/* Pushes the hints about the request in a slot: a table, or nil. */
void push_hints(lua_State *L, const bind_view *view, uint32_t slot);

/*
 * Pushes a copy of the hints at index for a hook of an engine: what it writes
 * to them stays there. In a sandbox only; elsewhere the table itself.
 */
void push_hints_copy(lua_State *L, const bind_view *view, int index);

/*
 * Keeps the value on top of the stack (popped), a table or nil. May raise. In a
 * sandbox it keeps a copy, which has the plain values of the table: a table that
 * the policy goes on writing to would carry later values to other roles.
 */
void set_hints(lua_State *L, bind_view *view, uint32_t slot);

#endif
