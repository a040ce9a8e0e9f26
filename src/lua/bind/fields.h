/*
 * fields.h - userdata with named fields: fields can be read, and listed with pairs in a fixed
 * order. Errors suggest a field if a name is misspelled.
 */
#ifndef BLIS_LUA_BIND_FIELDS_H
#define BLIS_LUA_BIND_FIELDS_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bind_fields {
  const char *owner;        /* "a KV cache", for messages */
  const char *const *names; /* field names in the order of pairs; ends with NULL */
  const luaL_Reg *methods;  /* ends with NULLs; NULL = none */
  /*
   * Pushes a field of the object at index 1. Returns false, and pushes nothing, if the field does
   * not exist. May accept names that are not in the list above. May raise.
   */
  bool (*push)(lua_State *L, const char *name);
  /* Returns whether the object at index 1 has a value for a name; pairs skips all other names.
     NULL = objects have values for all names. May raise. */
  bool (*has)(lua_State *L, const char *name);
} bind_fields;

/*
 * Sets __index and __pairs of the metatable on top of the stack. fields must be static. May raise.
 */
void set_fields(lua_State *L, const bind_fields *fields);

/*
 * Implements __index of an object that is a list, with a table of methods in the first upvalue.
 * Returns the index of the item, from 0, or -1 if the result (a method or nil) has already been
 * pushed. Raises "<what> has no field ..." for any other name.
 */
int64_t check_list_item(lua_State *L, const char *what, size_t count);

/* Makes pairs iterate only over [1] to [#object], regardless of what else __index accepts. */
void set_list_pairs(lua_State *L);

#endif
