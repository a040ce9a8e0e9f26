/*
 * terminal.h - properties of the user's terminal for scripts.
 *
 * They are used only for display; no simulated result depends on them.
 */
#ifndef BLIS_LUA_FILES_TERMINAL_H
#define BLIS_LUA_FILES_TERMINAL_H

#include <lua.h>

/* is_terminal(): returns whether standard error is a terminal. */
int bind_is_terminal(lua_State *L);

/*
 * terminal_size(["output"]): returns columns and rows of standard error, or of standard output;
 * nothing if it is not a terminal; 80 and 24 if the terminal does not report its size.
 */
int bind_terminal_size(lua_State *L);

/*
 * is_in_background(): returns whether standard error is a terminal that another job controls. True
 * for background jobs and for worker processes.
 */
int bind_is_in_background(lua_State *L);

#endif
