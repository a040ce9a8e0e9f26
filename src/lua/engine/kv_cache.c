#include "lua/engine/kv_cache.h"

#include <string.h>

#include "kv/kv_cache.h"
#include "lua/bind/bind.h"
#include "lua/bind/fields.h"
#include "lua/traffic/content.h"
#include "workload/block_namer.h"
#include "workload/workload.h"

#define KV_CACHE_TYPE "blis.kv_cache"
#define KV_HOLDER_TYPE "blis.kv_holder"

/* The user value is the table of its holders, which keeps them alive. */
typedef struct kv_cache {
  blis_alloc alloc;
  blis_kv_cache *cache;
  blis_block_namer *namer;
  blis_intern *contents; /* names of contents are used as streams */
  int64_t block_size_tokens;
} kv_cache;

/* A request with blocks. The user value is the cache. */
typedef struct kv_holder {
  kv_cache *owner; /* NULL once released */
  blis_block_chain chain;
  blis_block_list blocks;
  int64_t prompt_tokens;
  int64_t tokens; /* number of tokens stored so far */
  int64_t cached_tokens;
} kv_holder;

static kv_cache *check_cache(lua_State *L, int index) {
  kv_cache *self = luaL_checkudata(L, index, KV_CACHE_TYPE);
  luaL_argcheck(L, self->cache != NULL, index, "the KV cache is closed");
  return self;
}

static int cache_gc(lua_State *L) {
  kv_cache *self = luaL_checkudata(L, 1, KV_CACHE_TYPE);
  blis_kv_cache_free(self->cache);
  self->cache = NULL;
  blis_block_namer_free(self->namer);
  self->namer = NULL;
  blis_intern_free(self->contents);
  self->contents = NULL;
  return 0;
}

