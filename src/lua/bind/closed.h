/*
 * closed.h - tables that know which fields they may have: another name is an
 * error, and not nil. Some of them cannot be written to either.
 */
#ifndef BLIS_LUA_BIND_CLOSED_H
#define BLIS_LUA_BIND_CLOSED_H

#include <lua.h>

#include "base/nearest.h"

typedef struct bind_closed {
  const char *type;         /* of the metatable */
  const char *owner;        /* "a band of the queue", for messages */
  const char *const *names; /* some may be nil at times; ends with NULL */
  const char *help;         /* where they are listed, as a sentence's end */
  /* Offers more names, or raises why a known one is not there. NULL = none. */
  void (*offer_more)(lua_State *L, const char *name, blis_nearest *nearest);
} bind_closed;

/* Closes the table on top of the stack; closed must be static. May raise. */
void close_table(lua_State *L, const bind_closed *closed);

/*
 * Closes it, and puts an empty one in its place through which it is read and
 * cannot be written; for what is made seldom. names of closed NULL: it is a
 * list. instead, static, is what a script does that wants to change something,
 * as the end of a sentence.
 */
void seal_table(lua_State *L, const bind_closed *closed, const char *instead);

#endif
