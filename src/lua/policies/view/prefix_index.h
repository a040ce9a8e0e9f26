/*
 * prefix_index.h - blis.prefix_index: a record of the instances to which a router has sent each
 * prompt, for policies in Lua (policy/memory/prefix_index.h).
 */
#ifndef BLIS_LUA_POLICIES_VIEW_PREFIX_INDEX_H
#define BLIS_LUA_POLICIES_VIEW_PREFIX_INDEX_H

#include <lua.h>

void bind_open_prefix_indexes(lua_State *L);

/* prefix_index { capacity =, block_size = } */
int bind_prefix_index_new(lua_State *L);

#endif
