/*
 * vector.h - columns: arrays of doubles with arithmetic on whole arrays.
 *
 * A vector is a view of an array that C owns, or a temporary. A temporary is the result of an
 * operator inside a decision. It comes from a pool that is reset at the end of the decision, so
 * expressions create no garbage. Both store the number of their decision and cannot be used in
 * later decisions. Vectors made outside decisions (blis.vec.new) own their items and remain valid.
 */
#ifndef BLIS_LUA_BIND_VECTOR_H
#define BLIS_LUA_BIND_VECTOR_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bind_vector {
  const void *tag; /* distinguishes vectors from other userdata; see vector.c */
  struct bind_vector_pool *pool;
  const double *items;
  size_t count;
  uint64_t decision; /* 0 = valid outside of decisions */
  size_t capacity;   /* capacity of own */
  double own[];
} bind_vector;

/* One per Lua state; the registry owns it. */
typedef struct bind_vector_pool {
  uint64_t decision; /* number of the current decision; 0 outside decisions */
  uint64_t last_decision;
  size_t used;            /* number of temporaries in use */
  struct bind_view *view; /* view of the current decision */
} bind_vector_pool;

/* State that bind_vector_leave restores. Decisions are nested if a hook starts a run. */
typedef struct bind_vector_scope {
  uint64_t decision;
  size_t used;
  struct bind_view *view;
} bind_vector_scope;

/* Creates type and pool, and pushes the table of functions: blis.vec. */
void push_vector_library(lua_State *L);

/* Returns the pool of the state. push_vector_library must have been called. */
bind_vector_pool *bind_vector_pool_of(lua_State *L);

/* Starts a new decision, to which vectors belong until bind_vector_leave is called. */
bind_vector_scope bind_vector_enter(bind_vector_pool *pool, struct bind_view *view);
void bind_vector_leave(bind_vector_pool *pool, bind_vector_scope scope);

/* Pushes a temporary, whose items the caller must fill in. Call it only in a decision. */
double *push_vector_temporary(lua_State *L, size_t count);

/* Pushes an empty view. The caller must set items, count, and decision before using it. */
bind_vector *push_vector_view(lua_State *L);

/* The functions of blis.vec. */
#define VECTOR_FUNCTION_MAP(XX)                                                                    \
  XX(min)                                                                                          \
  XX(max)                                                                                          \
  XX(sum)                                                                                          \
  XX(clamp)                                                                                        \
  XX(norm)                                                                                         \
  XX(where)                                                                                        \
  XX(lt)                                                                                           \
  XX(le)                                                                                           \
  XX(gt)                                                                                           \
  XX(ge)                                                                                           \
  XX(eq)                                                                                           \
  XX(totable)                                                                                      \
  XX(new)

typedef enum bind_vector_function {
#define XX(name) VECTOR_##name,
  VECTOR_FUNCTION_MAP(XX)
#undef XX
      VECTOR_FUNCTIONS
} bind_vector_function;

/* Returns the number of a function of blis.vec; VECTOR_FUNCTIONS for NULL and for any other
   function. */
bind_vector_function bind_vector_function_of(lua_CFunction function);

/* Returns whether the operators of vectors are still those of this module. */
bool bind_vector_has_own_operators(lua_State *L);

/* Returns the vector at index, or NULL if the value is not a vector or is stale. */
const bind_vector *bind_vector_test(lua_State *L, int index);

#endif
