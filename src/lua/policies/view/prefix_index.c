#include "lua/policies/view/prefix_index.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/bind/hook.h"
#include "lua/bind/math_random.h"
#include "lua/policies/view/prefix_store.h"
#include "lua/policies/view/view.h"

#define INDEX_TYPE "blis.prefix_index"

/* Maximum number of instances; each takes a few bytes. */
enum { INSTANCES_MAX = 1000000 };

/*
 * Every simulation that uses the index has a separate store for it in its anchor, so runs and their
 * clones do not affect each other. The user value is the store that was used last; initially, the
 * store for use outside of runs.
 */
typedef struct prefix_index {
  bind_vector_pool *pool;
  bind_prefix_store *store; /* the user value; NULL before the first use */
  uint64_t decision;        /* decision for which store is valid; 0 = none */
  uint64_t capacity_blocks;
  uint32_t block_size_tokens;
  bool is_closed;
} prefix_index;

static prefix_index *check_index(lua_State *L) {
  prefix_index *self = luaL_checkudata(L, 1, INDEX_TYPE);
  luaL_argcheck(L, !self->is_closed, 1, "the prefix index is closed");
  return self;
}

int bind_prefix_index_new(lua_State *L) {
  int64_t capacity = check_field_integer(L, 1, "capacity");
  int64_t block_size = check_field_integer(L, 1, "block_size");
  prefix_index *self = lua_newuserdatauv(L, sizeof *self, 1);
  *self = (prefix_index){.pool = bind_vector_pool_of(L),
                         .capacity_blocks = (uint64_t)capacity,
                         .block_size_tokens = (uint32_t)block_size};
  luaL_setmetatable(L, INDEX_TYPE);
  return 1;
}

/* Selects the store on top of the stack as the current store; pops it. */
static void use_store(lua_State *L, prefix_index *self) {
  self->store = lua_touserdata(L, -1);
  lua_setiuservalue(L, 1, 1);
}

static void push_new_store(lua_State *L, const prefix_index *self) {
  push_prefix_store(L, self->capacity_blocks, self->block_size_tokens);
}

/* Pushes the store in the simulation whose hooks are running. */
static void push_store_of_run(lua_State *L, const prefix_index *self, const bind_hooks *hooks) {
  bind_hooks_anchor(L, hooks);
  lua_rawgeti(L, -1, ANCHOR_PREFIXES);
  lua_pushvalue(L, 1);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 1);
    push_new_store(L, self); // [anchor, stores, store]
    lua_pushvalue(L, 1);
    lua_pushvalue(L, -2);
    lua_rawset(L, -4);
  }
  lua_replace(L, -3);
  lua_pop(L, 1);
}

static bind_prefix_store *check_store(lua_State *L, prefix_index *self) {
  uint64_t decision = self->pool->decision;
  if (decision != 0 && self->decision == decision) {
    return self->store;
  }
  const bind_hooks *hooks = bind_hooks_driven(L);
  if (hooks != NULL) {
    push_store_of_run(L, self, hooks);
    use_store(L, self);
  } else if (self->store == NULL) {
    push_new_store(L, self);
    use_store(L, self);
  }
  self->decision = decision;
  return self->store;
}

/* Returns the number, from 0, of the instance at index: a table, userdata, or index. */
static uint32_t check_instance(lua_State *L, int index) {
  int type = lua_type(L, index);
  if (type == LUA_TTABLE) {
    lua_pushliteral(L, "index");
    lua_rawget(L, index);
  } else if (luaL_testudata(L, index, INSTANCE_TYPE) != NULL) {
    lua_getfield(L, index, "index");
  } else {
    lua_pushvalue(L, index);
  }
  int is_integer = 0;
  lua_Integer number = lua_tointegerx(L, -1, &is_integer);
  if (lua_type(L, -1) != LUA_TNUMBER || !is_integer || number < 1 || number > INSTANCES_MAX) {
    luaL_argerror(L, index,
                  lua_pushfstring(L,
                                  "expected an instance or its index, 1 to %d, "
                                  "got %s",
                                  INSTANCES_MAX, push_what(L, index)));
  }
  lua_pop(L, 1);
  return (uint32_t)(number - 1);
}

static lua_Integer tokens_at(const prefix_index *self, const uint32_t *blocks, size_t count,
                             uint32_t instance) {
  return instance < count ? (lua_Integer)blocks[instance] * self->block_size_tokens : 0;
}

/* record(prompt, instance): records that the prompt is sent to the instance. */
static int index_record(lua_State *L) {
  prefix_index *self = check_index(L);
  lua_settop(L, 3);
  uint32_t instance = check_instance(L, 3);
  check_prefix_record(L, 2, check_store(L, self), self->pool, instance);
  return 0;
}

/* match(prompt, columns): returns a vector over the candidates. */
static int push_matches(lua_State *L, const prefix_index *self, const uint32_t *blocks,
                        size_t count) {
  const blis_routing_view *shown = self->pool->view->view;
  double *tokens = push_vector_temporary(L, shown->count);
  for (size_t i = 0; i < shown->count; i++) {
    tokens[i] = (double)tokens_at(self, blocks, count, shown->instances[i]);
  }
  return 1;
}

/* match(prompt, instance): returns the number of leading tokens that the instance has. */
static int index_match(lua_State *L) {
  prefix_index *self = check_index(L);
  lua_settop(L, 3);
  const bind_view *view = self->pool->view;
  bool is_columns =
      view != NULL && view->view != NULL && lua_topointer(L, 3) == view->columns_table;
  uint32_t instance = is_columns ? 0 : check_instance(L, 3);
  bind_prefix_store *store = check_store(L, self);
  size_t count = 0;
  const uint32_t *blocks = check_prefix_match(L, 2, store, self->pool, &count);
  if (is_columns) {
    return push_matches(L, self, blocks, count);
  }
  lua_pushinteger(L, tokens_at(self, blocks, count, instance));
  return 1;
}

