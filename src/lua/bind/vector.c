#include "lua/bind/vector.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/bind/sandbox.h"
#include "lua/bind/vector_math.h"

#define VECTOR_TYPE "blis.vector"
#define POOL_KEY "blis.vector_pool"
#define TEMPORARIES_KEY "blis.vector_temporaries"

/* Upvalues of every vector function. */
enum { UPVALUE_METATABLE = 1, UPVALUE_TEMPORARIES, UPVALUE_POOL, UPVALUES = 3 };

/*
 * Number of sets of temporaries, which decisions use in rotation. A temporary that a script has
 * stored is therefore still recognized as stale in the next decisions.
 */
enum { TURNS = 4 };

static bind_vector_pool *pool_upvalue(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(UPVALUE_POOL));
}

/* The address of this variable is stored in every vector, and in no other userdata. */
static const char vector_tag;

/*
 * Returns the vector at index, or NULL. Comparing metatables would take three Lua calls instead of
 * one. Light userdata has length 0 and is not dereferenced.
 */
static bind_vector *to_vector(lua_State *L, int index) {
  bind_vector *vector = lua_touserdata(L, index);
  bool is_vector =
      vector != NULL && lua_rawlen(L, index) >= sizeof *vector && vector->tag == &vector_tag;
  return is_vector ? vector : NULL;
}

static bool is_stale(const bind_vector *vector) {
  return vector->decision != 0 && vector->decision != vector->pool->decision;
}

static bind_vector *check_vector_or(lua_State *L, int index, const char *expected) {
  bind_vector *vector = to_vector(L, index);
  if (vector == NULL) {
    luaL_typeerror(L, index, expected);
  } else if (is_stale(vector)) {
    luaL_argerror(L, index,
                  "this vector belongs to a past decision; keep numbers (v[i], "
                  "blis.vec.totable(v)) instead");
  }
  return vector;
}

static bind_vector *check_vector(lua_State *L, int index) {
  return check_vector_or(L, index, "vector");
}

/*
 * Charges the vector to the script's budget, because a script can create any number of vectors,
 * whose cost arises in C. The columns of a decision are short and are not charged.
 */
static void charge(lua_State *L, const bind_vector *vector) {
  enum { FREE_ITEMS = 1024, ITEMS_PER_INSTRUCTION = 4 };
  if (vector->count > FREE_ITEMS) {
    bind_sandbox_work(L, (int64_t)(vector->count / ITEMS_PER_INSTRUCTION));
  }
}

/* Returns the vector at index, all items of which will be read. */
static bind_vector *check_whole(lua_State *L, int index) {
  bind_vector *vector = check_vector(L, index);
  charge(L, vector);
  return vector;
}

/*
 * Reads a number, or a vector of *count items; the first vector sets *count. *pool is set if an
 * operand belongs to a decision; then the result belongs to it as well.
 */
static vector_operand check_operand(lua_State *L, int index, size_t *count,
                                    bind_vector_pool **pool) {
  vector_operand operand = {.number = 0, .items = NULL};
  if (lua_type(L, index) == LUA_TNUMBER) {
    operand.number = lua_tonumberx(L, index, NULL);
    return operand;
  }
  const bind_vector *vector = check_vector_or(L, index, "number or vector");
  if (*count != SIZE_MAX && *count != vector->count) {
    luaL_error(L, "vectors of different lengths: %I and %I items", (LUAI_UACINT)*count,
               (LUAI_UACINT)vector->count);
  }
  *count = vector->count;
  charge(L, vector);
  if (vector->decision != 0) {
    *pool = vector->pool;
  }
  operand.items = vector->items;
  return operand;
}

static bind_vector *push_owner(lua_State *L, bind_vector_pool *pool, size_t capacity) {
  if (capacity > (SIZE_MAX / 2 - sizeof(bind_vector)) / sizeof(double)) {
    luaL_error(L, "not enough memory");
  }
  bind_vector *vector = lua_newuserdatauv(L, sizeof *vector + capacity * sizeof(double), 0);
  *vector = (bind_vector){.tag = &vector_tag,
                          .pool = pool,
                          .items = vector->own,
                          .count = capacity,
                          .capacity = capacity};
  return vector;
}

