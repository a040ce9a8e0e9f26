/*
 * hints.h - a table of the script that a priority policy returns together with the priority of a
 * request. Later policies read it as request.hints.
 *
 * Hints are stored by slot of the live request, so their number is limited by the number of live
 * requests. A run without hints incurs no cost.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_HINTS_H
#define BLIS_LUA_POLICIES_VIEW_HINTS_H

#include "lua/policies/view/view.h"

/* Pushes the hints about the request in a slot: a table, or nil. */
void push_hints(lua_State *L, const bind_view *view, uint32_t slot);

/*
 * Pushes the hints at index for a hook of an engine. In a sandbox it pushes a copy, so that writes
 * of the hook affect no other hook; otherwise the table itself.
 */
void push_hints_copy(lua_State *L, const bind_view *view, int index);

/*
 * Stores the value on top of the stack (popped), a table or nil. May raise. A sandbox stores a copy
 * with the plain values of the table. With a shared table, values that the policy writes later
 * would reach other roles.
 */
void set_hints(lua_State *L, bind_view *view, uint32_t slot);

#endif
