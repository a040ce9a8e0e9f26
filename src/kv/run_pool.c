#include "kv/run_pool.h"

#include "base/invariant.h"
#include "base/paged_map.h"

#define NO_ITEM UINT32_MAX

/* A named block, or a run of anonymous ones on the free list. */
typedef struct item {
  blis_block_id id; /* BLIS_BLOCK_NONE = a run of anonymous blocks */
  int64_t count;    /* requests that hold a named block; length of a run */
  uint32_t previous;
  uint32_t next; /* also links the records that are not in use */
} item;

typedef BLIS_ARRAY(item) item_array;

struct blis_run_pool {
  blis_alloc alloc;
  item_array items;
  uint32_t first_spare; /* records not in use */
  uint32_t head;        /* next to be reused */
  uint32_t tail;        /* most recently given back */
  int64_t free_blocks;
  int64_t block_count;
  uint64_t table_version;
  blis_paged_map table;        /* identity -> item */
  blis_block_journal *journal; /* of the table; NULL = none */
};

static blis_status new_item(blis_run_pool *pool, blis_block_id id,
                            int64_t count, uint32_t *index) {
  if (pool->first_spare != NO_ITEM) {
    *index = pool->first_spare;
    BLIS_ASSERT(pool->items.items[*index].id == BLIS_BLOCK_NONE &&
                pool->items.items[*index].count == 0);
    pool->first_spare = pool->items.items[*index].next;
  } else {
    if (pool->items.count >= NO_ITEM) {
      return BLIS_ERR_NOMEM;
    }
    BLIS_TRY(blis_array_push(&pool->alloc, &pool->items, (item){0}));
    *index = (uint32_t)(pool->items.count - 1);
  }
  pool->items.items[*index] =
      (item){.id = id, .count = count, .previous = NO_ITEM, .next = NO_ITEM};
  return BLIS_OK;
}

static void spare_item(blis_run_pool *pool, uint32_t index) {
  pool->items.items[index] =
      (item){.id = BLIS_BLOCK_NONE, .next = pool->first_spare};
  pool->first_spare = index;
}

static void append(blis_run_pool *pool, uint32_t index) {
  item *added = &pool->items.items[index];
  added->previous = pool->tail;
  added->next = NO_ITEM;
  if (pool->tail == NO_ITEM) {
    pool->head = index;
  } else {
    pool->items.items[pool->tail].next = index;
  }
  pool->tail = index;
}

static void unlink_item(blis_run_pool *pool, uint32_t index) {
  item *gone = &pool->items.items[index];
  BLIS_ASSERT(gone->previous == NO_ITEM
                  ? pool->head == index
                  : pool->items.items[gone->previous].next == index);
  BLIS_ASSERT(gone->next == NO_ITEM
                  ? pool->tail == index
                  : pool->items.items[gone->next].previous == index);
  if (gone->previous == NO_ITEM) {
    pool->head = gone->next;
  } else {
    pool->items.items[gone->previous].next = gone->next;
  }
  if (gone->next == NO_ITEM) {
    pool->tail = gone->previous;
  } else {
    pool->items.items[gone->next].previous = gone->previous;
  }
}

/* Appends count anonymous blocks; neighbours at the tail become one run. */
static blis_status append_anonymous(blis_run_pool *pool, int64_t count) {
  if (count == 0) {
    return BLIS_OK;
  }
  if (pool->tail != NO_ITEM &&
      pool->items.items[pool->tail].id == BLIS_BLOCK_NONE) {
    pool->items.items[pool->tail].count += count;
  } else {
    uint32_t index = 0;
    BLIS_TRY(new_item(pool, BLIS_BLOCK_NONE, count, &index));
    append(pool, index);
  }
  pool->free_blocks += count;
  return BLIS_OK;
}

blis_run_pool *blis_run_pool_new(const blis_alloc *alloc, int64_t block_count) {
  blis_run_pool *pool = blis_alloc_new(alloc, sizeof *pool);
  if (pool == NULL) {
    return NULL;
  }
  *pool = (blis_run_pool){.alloc = *alloc,
                          .first_spare = NO_ITEM,
                          .head = NO_ITEM,
                          .tail = NO_ITEM,
                          .block_count = block_count};
  blis_paged_map_init(&pool->table, alloc);
  if (append_anonymous(pool, block_count) != BLIS_OK) {
    blis_run_pool_free(pool);
    return NULL;
  }
  return pool;
}

void blis_run_pool_free(blis_run_pool *pool) {
  if (pool == NULL) {
    return;
  }
  blis_alloc alloc = pool->alloc;
  blis_paged_map_deinit(&pool->table);
  blis_array_deinit(&alloc, &pool->items);
  blis_alloc_free(&alloc, pool, sizeof *pool);
}

