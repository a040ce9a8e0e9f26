/*
 * vector.h - columns: arrays of doubles with arithmetic on whole arrays.
 *
 * A vector is a view of an array that C owns, or a temporary. A temporary is the result of an
 * operator inside a decision, from a pool that is rewound at the end of the decision, so
 * expressions create no garbage. Both store the number of their decision and cannot be used in a
 * later one. Vectors made outside decisions (blis.vec.new) own their items and stay valid.
 */
#ifndef BLIS_LUA_BIND_VECTOR_H
#define BLIS_LUA_BIND_VECTOR_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bind_vector {
  const void *tag; /* distinguishes it from other userdata, see vector.c */
  struct bind_vector_pool *pool;
  const double *items;
  size_t count;
  uint64_t decision; /* 0 = lasting */
  size_t capacity;   /* of own */
  double own[];
} bind_vector;

/* One per Lua state; the registry owns it. */
typedef struct bind_vector_pool {
  uint64_t decision; /* the current one; 0 outside decisions */
  uint64_t last_decision;
  size_t used;            /* temporaries handed out and not yet taken back */
  struct bind_view *view; /* of the current decision */
} bind_vector_pool;

/* What bind_vector_leave restores: decisions nest when a hook runs a run. */
typedef struct bind_vector_scope {
  uint64_t decision;
  size_t used;
  struct bind_view *view;
} bind_vector_scope;

/* Creates type and pool, and pushes the table of functions: blis.vec. */
void push_vector_library(lua_State *L);

/* The state's pool; push_vector_library has been called. */
bind_vector_pool *bind_vector_pool_of(lua_State *L);

/* From here to bind_vector_leave, vectors belong to one new decision. */
bind_vector_scope bind_vector_enter(bind_vector_pool *pool, struct bind_view *view);
void bind_vector_leave(bind_vector_pool *pool, bind_vector_scope scope);

/* In a decision: pushes a temporary whose items the caller fills in. */
double *push_vector_temporary(lua_State *L, size_t count);

/* Pushes a view of nothing; set items, count and decision before its use. */
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

/* Which one this is; VECTOR_FUNCTIONS when none, or NULL. */
bind_vector_function bind_vector_function_of(lua_CFunction function);

/* Whether + and all other operators of vectors are still those from here. */
bool bind_vector_has_own_operators(lua_State *L);

/* The vector at index, or NULL when it is none or is stale. */
const bind_vector *bind_vector_test(lua_State *L, int index);

#endif
