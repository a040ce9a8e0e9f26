#include "kv/block_pool.h"

#include <inttypes.h>

#include "base/containers/map.h"
#include "base/hash.h"
#include "base/invariant.h"

#define NO_BLOCK UINT32_MAX

typedef struct block {
  blis_block_id id; /* BLIS_BLOCK_NONE until it is full and registered */
  uint32_t references;
  uint32_t tokens; /* number of tokens stored */
  uint32_t before; /* neighbors in the free list, if the block is free */
  uint32_t after;
} block;

struct blis_block_pool {
  blis_alloc alloc;
  block *blocks;
  blis_map table;                              /* identity -> block */
  blis_block_journal *journal;                 /* changes to the table; NULL = none */
  void (*evicted)(void *ud, blis_block_id id); /* NULL = no listener */
  void *evicted_ud;
  const blis_block_listener *listener; /* receives changes of the table; NULL = none */
  uint32_t block_count;
  uint32_t block_size_tokens;
  uint32_t free_head; /* the next block to be reused */
  uint32_t free_tail;
  uint32_t free_count;
  int64_t references;
  int64_t hits;
  int64_t misses;
  int64_t evictions;
  bool keeps_shared_only;
  bool names_whole_blocks;
};

static blis_status check_size(const char *what, int64_t value, blis_error *error) {
  if (value >= 1 && value < UINT32_MAX) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID, "%s is %" PRId64 "; expected 1 to %" PRIu32, what,
                   value, UINT32_MAX - 1);
}

static void append_free(blis_block_pool *pool, uint32_t index) {
  block *freed = &pool->blocks[index];
  BLIS_ASSERT(freed->references == 0);
  BLIS_ASSERT(pool->free_count < pool->block_count);
  freed->before = pool->free_tail;
  freed->after = NO_BLOCK;
  if (pool->free_tail == NO_BLOCK) {
    pool->free_head = index;
  } else {
    pool->blocks[pool->free_tail].after = index;
  }
  pool->free_tail = index;
  pool->free_count++;
}

static void prepend_free(blis_block_pool *pool, uint32_t index) {
  block *freed = &pool->blocks[index];
  BLIS_ASSERT(freed->references == 0 && freed->id == BLIS_BLOCK_NONE);
  BLIS_ASSERT(pool->free_count < pool->block_count);
  freed->before = NO_BLOCK;
  freed->after = pool->free_head;
  if (pool->free_head == NO_BLOCK) {
    pool->free_tail = index;
  } else {
    pool->blocks[pool->free_head].before = index;
  }
  pool->free_head = index;
  pool->free_count++;
}

static void remove_free(blis_block_pool *pool, uint32_t index) {
  const block *taken = &pool->blocks[index];
  BLIS_ASSERT(taken->references == 0 && pool->free_count > 0);
  BLIS_ASSERT(taken->before == NO_BLOCK ? pool->free_head == index
                                        : pool->blocks[taken->before].after == index);
  if (taken->before == NO_BLOCK) {
    pool->free_head = taken->after;
  } else {
    pool->blocks[taken->before].after = taken->after;
  }
  if (taken->after == NO_BLOCK) {
    pool->free_tail = taken->before;
  } else {
    pool->blocks[taken->after].before = taken->before;
  }
  pool->free_count--;
}

blis_status blis_block_pool_new(const blis_alloc *alloc, int64_t blocks, int64_t block_size_tokens,
                                blis_block_pool **pool, blis_error *error) {
  BLIS_TRY(check_size("number of KV blocks", blocks, error));
  BLIS_TRY(check_size("KV block size in tokens", block_size_tokens, error));
  blis_block_pool *p = blis_alloc_zeroed(alloc, 1, sizeof *p);
  BLIS_TRY_NEW(p, error);
  p->blocks = blis_alloc_zeroed(alloc, (size_t)blocks, sizeof *p->blocks);
  if (p->blocks == NULL) {
    blis_alloc_free(alloc, p, sizeof *p);
    return blis_fail_nomem(error);
  }
  p->alloc = *alloc;
  blis_map_init(&p->table, alloc);
  p->block_count = (uint32_t)blocks;
  p->block_size_tokens = (uint32_t)block_size_tokens;
  p->free_head = NO_BLOCK;
  p->free_tail = NO_BLOCK;
  for (uint32_t i = 0; i < p->block_count; i++) {
    append_free(p, i);
  }
  *pool = p;
  return BLIS_OK;
}

