/*
 * closed.h - tables with a fixed set of fields: reading another name is an error instead of nil.
 * Some of them are also read-only.
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
  /* Offers more names, or raises why a known name is missing. NULL: none. */
  void (*offer_more)(lua_State *L, const char *name, blis_nearest *nearest);
} bind_closed;

/* Closes the table on top of the stack; closed must be static. May raise. */
void close_table(lua_State *L, const bind_closed *closed);

/*
 * Closes the table and replaces it by an empty table through which it can be read but not written.
 * Use it for tables that are made seldom. If closed->names is NULL, the table is a list. instead
 * (static) is the end of a sentence: what a script should do to change a value.
 */
void seal_table(lua_State *L, const bind_closed *closed, const char *instead);

#endif
