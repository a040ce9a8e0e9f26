/*
 * child.h - user commands that answer questions, for Lua.
 */
#ifndef BLIS_LUA_WORKERS_CHILD_H
#define BLIS_LUA_WORKERS_CHILD_H

#include <lua.h>

void bind_open_children(lua_State *L);

/*
 * child(command): a process with the methods ask(line, timeout_ms), which
 * returns a line, or nil and what is wrong, and stop(). Raises in a sandbox.
 */
int bind_child_new(lua_State *L);

#endif