void blis_block_pool_keep_shared_only(blis_block_pool *pool) {
  BLIS_ASSERT(pool->references == 0 && pool->misses == 0);
  pool->keeps_shared_only = true;
}

void blis_block_pool_name_whole_blocks(blis_block_pool *pool) {
  BLIS_ASSERT(pool->references == 0 && pool->misses == 0);
  pool->names_whole_blocks = true;
}

void blis_block_pool_free(blis_block_pool *pool) {
  if (pool == NULL) {
    return;
  }
  BLIS_INVARIANT(blis_block_pool_check(pool));
  blis_alloc alloc = pool->alloc;
  blis_map_deinit(&pool->table);
  blis_alloc_free(&alloc, pool->blocks, pool->block_count * sizeof *pool->blocks);
  blis_alloc_free(&alloc, pool, sizeof *pool);
}

blis_block_id blis__block_identity(blis_block_id previous, const blis_block_chain *chain,
                                   int64_t start_tokens, int64_t block_size_tokens) {
  uint32_t k = (uint32_t)(start_tokens / block_size_tokens);
  uint64_t offset = (uint64_t)(start_tokens % block_size_tokens);
  blis_block_id expected = k == 0 ? BLIS_BLOCK_NONE : blis_block_chain_at(chain, k - 1);
  if (offset == 0 && previous == expected) {
    return blis_block_chain_at(chain, k);
  }
  /*
   * The identity of the chain block that contains the last of these tokens represents all of them.
   */
  uint64_t content[] = {previous, blis_block_chain_at(chain, k + (offset != 0)), offset};
  return blis_hash64(content, sizeof content, 0) | BLIS_BLOCK_PRIVATE | BLIS_BLOCK_OFF_CHAIN;
}

uint32_t blis_block_pool_count_cached(const blis_block_pool *pool, const blis_block_chain *chain) {
  uint32_t count = 0;
  while (count < chain->prompt_blocks &&
         blis__block_pool_has(pool, blis_block_chain_at(chain, count))) {
    count++;
  }
  return count;
}

void blis_block_pool_hear(blis_block_pool *pool, void (*evicted)(void *ud, blis_block_id id),
                          void *ud) {
  pool->evicted = evicted;
  pool->evicted_ud = ud;
}

void blis_block_pool_listen(blis_block_pool *pool, const blis_block_listener *listener) {
  pool->listener = listener;
}

void blis_block_pool_set_journal(blis_block_pool *pool, blis_block_journal *journal) {
  pool->journal = journal;
}

uint32_t blis_block_pool_count_at_mark(const blis_block_pool *pool, const blis_block_chain *chain) {
  uint32_t count = 0;
  for (; count < chain->prompt_blocks; count++) {
    blis_block_id id = blis_block_chain_at(chain, count);
    bool is_there = blis__block_pool_has(pool, id);
    if (!blis_block_journal_had(pool->journal, id, is_there)) {
      break;
    }
  }
  return count;
}

blis_status blis_block_pool_match(const blis_block_pool *pool, const blis_block_chain *chain,
                                  blis_block_list *found) {
  found->count = 0;
  for (uint32_t k = 0; k < chain->prompt_blocks; k++) {
    uint64_t index;
    if (!blis_map_get(&pool->table, blis_block_chain_at(chain, k), &index)) {
      break;
    }
    BLIS_TRY(blis_array_push(&pool->alloc, found, (uint32_t)index));
  }
  return BLIS_OK;
}

/* Returns how many more tokens fit in the last block of holder. */
static int64_t spare_tokens(const blis_block_pool *pool, const blis_block_list *holder) {
  if (holder->count == 0) {
    return 0;
  }
  uint32_t last = holder->items[holder->count - 1];
  return pool->block_size_tokens - pool->blocks[last].tokens;
}

