/*
 * stage_context.h - what deciders and routing policies know as `context`, where
 * prefill and decode are apart: the other stage, and the links between.
 *
 * One table for a whole simulation; every field is worked out when it is read.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_STAGE_CONTEXT_H
#define BLIS_LUA_POLICIES_VIEW_STAGE_CONTEXT_H

#include <lua.h>

#include "lua/policies/view/view.h"

/* After push_view_tables: makes the tables. May raise. */
void push_stage_context(lua_State *L, bind_view *view);

/*
 * The number of the instance at index, which is its table or its index, from 1;
 * -1 when it is nil. Raises; name is for the error text.
 */
int64_t check_instance_value(lua_State *L, int index, const char *name);

/* The same of a field of the table at index. */
int64_t check_instance_field(lua_State *L, int index, const char *name);

#endif
