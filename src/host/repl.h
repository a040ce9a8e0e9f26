/*
 * repl.h - the prompt of `blis -i`.
 */
#ifndef BLIS_HOST_REPL_H
#define BLIS_HOST_REPL_H

#include <lua.h>
#include <stdbool.h>

/*
 * Reads and runs statements until the end of input. lua/blis/prompt shows the values of expressions
 * and completes words. An incomplete statement continues on the next line. Errors and interrupts
 * end only the statement, not the prompt.
 */
void host_repl_run(lua_State *L, bool keeps_history);

#endif
