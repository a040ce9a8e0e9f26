/*
 * prefix_store.h - the contents of a script's prefix index, in one simulation or outside of
 * simulations.
 *
 * A store contains one of two things: prompts of requests, identified by the block ids of the run,
 * or contents that the script names. Their block ids are independent, so a store cannot contain
 * both.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_PREFIX_STORE_H
#define BLIS_LUA_POLICIES_VIEW_PREFIX_STORE_H

#include <lua.h>

#include "base/array.h"
#include "base/containers/intern.h"
#include "lua/bind/vector.h"
#include "policy/memory/prefix_index.h"
#include "workload/block_namer.h"

typedef struct bind_prefix_store {
  blis_alloc alloc;
  uint32_t block_size_tokens;
  blis_prefix_index *index;    /* NULL once closed */
  blis_block_namer *namer;     /* namer of contents; NULL before the first content */
  blis_intern *contents;       /* names of contents, which are used as streams */
  bool holds_requests;         /* true: stores requests only; false: stores contents only */
  uint32_t instance_count;     /* highest recorded instance number + 1 */
  uint64_t decision;           /* decision whose request was matched last; 0 = none */
  BLIS_ARRAY(uint32_t) blocks; /* matched blocks, by instance number */
} bind_prefix_store;

void bind_open_prefix_stores(lua_State *L);

/* Pushes an empty store, a userdata. May raise. */
bind_prefix_store *push_prefix_store(lua_State *L, uint64_t capacity_blocks,
                                     uint32_t block_size_tokens);

/* Pushes the table of the stores of one simulation, keyed by prefix index. */
void push_prefix_stores(lua_State *L);

/*
 * Returns the number of leading blocks of the prompt at index prompt that each instance holds:
 * *count numbers; all other instances hold 0. The prompt is the request of the current decision, or
 * content. The result is valid until the store is used again. May raise.
 */
const uint32_t *check_prefix_match(lua_State *L, int prompt, bind_prefix_store *store,
                                   const bind_vector_pool *pool, size_t *count);

/* Records that the prompt at index prompt was sent to instance. May raise. */
void check_prefix_record(lua_State *L, int prompt, bind_prefix_store *store,
                         const bind_vector_pool *pool, uint32_t instance);

/* Forgets the blocks of one instance, or everything. Never raise. */
void bind_prefix_forget(bind_prefix_store *store, uint32_t instance);
void bind_prefix_clear(bind_prefix_store *store);

/* Returns the number of blocks over all instances. */
uint64_t bind_prefix_total(const bind_prefix_store *store);

/* Releases everything. Idempotent; never raises. */
void bind_prefix_store_close(bind_prefix_store *store);

#endif
