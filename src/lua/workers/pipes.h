/*
 * pipes.h - standard input and output of a server that must never wait for its
 * client, the signal to end it, and the way into a jail, for Lua.
 */
#ifndef BLIS_LUA_WORKERS_PIPES_H
#define BLIS_LUA_WORKERS_PIPES_H

#include <lua.h>

/* pipe_read(): what there is to read from standard input, up to 64 KiB; "" when
 * there is nothing yet; nil at its end. */
int bind_pipe_read(lua_State *L);

/* pipe_write(text, from): writes what standard output takes without waiting,
 * from that byte on; returns the first byte that is still to be written, or nil
 * and the reason when it takes nothing any more. */
int bind_pipe_write(lua_State *L);

/* watch_termination(): the first SIGTERM, SIGINT or SIGHUP is remembered from
 * now on, not obeyed. */
int bind_watch_termination(lua_State *L);

/* termination_requested(): the number of the signal; nothing when none came. */
int bind_termination_requested(lua_State *L);

/* parent(): the number of the process that started this one, as of now. */
int bind_parent(lua_State *L);

/* jail(cpu_s): for this process, see jail.h; true with a filter. */
int bind_jail(lua_State *L);

/* limit_memory(bytes): of address space, on top of what is in use. */
int bind_limit_memory(lua_State *L);

/* jail_prepare(): once, before processes that will be in jail are made. */
int bind_jail_prepare(lua_State *L);

/* jail_can_filter() */
int bind_jail_can_filter(lua_State *L);

#endif
