/*
 * child.h - user commands that respond to queries, for Lua.
 */
#ifndef BLIS_LUA_WORKERS_CHILD_H
#define BLIS_LUA_WORKERS_CHILD_H

#include <lua.h>

void bind_open_children(lua_State *L);

/*
 * child(command): starts a process with the methods ask(line, timeout_ms) and stop(). ask returns a
 * line, or nil and an error message. Raises in a sandbox.
 */
int bind_child_new(lua_State *L);

#endif
