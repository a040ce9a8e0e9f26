/*
 * closed.h - tables with a fixed set of fields: reading any other name raises an error instead of
 * returning nil. Some of them are also read-only.
 */
#ifndef BLIS_LUA_BIND_CLOSED_H
#define BLIS_LUA_BIND_CLOSED_H

#include <lua.h>

#include "base/nearest.h"

typedef struct bind_closed {
  const char *type;         /* name of the metatable */
  const char *owner;        /* "a band of the queue", for messages */
  const char *const *names; /* field names, some of which may be nil; ends with NULL */
  const char *help;         /* where the fields are listed, as the end of a sentence */
  /* Offers more names, or raises an error that explains why a known name is missing. NULL = not
     needed. */
  void (*offer_more)(lua_State *L, const char *name, blis_nearest *nearest);
} bind_closed;

/* Closes the table on top of the stack; closed must be static. May raise. */
void close_table(lua_State *L, const bind_closed *closed);

/*
 * Closes the table and replaces it with an empty proxy table, through which it can be read but not
 * written. Use it for tables that are rarely created. If closed->names is NULL, the table is a
 * list. `instead` (static) is the end of a sentence that explains how a script can change a value.
 */
void seal_table(lua_State *L, const bind_closed *closed, const char *instead);

#endif
