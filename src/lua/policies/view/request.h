/*
 * request.h - the `request` table of policies.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_REQUEST_H
#define BLIS_LUA_POLICIES_VIEW_REQUEST_H

#include <lua.h>

#include "lua/policies/view/view.h"

/* Pushes the request table of view, without any fields yet. */
void push_request_table(lua_State *L, bind_view *view);

#endif
