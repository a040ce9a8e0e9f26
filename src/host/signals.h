/*
 * signals.h - SIGINT (Ctrl-C), SIGTERM, SIGHUP, and SIGPIPE stop the running
 * simulation or script, remove its unfinished files, and end the program with
 * status 128 plus the signal's number. Signals that the program was started to
 * ignore, as by nohup, stay ignored. SIGXFSZ makes the write fail that is too
 * long.
 *
 * The first signal raises the flag of lua/bind/interrupt.h and arms a hook, so
 * it stops Lua code as well as a loop in C that polls. A second one of the same
 * kind ends the process at once, in case the first one had no effect.
 */
#ifndef BLIS_HOST_SIGNALS_H
#define BLIS_HOST_SIGNALS_H

#include <lua.h>
#include <stdbool.h>

/* Makes these signals stop the code that runs in L. */
void host_signals_watch(lua_State *L);

/*
 * Back to the default, that these signals end the process. Earlier ones are
 * forgotten.
 */
void host_signals_reset(void);

/* Like host_signals_reset, but Ctrl-C has no effect until another function of this file is
   called. */
void host_signals_ignore(void);

/* The last signal that came while they were watched for; 0 = none. */
int host_signals_last(void);

#endif
