/*
 * repl.h - the prompt of `blis -i`.
 */
#ifndef BLIS_HOST_REPL_H
#define BLIS_HOST_REPL_H

#include <lua.h>
#include <stdbool.h>

/*
 * Reads and runs statements until the end of input. Values of expressions are
 * shown as lua/blis/prompt says, which completes words, too; a statement that
 * is not complete continues on the next line; errors and interrupts end the
 * statement and not the prompt.
 */
void host_repl_run(lua_State *L, bool keeps_history);

#endif