/* match_all(prompt, instances, tokens): returns a list in the order of instances. */
static int index_match_all(lua_State *L) {
  enum { PROMPT = 2, INSTANCES, TOKENS };
  prefix_index *self = check_index(L);
  lua_settop(L, TOKENS);
  bool is_all = lua_isnil(L, INSTANCES);
  if (!is_all) {
    luaL_checktype(L, INSTANCES, LUA_TTABLE);
  }
  bind_prefix_store *store = check_store(L, self);
  size_t count = 0;
  const uint32_t *blocks = check_prefix_match(L, PROMPT, store, self->pool, &count);
  size_t wanted = is_all ? count : lua_rawlen(L, INSTANCES);
  if (lua_isnil(L, TOKENS)) {
    lua_createtable(L, (int)wanted, 0);
    lua_replace(L, TOKENS);
  }
  luaL_checktype(L, TOKENS, LUA_TTABLE);
  for (size_t i = 0; i < wanted; i++) {
    uint32_t instance = (uint32_t)i;
    if (!is_all) {
      lua_rawgeti(L, INSTANCES, (lua_Integer)i + 1);
      instance = check_instance(L, lua_gettop(L));
      lua_pop(L, 1);
    }
    lua_pushinteger(L, tokens_at(self, blocks, count, instance));
    lua_rawseti(L, TOKENS, (lua_Integer)i + 1);
  }
  return 1;
}

/* forget(instance): removes the blocks of an instance that has lost its cache. */
static int index_forget(lua_State *L) {
  prefix_index *self = check_index(L);
  lua_settop(L, 2);
  uint32_t instance = check_instance(L, 2);
  bind_prefix_forget(check_store(L, self), instance);
  return 0;
}

static int index_clear(lua_State *L) {
  prefix_index *self = check_index(L);
  bind_prefix_clear(check_store(L, self));
  return 0;
}

/* size(instance): returns the number of its blocks. */
static int index_size(lua_State *L) {
  prefix_index *self = check_index(L);
  lua_settop(L, 2);
  uint32_t instance = check_instance(L, 2);
  const bind_prefix_store *store = check_store(L, self);
  lua_pushinteger(L, (lua_Integer)blis_prefix_index_size(store->index, instance));
  return 1;
}

/* Closes an index. The stores of simulations are freed with their simulations. */
static int index_close(lua_State *L) {
  prefix_index *self = luaL_checkudata(L, 1, INDEX_TYPE);
  if (self->store != NULL) {
    bind_prefix_store_close(self->store);
  }
  self->store = NULL;
  self->is_closed = true;
  return 0;
}

static int index_len(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)bind_prefix_total(check_store(L, check_index(L))));
  return 1;
}

/* (index, k) -> k + 1 and the number of blocks of that instance. */
static int index_next(lua_State *L) {
  const bind_prefix_store *store = check_store(L, check_index(L));
  lua_Integer k = luaL_optinteger(L, 2, 0);
  if (k < 0 || k >= (lua_Integer)store->instance_count) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, k + 1);
  lua_pushinteger(L, (lua_Integer)blis_prefix_index_size(store->index, (uint32_t)k));
  return 2;
}

/* for instance, blocks in pairs(index): iterates in the order of instances. */
static int index_pairs(lua_State *L) {
  check_index(L);
  lua_pushcfunction(L, index_next);
  lua_pushvalue(L, 1);
  lua_pushnil(L);
  return 3;
}

static const char *const index_fields[] = {"capacity", "block_size", NULL};

static bool push_index_field(lua_State *L, const char *name) {
  const prefix_index *self = check_index(L);
  if (strcmp(name, "capacity") == 0) {
    lua_pushinteger(L, (lua_Integer)self->capacity_blocks);
  } else if (strcmp(name, "block_size") == 0) {
    lua_pushinteger(L, self->block_size_tokens);
  } else {
    return false;
  }
  return true;
}

static int index_tostring(lua_State *L) {
  prefix_index *self = luaL_checkudata(L, 1, INDEX_TYPE);
  if (self->is_closed) {
    lua_pushliteral(L, "prefix index (closed)");
    return 1;
  }
  const bind_prefix_store *store = check_store(L, self);
  lua_pushfstring(L,
                  "prefix index (%I blocks of %I tokens over %I instances, at "
                  "most %I each)",
                  (LUAI_UACINT)bind_prefix_total(store), (LUAI_UACINT)self->block_size_tokens,
                  (LUAI_UACINT)store->instance_count, (LUAI_UACINT)self->capacity_blocks);
  return 1;
}

static const luaL_Reg index_meta[] = {
    {"__close", index_close},       {"__len", index_len}, {"__pairs", index_pairs},
    {"__tostring", index_tostring}, {NULL, NULL},
};

static const luaL_Reg index_methods[] = {
    {"clear", index_clear},         {"close", index_close},
    {"forget", index_forget},       {"match", index_match},
    {"match_all", index_match_all}, {"record", index_record},
    {"size", index_size},           {NULL, NULL},
};

static const bind_fields index_members = {.owner = "a prefix index",
                                          .names = index_fields,
                                          .methods = index_methods,
                                          .push = push_index_field};

void bind_open_prefix_indexes(lua_State *L) {
  bind_open_prefix_stores(L);
  push_new_type(L, INDEX_TYPE, index_meta, NULL);
  set_fields(L, &index_members);
  lua_pushcfunction(L, index_pairs); /* iterates over the contents, not over the fields */
  lua_setfield(L, -2, "__pairs");
  lua_pop(L, 1);
}