void blis_run_pool_drop_holder(blis_run_pool *pool, blis_run_holder *holder) {
  BLIS_ASSERT(holder->named.count == 0 && holder->anonymous == 0);
  blis_array_deinit(&pool->alloc, &holder->named);
}

int64_t blis_run_pool_free_blocks(const blis_run_pool *pool) {
  return pool->free_blocks;
}

uint64_t blis_run_pool_table_version(const blis_run_pool *pool) {
  return pool->table_version;
}

/* Looking something up changes only what the table remembers of it. */
static bool find_item(const blis_run_pool *pool, blis_block_id id,
                      uint32_t *index) {
  return blis_paged_map_get((blis_paged_map *)&pool->table, id, index);
}

uint32_t blis_run_pool_match(const blis_run_pool *pool,
                             const blis_block_chain *chain, uint32_t limit,
                             int64_t *unused) {
  int64_t unused_count = 0;
  uint32_t k = 0;
  for (; k < limit; k++) {
    uint32_t index = 0;
    if (!find_item(pool, blis_block_chain_at(chain, k), &index)) {
      break;
    }
    unused_count += pool->items.items[index].count == 0;
  }
  if (unused != NULL) {
    *unused = unused_count;
  }
  return k;
}

void blis_run_pool_set_journal(blis_run_pool *pool,
                               blis_block_journal *journal) {
  pool->journal = journal;
}

uint32_t blis_run_pool_match_at_mark(const blis_run_pool *pool,
                                     const blis_block_chain *chain) {
  uint32_t k = 0;
  for (; k < chain->prompt_blocks; k++) {
    uint32_t index = 0;
    blis_block_id id = blis_block_chain_at(chain, k);
    bool is_there = find_item(pool, id, &index);
    if (!blis_block_journal_had(pool->journal, id, is_there)) {
      break;
    }
  }
  return k;
}

static void remove_from_table(blis_run_pool *pool, blis_block_id id) {
  bool was_there = blis_paged_map_remove(&pool->table, id);
  pool->table_version++;
  if (was_there && pool->journal != NULL) {
    blis_block_journal_toggle(pool->journal, id);
  }
}

static blis_status put_into_table(blis_run_pool *pool, blis_block_id id,
                                  uint32_t index) {
  bool is_new;
  BLIS_TRY(blis_paged_map_put(&pool->table, id, index, &is_new));
  pool->table_version++;
  if (is_new && pool->journal != NULL) {
    blis_block_journal_toggle(pool->journal, id);
  }
  return BLIS_OK;
}

blis_status blis_run_pool_claim(blis_run_pool *pool, blis_run_holder *holder,
                                const blis_block_chain *chain, uint32_t count) {
  BLIS_ASSERT(holder->named.count == 0 && holder->anonymous == 0);
  BLIS_TRY(blis_array_reserve(&pool->alloc, &holder->named, count));
  uint32_t *named = holder->named.items;
  for (uint32_t k = 0; k < count; k++) {
    uint32_t index = 0;
    bool found = find_item(pool, blis_block_chain_at(chain, k), &index);
    BLIS_ASSERT(found);
    item *claimed = &pool->items.items[index];
    BLIS_ASSERT(claimed->id == blis_block_chain_at(chain, k));
    BLIS_ASSERT(claimed->count > 0 || pool->free_blocks > 0);
    if (claimed->count == 0) {
      unlink_item(pool, index);
      pool->free_blocks--;
    }
    claimed->count++;
    named[k] = index;
  }
  holder->named.count = count;
  return BLIS_OK;
}

void blis_run_pool_take_uncounted(blis_run_pool *pool, int64_t count) {
  BLIS_ASSERT(count <= pool->free_blocks);
  pool->free_blocks -= count;
  while (count > 0) {
    uint32_t index = pool->head;
    item *next = &pool->items.items[index];
    BLIS_ASSERT(next->id == BLIS_BLOCK_NONE ? next->count > 0
                                            : next->count == 0);
    if (next->id == BLIS_BLOCK_NONE && next->count > count) {
      next->count -= count;
      return;
    }
    if (next->id == BLIS_BLOCK_NONE) {
      count -= next->count;
    } else {
      /* Also when the table points to a younger copy of the same block:
         that is what BLIS (Go) does, and it shows in hit rates. */
      remove_from_table(pool, next->id);
      count--;
    }
    unlink_item(pool, index);
    spare_item(pool, index);
  }
}

void blis_run_pool_take(blis_run_pool *pool, blis_run_holder *holder,
                        int64_t count) {
  blis_run_pool_take_uncounted(pool, count);
  holder->anonymous += count;
  BLIS_ASSERT(holder->anonymous <= pool->block_count - pool->free_blocks);
}

