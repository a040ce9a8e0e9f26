/*
 * prefix_store.h - the contents of a script's prefix index, in one simulation or outside of any.
 *
 * A store contains one of two things: prompts of requests, identified by the block identities of
 * the run, or contents that the script names. The two number blocks independently and do not mix.
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
  blis_block_namer *namer;     /* of contents; NULL before the first */
  blis_intern *contents;       /* their names are streams */
  bool holds_requests;         /* stores requests only; false: contents */
  uint32_t instance_count;     /* recorded for, the highest number + 1 */
  uint64_t decision;           /* whose request was matched last; 0 = none */
  BLIS_ARRAY(uint32_t) blocks; /* matched by it, by instance number */
} bind_prefix_store;

void bind_open_prefix_stores(lua_State *L);

/* Pushes an empty store, a userdata. May raise. */
bind_prefix_store *push_prefix_store(lua_State *L, uint64_t capacity_blocks,
                                     uint32_t block_size_tokens);

/* Pushes the table, by index, of the stores of one simulation. */
void push_prefix_stores(lua_State *L);

/*
 * The leading blocks of the prompt at index prompt that every instance holds:
 * as many numbers as *count, 0 for all others. The prompt is the request of the
 * decision being taken, or content. Valid until the store is used again.
 * Raises.
 */
const uint32_t *check_prefix_match(lua_State *L, int prompt, bind_prefix_store *store,
                                   const bind_vector_pool *pool, size_t *count);

/* Records that the prompt at index prompt was sent to instance. Raises. */
void check_prefix_record(lua_State *L, int prompt, bind_prefix_store *store,
                         const bind_vector_pool *pool, uint32_t instance);

/* Forgets the blocks of one instance, or everything. Never raise. */
void bind_prefix_forget(bind_prefix_store *store, uint32_t instance);
void bind_prefix_clear(bind_prefix_store *store);

/* Blocks over all instances. */
uint64_t bind_prefix_total(const bind_prefix_store *store);

/* Lets go of everything. Idempotent; never raises. */
void bind_prefix_store_close(bind_prefix_store *store);

#endif