/* Pushes the next vector of the pool. `temporaries` is the index of the table of temporaries. */
static double *push_pooled(lua_State *L, bind_vector_pool *pool, int temporaries, size_t count) {
  lua_Integer slot = (lua_Integer)(pool->used * TURNS + (size_t)(pool->decision % TURNS) + 1);
  lua_rawgeti(L, temporaries, slot);
  bind_vector *vector = lua_touserdata(L, -1);
  if (vector == NULL || vector->capacity < count) {
    lua_pop(L, 1);
    vector = push_owner(L, pool, count);
    luaL_setmetatable(L, VECTOR_TYPE);
    lua_pushvalue(L, -1);
    lua_rawseti(L, temporaries, slot);
  }
  vector->count = count;
  vector->decision = pool->decision;
  pool->used++;
  return vector->own;
}

double *push_vector_temporary(lua_State *L, size_t count) {
  lua_getfield(L, LUA_REGISTRYINDEX, TEMPORARIES_KEY);
  double *items = push_pooled(L, bind_vector_pool_of(L), lua_gettop(L), count);
  lua_remove(L, -2);
  return items;
}

/* Pushes the vector for a result. If pool is NULL, the vector is valid outside of decisions. */
static double *push_result(lua_State *L, size_t count, bind_vector_pool *pool) {
  if (pool != NULL) {
    return push_pooled(L, pool, lua_upvalueindex(UPVALUE_TEMPORARIES), count);
  }
  bind_vector *lasting = push_owner(L, pool_upvalue(L), count);
  lua_pushvalue(L, lua_upvalueindex(UPVALUE_METATABLE));
  lua_setmetatable(L, -2);
  return lasting->own;
}

static int binary(lua_State *L, vector_binary *function) {
  size_t count = SIZE_MAX;
  bind_vector_pool *pool = NULL;
  vector_operand a = check_operand(L, 1, &count, &pool);
  vector_operand b = check_operand(L, 2, &count, &pool);
  if (count == SIZE_MAX) { /* two numbers: blis.vec.lt(1, 2) */
    double result = 0;
    function(&result, a, b, 1);
    lua_pushnumber(L, result);
    return 1;
  }
  function(push_result(L, count, pool), a, b, count);
  return 1;
}

#define XX(name)                                                                                   \
  static int vector_##name(lua_State *L) {                                                         \
    return binary(L, vector_math_##name);                                                          \
  }
VECTOR_BINARY_MAP(XX)
#undef XX

static int vector_unm(lua_State *L) {
  size_t count = SIZE_MAX;
  bind_vector_pool *pool = NULL;
  vector_operand a = check_operand(L, 1, &count, &pool);
  vector_math_negate(push_result(L, count, pool), a.items, count);
  return 1;
}

/* min(v): the smallest item. min(a, b): item by item. */
static int vector_min(lua_State *L) {
  if (!lua_isnoneornil(L, 2)) {
    return binary(L, vector_math_smaller);
  }
  const bind_vector *vector = check_whole(L, 1);
  lua_pushnumber(L, vector_math_min(vector->items, vector->count));
  return 1;
}

static int vector_max(lua_State *L) {
  if (!lua_isnoneornil(L, 2)) {
    return binary(L, vector_math_larger);
  }
  const bind_vector *vector = check_whole(L, 1);
  lua_pushnumber(L, vector_math_max(vector->items, vector->count));
  return 1;
}

static int vector_sum(lua_State *L) {
  const bind_vector *vector = check_whole(L, 1);
  lua_pushnumber(L, vector_math_sum(vector->items, vector->count));
  return 1;
}