bool blis_run_pool_next_are_anonymous(const blis_run_pool *pool,
                                      int64_t count) {
  if (count == 0 || count > pool->free_blocks) {
    return count == 0;
  }
  const item *next = &pool->items.items[pool->head];
  return next->id == BLIS_BLOCK_NONE && next->count >= count;
}

blis_status blis_run_pool_name(blis_run_pool *pool, blis_run_holder *holder,
                               blis_block_id id) {
  BLIS_ASSERT(holder->anonymous > 0);
  uint32_t index = 0;
  BLIS_TRY(new_item(pool, id, 1, &index));
  size_t count = holder->named.count;
  if (blis_array_reserve(&pool->alloc, &holder->named, count + 1) != BLIS_OK ||
      put_into_table(pool, id, index) != BLIS_OK) {
    spare_item(pool, index);
    return BLIS_ERR_NOMEM;
  }
  holder->named.items[holder->named.count++] = index;
  holder->anonymous--;
  return BLIS_OK;
}

/* An item for the block at the head of the free list, which has a new id. */
static blis_status rename_head(blis_run_pool *pool, blis_block_id id,
                               uint32_t *index) {
  item *head = &pool->items.items[pool->head];
  *index = pool->head;
  BLIS_ASSERT(head->id == BLIS_BLOCK_NONE ? head->count > 0 : head->count == 0);
  pool->free_blocks--;
  if (head->id == BLIS_BLOCK_NONE && head->count > 1) {
    head->count--;
    return new_item(pool, id, 1, index);
  }
  if (head->id != BLIS_BLOCK_NONE) {
    remove_from_table(pool, head->id); /* as in take_uncounted */
  }
  unlink_item(pool, *index);
  *head = (item){.id = id, .count = 1, .previous = NO_ITEM, .next = NO_ITEM};
  return BLIS_OK;
}

blis_status blis_run_pool_name_up_to(blis_run_pool *pool,
                                     blis_run_holder *holder,
                                     const blis_block_chain *chain,
                                     int64_t count, int64_t *taken) {
  *taken = 0;
  if ((int64_t)holder->named.count >= count) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_reserve(&pool->alloc, &holder->named, count));
  while ((int64_t)holder->named.count < count) {
    uint32_t k = (uint32_t)holder->named.count;
    blis_block_id id = blis_block_chain_at(chain, k);
    if (holder->anonymous > 0) {
      BLIS_TRY(blis_run_pool_name(pool, holder, id));
      continue;
    }
    uint32_t index = 0;
    BLIS_ASSERT(pool->free_blocks > 0);
    BLIS_TRY(rename_head(pool, id, &index));
    ++*taken;
    holder->named.items[holder->named.count++] = index;
    BLIS_TRY(put_into_table(pool, id, index));
  }
  return BLIS_OK;
}

blis_status blis_run_pool_release(blis_run_pool *pool,
                                  blis_run_holder *holder) {
  BLIS_TRY(append_anonymous(pool, holder->anonymous));
  holder->anonymous = 0;
  item *items = pool->items.items;
  uint32_t tail = pool->tail;
  int64_t freed = 0;
  for (size_t k = holder->named.count; k-- > 0;) {
    uint32_t index = holder->named.items[k];
    BLIS_ASSERT(items[index].id != BLIS_BLOCK_NONE && items[index].count > 0);
    if (--items[index].count == 0) {
      items[index].previous = tail;
      items[index].next = NO_ITEM;
      *(tail == NO_ITEM ? &pool->head : &items[tail].next) = index;
      tail = index;
      freed++;
    }
  }
  pool->tail = tail;
  pool->free_blocks += freed;
  BLIS_ASSERT(pool->free_blocks <= pool->block_count);
  holder->named.count = 0;
  return BLIS_OK;
}

int64_t blis_run_pool_held_named(const blis_run_pool *pool) {
  int64_t held = 0;
  for (size_t i = 0; i < pool->items.count; i++) {
    const item *named = &pool->items.items[i];
    held += named->id != BLIS_BLOCK_NONE && named->count > 0;
  }
  return held;
}

bool blis_run_pool_check(const blis_run_pool *pool) {
  int64_t counted = 0;
  uint32_t previous = NO_ITEM;
  for (uint32_t i = pool->head; i != NO_ITEM; i = pool->items.items[i].next) {
    const item *link = &pool->items.items[i];
    if (link->previous != previous) {
      return false;
    }
    if (link->id == BLIS_BLOCK_NONE ? link->count <= 0 : link->count != 0) {
      return false;
    }
    counted += link->id == BLIS_BLOCK_NONE ? link->count : 1;
    previous = i;
  }
  return blis_paged_map_check(&pool->table) && previous == pool->tail &&
         counted == pool->free_blocks && counted <= pool->block_count;
}
