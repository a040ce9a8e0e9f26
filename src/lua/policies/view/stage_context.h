/*
 * stage_context.h - the `context` argument of disaggregation policies and of routing policies under
 * prefill/decode disaggregation: the other stage, and the links between the stages.
 *
 * A simulation has one such table; every field is computed when it is read.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_STAGE_CONTEXT_H
#define BLIS_LUA_POLICIES_VIEW_STAGE_CONTEXT_H

#include <lua.h>

#include "lua/policies/view/view.h"

/* Creates the tables. Call it after push_view_tables. May raise. */
void push_stage_context(lua_State *L, bind_view *view);

/*
 * Returns the number of the instance at index. The value is the table of the instance or its index,
 * from 1; returns -1 if it is nil. May raise; name is used in the error message.
 */
int64_t check_instance_value(lua_State *L, int index, const char *name);

/* Like check_instance_value, for a field of the table at index. */
int64_t check_instance_field(lua_State *L, int index, const char *name);

#endif
