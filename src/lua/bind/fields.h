/*
 * fields.h - userdata with named fields: they can be read, listed with pairs in
 * a fixed order, and are suggested when one is misspelled.
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
  const char *const *names; /* in the order of pairs; ends with NULL */
  const luaL_Reg *methods;  /* ends with NULLs; NULL = none */
  /*
   * Pushes the field of the object at index 1, and returns true only if it did. May accept other
   * names than the names above. May raise.
   */
  bool (*push)(lua_State *L, const char *name);
  /* Whether the object at index 1 has a value of a name; pairs skips the others. NULL = it has all
     names. May raise. */
  bool (*has)(lua_State *L, const char *name);
} bind_fields;

/*
 * Sets __index and __pairs of the metatable on top of the stack. fields must be static. May raise.
 */
void set_fields(lua_State *L, const bind_fields *fields);

/*
 * __index of an object that is a list (it raises "<what> has no field ...") and has its methods by
 * name in the first upvalue. Returns the index of the item from 0, or -1 if the result is pushed
 * already: a method, or nil.
 */
int64_t check_list_item(lua_State *L, const char *what, size_t count);

/* Makes pairs iterate over [1] to [#object], whatever else __index accepts. */
void set_list_pairs(lua_State *L);

#endif
