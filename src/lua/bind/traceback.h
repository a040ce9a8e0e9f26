/*
 * traceback.h - what a person is shown of the stack of an error.
 */
#ifndef BLIS_LUA_BIND_TRACEBACK_H
#define BLIS_LUA_BIND_TRACEBACK_H

#include <lua.h>

/* The name of chunks that the binding generates; without place in tracebacks.
 */
#define BIND_GENERATED_CHUNK "=(blis)"

/*
 * Pushes message (may be NULL) and the traceback of the stack below it, without the lines that name
 * no function: C called from nowhere, tail calls, generated code. May raise for lack of memory.
 */
void push_traceback(lua_State *L, const char *message);

#endif