int64_t blis__block_pool_new_blocks(const blis_block_pool *pool, const blis_block_list *holder,
                                    int64_t tokens) {
  int64_t rest = tokens - spare_tokens(pool, holder);
  if (rest <= 0) {
    return 0;
  }
  return (rest - 1) / pool->block_size_tokens + 1;
}

int64_t blis__block_pool_count_idle(const blis_block_pool *pool, const blis_block_list *blocks) {
  int64_t idle = 0;
  for (size_t i = 0; i < blocks->count; i++) {
    idle += pool->blocks[blocks->items[i]].references == 0;
  }
  return idle;
}

blis_status blis__block_pool_reserve(blis_block_pool *pool, blis_block_list *holder,
                                     int64_t blocks) {
  size_t more = (size_t)blocks;
  BLIS_TRY(blis_array_reserve(&pool->alloc, holder, holder->count + more));
  /* One more, because appending may fill and name a block that already exists. */
  return blis_map_reserve(&pool->table, blis_map_count(&pool->table) + more + 1);
}

void blis__block_pool_claim(blis_block_pool *pool, blis_block_list *holder, const uint32_t *blocks,
                            size_t count) {
  for (size_t i = 0; i < count; i++) {
    block *claimed = &pool->blocks[blocks[i]];
    if (claimed->references == 0) {
      remove_free(pool, blocks[i]);
    }
    claimed->references++;
    holder->items[holder->count++] = blocks[i];
  }
  pool->references += (int64_t)count;
  pool->hits += (int64_t)count;
}

/* Takes the next free block and removes its content and name. */
static uint32_t take_free(blis_block_pool *pool) {
  BLIS_ASSERT(pool->free_head != NO_BLOCK);
  uint32_t index = pool->free_head;
  block *taken = &pool->blocks[index];
  remove_free(pool, index);
  if (taken->id != BLIS_BLOCK_NONE) {
    /* Removed even if the entry refers to another block with the same identity. */
    bool was_found = blis_map_remove(&pool->table, taken->id);
    pool->evictions += was_found;
    if (was_found && pool->journal != NULL) {
      blis_block_journal_toggle(pool->journal, taken->id, 1);
    }
    if (was_found && pool->evicted != NULL) {
      pool->evicted(pool->evicted_ud, taken->id);
    }
    if (was_found && pool->listener != NULL) {
      pool->listener->removed(pool->listener->ud, taken->id);
    }
    taken->id = BLIS_BLOCK_NONE;
  }
  taken->tokens = 0;
  return index;
}

/* Registers a full block. The table must have reserved capacity. */
static void register_block(blis_block_pool *pool, uint32_t index, blis_block_id id) {
  BLIS_ASSERT(pool->blocks[index].tokens == pool->block_size_tokens);
  BLIS_ASSERT(pool->blocks[index].id == BLIS_BLOCK_NONE);
  uint64_t *place;
  bool is_new;
  pool->blocks[index].id = id;
  blis_status status = blis_map_add(&pool->table, id, index, &place, &is_new);
  BLIS_ASSERT(status == BLIS_OK);
  *place = index;
  if (is_new && pool->journal != NULL) {
    blis_block_journal_toggle(pool->journal, id, 1);
  }
  if (is_new && pool->listener != NULL) {
    pool->listener->stored(pool->listener->ud, id);
  }
}

static void name_last(blis_block_pool *pool, const blis_block_list *holder,
                      const blis_block_chain *chain, int64_t start_tokens) {
  size_t last = holder->count - 1;
  blis_block_id previous = last == 0 ? BLIS_BLOCK_NONE : pool->blocks[holder->items[last - 1]].id;
  register_block(pool, holder->items[last],
                 blis__block_identity(previous, chain, start_tokens, pool->block_size_tokens));
}

/* Returns whether the full block that begins at start gets a name. */
static bool is_named(const blis_block_pool *pool, const blis_block_span *span,
                     int64_t start_tokens) {
  if (span->chain == NULL || !pool->keeps_shared_only) {
    return span->chain != NULL;
  }
  int64_t k = start_tokens / pool->block_size_tokens;
  return k < span->chain->shared_count && k < span->chain->prompt_blocks;
}

