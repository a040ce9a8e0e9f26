/* pipes.h - standard input and output of a server that must never block on its client,
 * termination signals, and sandboxing of processes, for Lua. */
#ifndef BLIS_LUA_WORKERS_PIPES_H
#define BLIS_LUA_WORKERS_PIPES_H

#include <lua.h>

/* pipe_read(): returns the available bytes of standard input, up to 64 KiB: "" if none are
 * available yet, nil at its end. */
int bind_pipe_read(lua_State *L);

/* pipe_write(text, from): writes as much as possible to standard output without blocking,
 * starting at byte `from`. Returns the first unwritten byte, or nil and the reason if output is
 * closed. */
int bind_pipe_write(lua_State *L);

/* watch_termination(): later SIGTERM, SIGINT, and SIGHUP signals are recorded instead of ending
 * the process. */
int bind_watch_termination(lua_State *L);

/* termination_requested(): returns the number of the signal; nothing if no signal arrived. */
int bind_termination_requested(lua_State *L);

/* parent(): returns the id of the current parent process. */
int bind_parent(lua_State *L);

/* jail(cpu_s): restricts this process, see jail.h; returns true with a seccomp filter. */
int bind_jail(lua_State *L);

/* limit_memory(bytes): limits the address space, in addition to the current use. */
int bind_limit_memory(lua_State *L);

/* jail_prepare(): call once, before creating processes that call jail. */
int bind_jail_prepare(lua_State *L);

/* jail_can_filter() */
int bind_jail_can_filter(lua_State *L);

#endif
