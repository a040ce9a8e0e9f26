/*
 * traceback.h - tracebacks of errors for users.
 */
#ifndef BLIS_LUA_BIND_TRACEBACK_H
#define BLIS_LUA_BIND_TRACEBACK_H

#include <lua.h>

/* Name of chunks that the binding generates. Tracebacks omit these chunks. */
#define BIND_GENERATED_CHUNK "=(blis)"

/*
 * Pushes message (may be NULL) and the traceback of the stack below it, without the lines that name
 * no function: C functions without a caller, tail calls, and generated code. May raise if memory is
 * exhausted.
 */
void push_traceback(lua_State *L, const char *message);

#endif