/*
 * Stores a span. There must be enough free blocks, and reserved capacity in holder and in the
 * table.
 */
static void store(blis_block_pool *pool, blis_block_list *holder, const blis_block_span *span) {
  bool is_prompt = span->start_tokens < span->prompt_tokens;
  int64_t at = span->start_tokens;
  while (at < span->end_tokens) {
    bool is_new = spare_tokens(pool, holder) == 0;
    if (is_new) {
      uint32_t index = take_free(pool);
      pool->blocks[index].references = 1;
      pool->references++;
      pool->misses++;
      holder->items[holder->count++] = index;
    }
    block *last = &pool->blocks[holder->items[holder->count - 1]];
    int64_t room = pool->block_size_tokens - last->tokens;
    BLIS_ASSERT(last->references > 0 && room > 0);
    int64_t rest = span->end_tokens - at;
    int64_t taken = rest < room ? rest : room;
    last->tokens += (uint32_t)taken;
    at += taken;
    /* In BLIS (Go), a block that output completes gets a name, but a block that output fills in one
       step does not. So with a block size of 1, output is never cached. */
    int64_t start = at - pool->block_size_tokens;
    bool is_nameable = is_prompt || !is_new || pool->names_whole_blocks;
    if (taken == room && is_nameable && is_named(pool, span, start)) {
      name_last(pool, holder, span->chain, start);
    }
  }
}

blis_status blis_block_pool_allocate(blis_block_pool *pool, blis_block_list *holder,
                                     const blis_block_span *span, const blis_block_list *cached,
                                     bool *is_done) {
  static const blis_block_list none;
  const blis_block_list *offered = cached != NULL ? cached : &none;
  int64_t tokens = span->end_tokens - span->start_tokens;
  int64_t new_blocks = blis__block_pool_new_blocks(pool, holder, tokens);
  *is_done = new_blocks + blis__block_pool_count_idle(pool, offered) <= pool->free_count;
  if (!*is_done || tokens == 0) {
    return BLIS_OK;
  }
  bool claims = holder->count == 0;
  BLIS_TRY(
      blis__block_pool_reserve(pool, holder, new_blocks + (claims ? (int64_t)offered->count : 0)));
  if (claims) {
    blis__block_pool_claim(pool, holder, offered->items, offered->count);
  }
  size_t held = holder->count;
  store(pool, holder, span);
  BLIS_ASSERT(holder->count == held + (size_t)new_blocks);
  return BLIS_OK;
}

blis_status blis_block_pool_name(blis_block_pool *pool, const blis_block_list *holder,
                                 const blis_block_chain *chain) {
  BLIS_TRY(blis_map_reserve(&pool->table, blis_map_count(&pool->table) + holder->count));
  for (size_t i = 0; i < holder->count; i++) {
    const block *held = &pool->blocks[holder->items[i]];
    if (held->id == BLIS_BLOCK_NONE && held->tokens == pool->block_size_tokens) {
      register_block(pool, holder->items[i], blis_block_chain_at(chain, (uint32_t)i));
    }
  }
  return BLIS_OK;
}

void blis_block_pool_release(blis_block_pool *pool, blis_block_list *holder) {
  for (size_t i = holder->count; i-- > 0;) {
    uint32_t index = holder->items[i];
    BLIS_ASSERT(pool->blocks[index].references > 0);
    if (--pool->blocks[index].references > 0) {
      continue;
    }
    if (pool->keeps_shared_only && pool->blocks[index].id == BLIS_BLOCK_NONE) {
      prepend_free(pool, index);
    } else {
      append_free(pool, index);
    }
  }
  pool->references -= (int64_t)holder->count;
  holder->count = 0;
}

void blis_block_pool_put_back(blis_block_pool *pool, blis_block_list *holder) {
  for (size_t i = holder->count; i-- > 0;) {
    block *held = &pool->blocks[holder->items[i]];
    BLIS_ASSERT(held->references == 1 && held->id == BLIS_BLOCK_NONE);
    held->references = 0;
    prepend_free(pool, holder->items[i]);
  }
  pool->references -= (int64_t)holder->count;
  holder->count = 0;
}