int bind_kv_cache_new(lua_State *L) {
  const blis_kv_cache_config config = {
      .blocks = check_field_integer(L, 1, "blocks"),
      .block_size_tokens = check_field_integer(L, 1, "block_size"),
  };
  kv_cache *self = lua_newuserdatauv(L, sizeof *self, 1);
  memset(self, 0, sizeof *self);
  luaL_setmetatable(L, KV_CACHE_TYPE);
  lua_newtable(L);
  lua_setiuservalue(L, -2, 1);
  self->alloc = bind_alloc(L);
  self->block_size_tokens = config.block_size_tokens;
  blis_error error = {0};
  check_status(L, blis_kv_cache_new(&self->alloc, &config, &self->cache, &error), &error);
  self->namer = blis_block_namer_new(&self->alloc);
  self->contents = blis_intern_new(&self->alloc);
  if (self->namer == NULL || self->contents == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  return 1;
}

static blis_status name_content(void *ud, const char *name, size_t length, uint32_t *stream) {
  return blis_intern_add(ud, name, length, stream);
}

static blis_request push_prompt(lua_State *L, int index, kv_cache *self) {
  const bind_content_names names = {name_content, self->contents};
  return push_content(L, index, &names);
}

/* cache:match(prompt): returns the number of leading tokens whose blocks are in the cache. */
static int cache_match(lua_State *L) {
  kv_cache *self = check_cache(L, 1);
  blis_request request = push_prompt(L, 2, self);
  blis_block_chain chain = {0};
  blis_error error = {0};
  check_status(L,
               blis_block_namer_chain(self->namer, &request, (uint32_t)self->block_size_tokens,
                                      &chain, &error),
               &error);
  uint32_t blocks = blis_kv_cache_count_cached(self->cache, &chain);
  blis_block_namer_release(self->namer, &chain);
  lua_pushinteger(L, blocks * self->block_size_tokens);
  return 1;
}

/* Finds the cached blocks, and stores the rest of the prompt after them. */
static blis_status store_prompt(kv_cache *self, kv_holder *holder, bool *is_done,
                                blis_error *error) {
  blis_block_list found = {0};
  blis_status status = blis_kv_cache_match(self->cache, &holder->chain, &found, error);
  if (status == BLIS_OK) {
    holder->cached_tokens = (int64_t)found.count * self->block_size_tokens;
    const blis_block_span span = {.chain = &holder->chain,
                                  .prompt_tokens = holder->prompt_tokens,
                                  .start_tokens = holder->cached_tokens,
                                  .end_tokens = holder->prompt_tokens};
    status = blis_kv_cache_allocate(self->cache, &holder->blocks, &span, &found, is_done, error);
  }
  blis_array_deinit(&self->alloc, &found);
  return status;
}

/* Releases everything. Idempotent; never raises. */
static void let_go(kv_holder *holder) {
  kv_cache *owner = holder->owner;
  if (owner == NULL) {
    return;
  }
  if (owner->cache != NULL) {
    blis_kv_cache_release(owner->cache, &holder->blocks);
    blis_block_namer_release(owner->namer, &holder->chain);
  }
  blis_array_deinit(&owner->alloc, &holder->blocks);
  holder->owner = NULL;
}

/* cache:allocate(prompt): returns a holder of the prompt's blocks, or nil if they do not fit. */
static int cache_allocate(lua_State *L) {
  kv_cache *self = check_cache(L, 1);
  lua_settop(L, 2);
  blis_request request = push_prompt(L, 2, self);
  kv_holder *holder = lua_newuserdatauv(L, sizeof *holder, 1);
  int place = lua_gettop(L);
  memset(holder, 0, sizeof *holder);
  luaL_setmetatable(L, KV_HOLDER_TYPE);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, place, 1);
  lua_getiuservalue(L, 1, 1);
  lua_pushvalue(L, place);
  lua_rawsetp(L, -2, holder); // the cache keeps it
  blis_error error = {0};
  check_status(L,
               blis_block_namer_chain(self->namer, &request, (uint32_t)self->block_size_tokens,
                                      &holder->chain, &error),
               &error);
  holder->owner = self;
  holder->prompt_tokens = request.prompt_tokens;
  bool is_done = false;
  blis_status status = store_prompt(self, holder, &is_done, &error);
  holder->tokens = holder->prompt_tokens;
  if (status != BLIS_OK || !is_done) {
    let_go(holder);
    lua_pushnil(L);
    lua_rawsetp(L, place + 1, holder);
  }
  check_status(L, status, &error);
  if (is_done) {
    lua_pushvalue(L, place);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

static kv_holder *check_holder(lua_State *L, int index, const kv_cache *self) {
  kv_holder *holder = luaL_checkudata(L, index, KV_HOLDER_TYPE);
  luaL_argcheck(L, holder->owner == self, index,
                holder->owner == NULL ? "it has already been released"
                                      : "it belongs to another cache");
  return holder;
}

/* cache:append(holder): adds one output token; returns false if it does not fit. */
static int cache_append(lua_State *L) {
  kv_cache *self = check_cache(L, 1);
  kv_holder *holder = check_holder(L, 2, self);
  const blis_block_span span = {.chain = &holder->chain,
                                .prompt_tokens = holder->prompt_tokens,
                                .start_tokens = holder->tokens,
                                .end_tokens = holder->tokens + 1};
  bool is_done = false;
  blis_error error = {0};
  check_status(L,
               blis_kv_cache_allocate(self->cache, &holder->blocks, &span, NULL, &is_done, &error),
               &error);
  holder->tokens += is_done;
  lua_pushboolean(L, is_done);
  return 1;
}

/* cache:release(holder): frees the blocks, which lookups can still find. */
static int cache_release(lua_State *L) {
  kv_cache *self = check_cache(L, 1);
  kv_holder *holder = check_holder(L, 2, self);
  let_go(holder);
  lua_getiuservalue(L, 1, 1);
  lua_pushnil(L);
  lua_rawsetp(L, -2, holder);
  return 0;
}

static const char *const cache_fields[] = {"blocks", "block_size", "free_blocks", "used_blocks",
                                           "hits",   "misses",     NULL};

static bool push_cache_field(lua_State *L, const char *name) {
  const kv_cache *self = check_cache(L, 1);
  blis_kv_cache_stats stats;
  blis_kv_cache_get_stats(self->cache, &stats);
  const int64_t values[] = {stats.blocks,      self->block_size_tokens,
                            stats.free_blocks, stats.blocks - stats.free_blocks,
                            stats.hits,        stats.misses};
  for (size_t i = 0; cache_fields[i] != NULL; i++) {
    if (strcmp(name, cache_fields[i]) == 0) {
      lua_pushinteger(L, values[i]);
      return true;
    }
  }
  return false;
}

/* Returns the number of blocks in use. */
static int cache_len(lua_State *L) {
  push_cache_field(L, "used_blocks");
  return 1;
}

static int cache_tostring(lua_State *L) {
  const kv_cache *self = luaL_checkudata(L, 1, KV_CACHE_TYPE);
  if (self->cache == NULL) {
    lua_pushliteral(L, "KV cache (closed)");
    return 1;
  }
  blis_kv_cache_stats stats;
  blis_kv_cache_get_stats(self->cache, &stats);
  lua_pushfstring(L, "KV cache (%I of %I blocks of %I tokens free)", (LUAI_UACINT)stats.free_blocks,
                  (LUAI_UACINT)stats.blocks, (LUAI_UACINT)self->block_size_tokens);
  return 1;
}

static int holder_gc(lua_State *L) {
  let_go(luaL_checkudata(L, 1, KV_HOLDER_TYPE));
  return 0;
}

static const char *const holder_fields[] = {"blocks", "tokens", "cached_tokens", NULL};

static bool push_holder_field(lua_State *L, const char *name) {
  const kv_holder *holder = luaL_checkudata(L, 1, KV_HOLDER_TYPE);
  const int64_t values[] = {(int64_t)holder->blocks.count, holder->tokens, holder->cached_tokens};
  for (size_t i = 0; holder_fields[i] != NULL; i++) {
    if (strcmp(name, holder_fields[i]) == 0) {
      lua_pushinteger(L, values[i]);
      return true;
    }
  }
  return false;
}

static int holder_len(lua_State *L) {
  push_holder_field(L, "blocks");
  return 1;
}

static int holder_tostring(lua_State *L) {
  const kv_holder *holder = luaL_checkudata(L, 1, KV_HOLDER_TYPE);
  lua_pushfstring(L, "holder of %I KV blocks", (LUAI_UACINT)holder->blocks.count);
  return 1;
}

static const luaL_Reg cache_meta[] = {
    {"__gc", cache_gc}, {"__close", cache_gc}, {"__len", cache_len}, {"__tostring", cache_tostring},
    {NULL, NULL},
};

static const luaL_Reg cache_methods[] = {
    {"match", cache_match}, {"allocate", cache_allocate}, {"append", cache_append},
    {"close", cache_gc},    {"release", cache_release},   {NULL, NULL},
};

static const bind_fields cache_members = {.owner = "a KV cache",
                                          .names = cache_fields,
                                          .methods = cache_methods,
                                          .push = push_cache_field};

static const luaL_Reg holder_meta[] = {
    {"__gc", holder_gc},
    {"__len", holder_len},
    {"__tostring", holder_tostring},
    {NULL, NULL},
};

static const bind_fields holder_members = {
    .owner = "a holder of KV blocks", .names = holder_fields, .push = push_holder_field};

void bind_open_kv_caches(lua_State *L) {
  push_new_type(L, KV_HOLDER_TYPE, holder_meta, NULL);
  set_fields(L, &holder_members);
  push_new_type(L, KV_CACHE_TYPE, cache_meta, NULL);
  set_fields(L, &cache_members);
  lua_pop(L, 2);
}
