/*
 * signals.h - Ctrl-C: the running simulation or script stops, and the program
 * ends with status 130.
 *
 * The first interrupt raises the flag of lua/bind/interrupt.h and arms a hook,
 * so it stops Lua code as well as a loop in C that polls. The second one ends
 * the process the hard way, should neither be listening.
 */
#ifndef BLIS_HOST_SIGNALS_H
#define BLIS_HOST_SIGNALS_H

#include <lua.h>
#include <stdbool.h>

/* From now on an interrupt stops what runs in L. */
void host_signals_watch(lua_State *L);

/*
 * Back to the default, that an interrupt ends the process. An earlier one is
 * forgotten.
 */
void host_signals_reset(void);

/* Interrupts have no effect until one of the others is called; likewise. */
void host_signals_ignore(void);

/* True once an interrupt came in while it was watched for. */
bool host_signals_interrupted(void);

#endif