static int vector_clamp(lua_State *L) {
  size_t count = SIZE_MAX;
  bind_vector_pool *pool = NULL;
  vector_operand v = check_operand(L, 1, &count, &pool);
  double low = luaL_optnumber(L, 2, 0);
  double high = luaL_optnumber(L, 3, 1);
  luaL_argcheck(L, low <= high, 3, "the upper limit is below the lower one");
  bool is_vector = count != SIZE_MAX;
  double single = v.number;
  const double *items = is_vector ? v.items : &single;
  double result = 0;
  double *out = is_vector ? push_result(L, count, pool) : &result;
  vector_math_clamp(out, items, low, high, is_vector ? count : 1);
  if (!is_vector) {
    lua_pushnumber(L, result);
  }
  return 1;
}

static int vector_norm(lua_State *L) {
  const bind_vector *vector = check_whole(L, 1);
  double when_equal = luaL_optnumber(L, 2, 0);
  double *out = push_result(L, vector->count, vector->decision != 0 ? vector->pool : NULL);
  vector_math_norm(out, vector->items, when_equal, vector->count);
  return 1;
}

static int vector_where(lua_State *L) {
  size_t count = SIZE_MAX;
  bind_vector_pool *pool = NULL;
  const bind_vector *condition = check_vector(L, 1);
  check_operand(L, 1, &count, &pool);
  vector_operand a = check_operand(L, 2, &count, &pool);
  vector_operand b = check_operand(L, 3, &count, &pool);
  vector_math_where(push_result(L, count, pool), condition->items, a, b, count);
  return 1;
}

