/*
 * filter.h - the first and the last stage of the routing pipeline as Lua
 * functions: filters, called per candidate or once on columns, and pickers.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_FILTER_H
#define BLIS_LUA_POLICIES_ROUTING_FILTER_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/contract/filter.h"
#include "policy/contract/picker.h"

/*
 * Creates *filter from the definition at index: a table with name, form, and keep(request,
 * instance) -> boolean or keep(request, columns) -> vector. The caller owns *filter, which borrows
 * view. May raise; in this case nothing remains allocated.
 */
void check_scripted_filter(lua_State *L, int index, bind_view *view, blis_filter *filter);

/* Like check_scripted_filter, for pick(request, instances, scores) -> index. */
void check_scripted_picker(lua_State *L, int index, bind_view *view, blis_picker *picker);

#endif