void blis_block_pool_forget(blis_block_pool *pool) {
  for (int64_t left = pool->free_count; left > 0; left--) {
    append_free(pool, take_free(pool));
  }
}

blis_block_id blis__block_pool_identity_of(const blis_block_pool *pool, uint32_t block_index) {
  return pool->blocks[block_index].id;
}

bool blis__block_pool_has(const blis_block_pool *pool, blis_block_id id) {
  uint64_t index;
  return blis_map_get(&pool->table, id, &index);
}

blis_status blis__block_pool_restore(blis_block_pool *pool, blis_block_id id) {
  BLIS_TRY(blis_map_reserve(&pool->table, blis_map_count(&pool->table) + 1));
  uint32_t index = take_free(pool);
  pool->blocks[index].tokens = pool->block_size_tokens;
  register_block(pool, index, id);
  append_free(pool, index);
  return BLIS_OK;
}

bool blis__block_pool_find(const blis_block_pool *pool, blis_block_id id, uint32_t *block_index) {
  uint64_t index = 0;
  bool is_there = blis_map_get(&pool->table, id, &index);
  *block_index = (uint32_t)index;
  return is_there;
}

bool blis__block_pool_had(const blis_block_pool *pool, blis_block_id id) {
  return blis_block_journal_had(pool->journal, id, blis__block_pool_has(pool, id));
}

uint32_t blis__block_pool_take(blis_block_pool *pool) {
  uint32_t index = take_free(pool);
  pool->blocks[index].references = 1;
  pool->references++;
  pool->misses++;
  return index;
}

void blis__block_pool_give(blis_block_pool *pool, uint32_t index) {
  BLIS_ASSERT(pool->blocks[index].references > 0);
  pool->references--;
  if (--pool->blocks[index].references == 0) {
    append_free(pool, index);
  }
}

blis_status blis__block_pool_reserve_names(blis_block_pool *pool, int64_t names) {
  return blis_map_reserve(&pool->table, blis_map_count(&pool->table) + (size_t)names);
}

void blis__block_pool_register(blis_block_pool *pool, uint32_t index, blis_block_id id) {
  pool->blocks[index].tokens = pool->block_size_tokens;
  register_block(pool, index, id);
}

int64_t blis_block_pool_free_blocks(const blis_block_pool *pool) {
  return pool->free_count;
}

void blis_block_pool_get_stats(const blis_block_pool *pool, blis_block_pool_stats *stats) {
  BLIS_ASSERT(pool->references >= pool->block_count - pool->free_count);
  *stats = (blis_block_pool_stats){
      .blocks = pool->block_count,
      .free_blocks = pool->free_count,
      .references = pool->references,
      .hits = pool->hits,
      .misses = pool->misses,
      .evictions = pool->evictions,
  };
}

static bool check_free_list(const blis_block_pool *pool) {
  uint32_t count = 0;
  uint32_t before = NO_BLOCK;
  for (uint32_t i = pool->free_head; i != NO_BLOCK; i = pool->blocks[i].after) {
    const block *b = &pool->blocks[i];
    if (b->references != 0 || b->before != before || count == pool->block_count) {
      return false;
    }
    before = i;
    count++;
  }
  return before == pool->free_tail && count == pool->free_count;
}

bool blis_block_pool_check(const blis_block_pool *pool) {
  uint32_t idle = 0;
  size_t registered = 0;
  int64_t references = 0;
  for (uint32_t i = 0; i < pool->block_count; i++) {
    const block *b = &pool->blocks[i];
    uint64_t index;
    if (b->tokens > pool->block_size_tokens ||
        (b->id != BLIS_BLOCK_NONE && b->tokens < pool->block_size_tokens)) {
      return false;
    }
    idle += b->references == 0;
    references += b->references;
    registered +=
        b->id != BLIS_BLOCK_NONE && blis_map_get(&pool->table, b->id, &index) && index == i;
  }
  return idle == pool->free_count && references == pool->references &&
         registered == blis_map_count(&pool->table) && blis_map_check(&pool->table) &&
         check_free_list(pool);
}