static int vector_totable(lua_State *L) {
  const bind_vector *vector = check_whole(L, 1);
  lua_createtable(L, (int)vector->count, 0);
  for (size_t i = 0; i < vector->count; i++) {
    lua_pushnumber(L, vector->items[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

static int vector_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_Integer count = luaL_len(L, 1);
  luaL_argcheck(L, count >= 0, 1, "a list has no length below 0");
  luaL_argcheck(L, count <= INT32_MAX, 1, "too many items");
  bind_sandbox_work(L, count);
  double *out = push_result(L, (size_t)count, NULL);
  for (lua_Integer i = 1; i <= count; i++) {
    if (lua_rawgeti(L, 1, i) != LUA_TNUMBER) {
      return luaL_error(L, "item %I is a %s, not a number", (LUAI_UACINT)i, luaL_typename(L, -1));
    }
    out[i - 1] = lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  return 1;
}

/* v[i]; nil past the end, so that ipairs works. */
static int vector_index(lua_State *L) {
  const bind_vector *vector = check_vector(L, 1);
  int is_integer = 0;
  lua_Integer i = lua_tointegerx(L, 2, &is_integer);
  if (!is_integer) {
    return luaL_error(L, "a vector has no field '%s'; vector functions are in blis.vec",
                      luaL_tolstring(L, 2, NULL));
  }
  if (i < 1 || (size_t)i > vector->count) {
    lua_pushnil(L);
  } else {
    lua_pushnumber(L, vector->items[i - 1]);
  }
  return 1;
}

static int vector_newindex(lua_State *L) {
  return luaL_error(L, "vectors are read-only");
}

/* Returns one truth value per item. Lua's comparison operators reduce them to one. */
static int vector_compare(lua_State *L) {
  return luaL_error(L, "columns are compared item by item: blis.vec.lt(a, b), "
                       "with blis.vec.where(condition, a, b) instead of if, "
                       "and blis.vec.min and max");
}

static int vector_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)check_vector(L, 1)->count);
  return 1;
}

static int vector_tostring(lua_State *L) {
  enum { SHOWN = 16 };
  const bind_vector *kept = to_vector(L, 1);
  if (kept != NULL && is_stale(kept)) {
    lua_pushliteral(L, "vector (of a past decision)");
    return 1;
  }
  const bind_vector *vector = check_vector(L, 1);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  luaL_addstring(&text, "vector {");
  for (size_t i = 0; i < vector->count && i < SHOWN; i++) {
    luaL_addstring(&text, i == 0 ? "" : ", ");
    lua_pushfstring(L, "%f", (LUAI_UACNUMBER)vector->items[i]);
    luaL_addvalue(&text);
  }
  luaL_addstring(&text, vector->count > SHOWN ? ", ...}" : "}");
  luaL_pushresult(&text);
  return 1;
}

static const luaL_Reg vector_meta[] = {
    {"__add", vector_add},
    {"__sub", vector_sub},
    {"__mul", vector_mul},
    {"__div", vector_div},
    {"__pow", vector_pow},
    {"__unm", vector_unm},
    {"__index", vector_index},
    {"__newindex", vector_newindex},
    {"__lt", vector_compare},
    {"__le", vector_compare},
    {"__len", vector_len},
    {"__tostring", vector_tostring},
    {NULL, NULL},
};

static const luaL_Reg vector_functions[] = {
#define XX(name) {#name, vector_##name},
    VECTOR_FUNCTION_MAP(XX)
#undef XX
        {NULL, NULL},
};

bind_vector_function bind_vector_function_of(lua_CFunction function) {
  int found = 0;
  while (found < VECTOR_FUNCTIONS && vector_functions[found].func != function) {
    found++;
  }
  return (bind_vector_function)found;
}

bool bind_vector_has_own_operators(lua_State *L) {
  bool has = luaL_getmetatable(L, VECTOR_TYPE) == LUA_TTABLE;
  for (const luaL_Reg *meta = vector_meta; has && meta->name != NULL; meta++) {
    lua_pushstring(L, meta->name);
    lua_rawget(L, -2);
    has = lua_tocfunction(L, -1) == meta->func;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return has;
}

static void push_upvalues(lua_State *L, int metatable) {
  lua_pushvalue(L, metatable);
  lua_pushvalue(L, metatable + 1); /* temporaries */
  lua_pushvalue(L, metatable + 2); /* pool */
}

void push_vector_library(lua_State *L) {
  luaL_newmetatable(L, VECTOR_TYPE);
  int metatable = lua_gettop(L);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, TEMPORARIES_KEY);
  bind_vector_pool *pool = push_buffer(L, 1, sizeof *pool);
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, POOL_KEY); // [meta, temporaries, pool]
  lua_pushvalue(L, metatable);
  push_upvalues(L, metatable);
  luaL_setfuncs(L, vector_meta, UPVALUES);
  set_list_pairs(L);
  lua_pushboolean(L, 0); /* hides the metatable: its functions rely on their upvalues */
  lua_setfield(L, -2, "__metatable");
  lua_pop(L, 1);
  luaL_newlibtable(L, vector_functions);
  push_upvalues(L, metatable);
  luaL_setfuncs(L, vector_functions, UPVALUES);
  lua_replace(L, metatable);
  lua_settop(L, metatable);
}

bind_vector_pool *bind_vector_pool_of(lua_State *L) {
  lua_getfield(L, LUA_REGISTRYINDEX, POOL_KEY);
  bind_vector_pool *pool = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return pool;
}

bind_vector_scope bind_vector_enter(bind_vector_pool *pool, struct bind_view *view) {
  bind_vector_scope scope = {.decision = pool->decision, .used = pool->used, .view = pool->view};
  pool->decision = ++pool->last_decision;
  BLIS_ASSERT(pool->decision > scope.decision);
  pool->view = view;
  return scope;
}

void bind_vector_leave(bind_vector_pool *pool, bind_vector_scope scope) {
  BLIS_ASSERT(pool->decision > scope.decision && pool->used >= scope.used);
  pool->decision = scope.decision;
  pool->used = scope.used;
  pool->view = scope.view;
}

bind_vector *push_vector_view(lua_State *L) {
  bind_vector *vector = push_owner(L, bind_vector_pool_of(L), 0);
  luaL_setmetatable(L, VECTOR_TYPE);
  vector->decision = UINT64_MAX; /* stale until the caller sets it */
  return vector;
}

const bind_vector *bind_vector_test(lua_State *L, int index) {
  const bind_vector *vector = to_vector(L, index);
  return vector != NULL && !is_stale(vector) ? vector : NULL;
}
