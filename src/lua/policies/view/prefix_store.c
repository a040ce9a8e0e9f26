#include "lua/policies/view/prefix_store.h"

#include <string.h>

#include "lua/bind/bind.h"
#include "lua/policies/view/view.h"
#include "lua/traffic/content.h"

#define STORE_TYPE "blis.prefix_store"

/* A prompt during a call. */
typedef struct prompt {
  blis_block_chain chain;
  bool is_request; /* false: the chain comes from the namer of the store */
} prompt;

void bind_prefix_store_close(bind_prefix_store *store) {
  blis_prefix_index_free(store->index);
  store->index = NULL;
  blis_block_namer_free(store->namer);
  store->namer = NULL;
  blis_intern_free(store->contents);
  store->contents = NULL;
  blis_array_deinit(&store->alloc, &store->blocks);
  store->instance_count = 0;
  store->decision = 0;
}

static int store_gc(lua_State *L) {
  bind_prefix_store_close(luaL_checkudata(L, 1, STORE_TYPE));
  return 0;
}

static const luaL_Reg store_meta[] = {{"__gc", store_gc}, {NULL, NULL}};

void bind_open_prefix_stores(lua_State *L) {
  push_new_type(L, STORE_TYPE, store_meta, NULL);
  lua_pop(L, 1);
}

bind_prefix_store *push_prefix_store(lua_State *L, uint64_t capacity_blocks,
                                     uint32_t block_size_tokens) {
  bind_prefix_store *store = lua_newuserdatauv(L, sizeof *store, 0);
  *store = (bind_prefix_store){.alloc = bind_alloc(L), .block_size_tokens = block_size_tokens};
  luaL_setmetatable(L, STORE_TYPE);
  store->index = blis_prefix_index_new(&store->alloc, capacity_blocks);
  if (store->index == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  return store;
}

/* Keys are weak: a store is freed with its prefix index. */
void push_prefix_stores(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

/* Raises if the store contains prompts of the other kind. */
static void check_sort(lua_State *L, const bind_prefix_store *store, bool is_request) {
  if (store->instance_count == 0 || store->holds_requests == is_request) {
    return;
  }
  luaL_error(L,
             "this prefix index holds %s, and this is %s; use another index "
             "for it or clear() this one",
             store->holds_requests ? "prompts of requests" : "prompts written by the script",
             is_request ? "a request" : "content");
}

static blis_status name_content(void *ud, const char *name, size_t length, uint32_t *stream) {
  return blis_intern_add(ud, name, length, stream);
}

static void check_namer(lua_State *L, bind_prefix_store *store) {
  if (store->namer == NULL) {
    store->namer = blis_block_namer_new(&store->alloc);
  }
  if (store->contents == NULL) {
    store->contents = blis_intern_new(&store->alloc);
  }
  if (store->namer == NULL || store->contents == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
}

/* Returns whether the table is a request of an earlier decision. Such a table can look like an
   empty list if no field was read. */
static bool is_kept_request(lua_State *L, int index) {
  if (lua_getmetatable(L, index) == 0) {
    return false;
  }
  lua_pushnil(L);
  bool is_empty = lua_next(L, index) == 0;
  lua_pop(L, is_empty ? 1 : 3);
  return is_empty;
}

static prompt check_content(lua_State *L, int index, bind_prefix_store *store) {
  bool is_prompt = lua_type(L, index) == LUA_TNUMBER ||
                   (lua_type(L, index) == LUA_TTABLE && !is_kept_request(L, index));
  if (!is_prompt) {
    luaL_typeerror(L, index,
                   "the request that the policy was called with, or a prompt "
                   "{ { name, tokens }, ..., tokens }");
  }
  check_sort(L, store, false);
  check_namer(L, store);
  const bind_content_names names = {name_content, store->contents};
  blis_request request = push_content(L, index, &names);
  prompt made = {.is_request = false};
  blis_error error = {0};
  check_status(
      L,
      blis_block_namer_chain(store->namer, &request, store->block_size_tokens, &made.chain, &error),
      &error);
  lua_pop(L, 1);
  return made;
}

static prompt check_request(lua_State *L, const bind_prefix_store *store, const bind_view *view) {
  check_sort(L, store, true);
  const blis_routing_request *request = view->request;
  if (request == NULL || request->chain == NULL) {
    luaL_error(L, "the prompt of a request can be recorded and matched only "
                  "while it is being admitted or routed");
    return (prompt){0};
  }
  const blis_block_chain *chain = request->chain(request->chain_ud, store->block_size_tokens);
  if (chain == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
    return (prompt){0};
  }
  return (prompt){.chain = *chain, .is_request = true};
}

static bool is_request(lua_State *L, int index, const bind_view *view) {
  return view != NULL && lua_topointer(L, index) == view->request_table;
}

static prompt check_prompt(lua_State *L, int index, bind_prefix_store *store,
                           const bind_view *view) {
  return is_request(L, index, view) ? check_request(L, store, view)
                                    : check_content(L, index, store);
}

static void let_go(bind_prefix_store *store, prompt *used) {
  if (!used->is_request) {
    blis_block_namer_release(store->namer, &used->chain);
  }
}

const uint32_t *check_prefix_match(lua_State *L, int index, bind_prefix_store *store,
                                   const bind_vector_pool *pool, size_t *count) {
  const bind_view *view = pool->view;
  bool is_of_request = is_request(L, index, view);
  if (is_of_request && store->decision == pool->decision) {
    *count = store->blocks.count;
    return store->blocks.items;
  }
  size_t instances = store->instance_count;
  if (view != NULL && view->instance_count > instances) {
    instances = view->instance_count;
  }
  store->decision = 0;
  if (blis_array_reserve(&store->alloc, &store->blocks, instances) != BLIS_OK) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  store->blocks.count = instances;
  prompt wanted = check_prompt(L, index, store, view);
  if (instances > 0) {
    blis_prefix_index_match(store->index, &wanted.chain, store->blocks.items, (uint32_t)instances);
  }
  let_go(store, &wanted);
  store->decision = is_of_request ? pool->decision : 0;
  *count = instances;
  return store->blocks.items;
}

void check_prefix_record(lua_State *L, int index, bind_prefix_store *store,
                         const bind_vector_pool *pool, uint32_t instance) {
  prompt sent = check_prompt(L, index, store, pool->view);
  store->decision = 0;
  blis_status status = blis_prefix_index_observe(store->index, &sent.chain, instance);
  let_go(store, &sent);
  check_status(L, status, NULL);
  store->holds_requests = sent.is_request;
  if (store->instance_count <= instance) {
    store->instance_count = instance + 1;
  }
}

void bind_prefix_forget(bind_prefix_store *store, uint32_t instance) {
  blis_prefix_index_forget(store->index, instance);
  store->decision = 0;
}

void bind_prefix_clear(bind_prefix_store *store) {
  for (uint32_t i = 0; i < store->instance_count; i++) {
    blis_prefix_index_forget(store->index, i);
  }
  store->instance_count = 0;
  store->decision = 0;
}

uint64_t bind_prefix_total(const bind_prefix_store *store) {
  uint64_t blocks = 0;
  for (uint32_t i = 0; i < store->instance_count; i++) {
    blocks += blis_prefix_index_size(store->index, i);
  }
  return blocks;
}
