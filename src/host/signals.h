/*
 * signals.h - SIGINT (Ctrl-C), SIGTERM, SIGHUP, and SIGPIPE stop the running simulation or script,
 * remove its unfinished files, and end the program with status 128 plus the signal's number.
 * Signals that were ignored when the program started, for example because of nohup, remain ignored.
 * SIGXFSZ makes a write beyond the file size limit fail.
 *
 * The first signal raises the flag of lua/bind/interrupt.h and arms a hook, so it stops Lua code
 * and loops in C that poll the flag. A second signal of the same kind ends the process immediately,
 * in case the first one had no effect.
 */
#ifndef BLIS_HOST_SIGNALS_H
#define BLIS_HOST_SIGNALS_H

#include <lua.h>
#include <stdbool.h>

/* Makes these signals stop the code that runs in L. */
void host_signals_watch(lua_State *L);

/* Restores the default, so that these signals end the process. Earlier signals are forgotten. */
void host_signals_reset(void);

/* Like host_signals_reset, but Ctrl-C has no effect until another function of this file is
   called. */
void host_signals_ignore(void);

/* Returns the last signal that arrived while signals were watched; 0 = none. */
int host_signals_last(void);

#endif
