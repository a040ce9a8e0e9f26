#include "kv/run_pool.h"

#include "base/containers/paged_map.h"
#include "base/invariant.h"

#define NO_ITEM UINT32_MAX

/*
 * Blocks that are treated alike. A run of anonymous blocks is on the free list. A run of named
 * blocks has ascending identities, and in every chain each block directly follows the previous one.
 * A request holds all blocks of a run or none of them. If no request holds them, the blocks are
 * adjacent on the free list, and the last block is nearest to the head.
 */
typedef struct item {
  blis_block_id id; /* identity of the first block; BLIS_BLOCK_NONE = anonymous */
  int64_t blocks;   /* 0 = unused record */
  int64_t listed;   /* number of named blocks that the table maps to this item */
  uint32_t holders; /* number of requests */
  /* Number of names after the last block that the only holder will give to further blocks. The
     table already maps these names to this item, although the blocks do not exist yet. */
  uint32_t promised;
  /* The item that was last split off from the end. It continues the parts of holders that held more
     of the item. Stale if no such parts exist any longer. */
  uint32_t rest;
  uint32_t previous;
  uint32_t next; /* also links unused records */
} item;

typedef BLIS_ARRAY(item) item_array;

struct blis_run_pool {
  blis_alloc alloc;
  item_array items;
  uint32_t first_spare; /* unused records */
  uint32_t head;        /* the next item to be reused */
  uint32_t tail;        /* most recently returned */
  int64_t free_blocks;
  int64_t block_count;
  uint64_t table_version;
  blis_paged_map table;        /* identity -> item */
  blis_block_journal *journal; /* changes to the table; NULL = none */
};

static item *item_at(const blis_run_pool *pool, uint32_t index) {
  return &pool->items.items[index];
}

static bool is_named(const item *it) {
  return it->id != BLIS_BLOCK_NONE;
}

/* Returns the identity after that of the last block. */
static blis_block_id end_of(const item *it) {
  return it->id + (uint64_t)it->blocks;
}

/* Records. */

static blis_status new_item(blis_run_pool *pool, blis_block_id id, int64_t blocks,
                            uint32_t *index) {
  if (pool->first_spare != NO_ITEM) {
    *index = pool->first_spare;
    BLIS_ASSERT(item_at(pool, *index)->blocks == 0);
    pool->first_spare = item_at(pool, *index)->next;
  } else {
    if (pool->items.count >= NO_ITEM) {
      return BLIS_ERR_NOMEM;
    }
    BLIS_TRY(blis_array_push(&pool->alloc, &pool->items, (item){0}));
    *index = (uint32_t)(pool->items.count - 1);
  }
  *item_at(pool, *index) =
      (item){.id = id, .blocks = blocks, .rest = NO_ITEM, .previous = NO_ITEM, .next = NO_ITEM};
  return BLIS_OK;
}

static void spare_item(blis_run_pool *pool, uint32_t index) {
  *item_at(pool, index) = (item){.id = BLIS_BLOCK_NONE, .next = pool->first_spare};
  pool->first_spare = index;
}

/* The free list. */

/* Inserts an item directly after another item, or at the head. Does not update the free count. */
static void insert_behind(blis_run_pool *pool, uint32_t index, uint32_t before) {
  item *added = item_at(pool, index);
  uint32_t *from_before = before == NO_ITEM ? &pool->head : &item_at(pool, before)->next;
  uint32_t after = *from_before;
  added->previous = before;
  added->next = after;
  *from_before = index;
  *(after == NO_ITEM ? &pool->tail : &item_at(pool, after)->previous) = index;
}

static void unlink_item(blis_run_pool *pool, uint32_t index) {
  const item *gone = item_at(pool, index);
  uint32_t *to_it = gone->previous == NO_ITEM ? &pool->head : &item_at(pool, gone->previous)->next;
  uint32_t *back_to_it = gone->next == NO_ITEM ? &pool->tail : &item_at(pool, gone->next)->previous;
  BLIS_ASSERT(*to_it == index && *back_to_it == index);
  *to_it = gone->next;
  *back_to_it = gone->previous;
}

/* Appends count anonymous blocks. They extend an anonymous run at the tail. */
static blis_status append_anonymous(blis_run_pool *pool, int64_t count) {
  if (count == 0) {
    return BLIS_OK;
  }
  if (pool->tail != NO_ITEM && !is_named(item_at(pool, pool->tail))) {
    item_at(pool, pool->tail)->blocks += count;
  } else {
    uint32_t index = 0;
    BLIS_TRY(new_item(pool, BLIS_BLOCK_NONE, count, &index));
    insert_behind(pool, index, pool->tail);
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
  BLIS_ASSERT(holder->named_blocks == 0 && holder->anonymous == 0);
  blis_array_deinit(&pool->alloc, &holder->parts);
}

int64_t blis_run_pool_free_blocks(const blis_run_pool *pool) {
  return pool->free_blocks;
}

uint64_t blis_run_pool_table_version(const blis_run_pool *pool) {
  return pool->table_version;
}

/* The prefix table. */

/* A lookup changes only the table's cached last page. */
static blis_paged_map *table_of(const blis_run_pool *pool) {
  return (blis_paged_map *)&pool->table;
}

/*
 * Finds the item of id in the table. Returns the number of consecutive identities that have the
 * same item, at most limit; 0 = id is not in the table.
 */
static int64_t find_run(const blis_run_pool *pool, blis_block_id id, int64_t limit,
                        uint32_t *index) {
  if (!blis_paged_map_get(table_of(pool), id, index)) {
    return 0;
  }
  const item *found = item_at(pool, *index);
  int64_t left = found->blocks - (int64_t)(id - found->id);
  if (left <= 0) {
    return 0; /* only promised */
  }
  BLIS_ASSERT(id >= found->id && found->listed > 0);
  limit = left < limit ? left : limit;
  return found->listed == found->blocks
             ? limit
             : (int64_t)blis_paged_map_count_run(table_of(pool), id, (uint64_t)limit, *index);
}

/* Returns the number of next blocks of chain that the table maps to one item; 0 = none. */
static int64_t match_run(const blis_run_pool *pool, const blis_block_chain *chain, int64_t k,
                         int64_t limit, uint32_t *index) {
  blis_block_id id = blis_block_chain_at(chain, (uint32_t)k);
  int64_t blocks = find_run(pool, id, limit, index);
  return blocks == 0 ? 0 : blis_block_chain_run(chain, (uint32_t)k, (uint32_t)blocks);
}

uint32_t blis_run_pool_match(const blis_run_pool *pool, const blis_block_chain *chain,
                             uint32_t limit, int64_t *unused) {
  int64_t unused_count = 0;
  int64_t k = 0;
  while (k < limit) {
    uint32_t index = 0;
    int64_t blocks = match_run(pool, chain, k, limit - k, &index);
    if (blocks == 0) {
      break;
    }
    unused_count += item_at(pool, index)->holders == 0 ? blocks : 0;
    k += blocks;
  }
  if (unused != NULL) {
    *unused = unused_count;
  }
  return (uint32_t)k;
}

void blis_run_pool_set_journal(blis_run_pool *pool, blis_block_journal *journal) {
  pool->journal = journal;
}

uint32_t blis_run_pool_match_at_mark(const blis_run_pool *pool, const blis_block_chain *chain) {
  int64_t k = 0;
  while (k < chain->prompt_blocks) {
    blis_block_id id = blis_block_chain_at(chain, (uint32_t)k);
    uint32_t index = 0;
    int64_t blocks = match_run(pool, chain, k, chain->prompt_blocks - k, &index);
    if (blocks == 0) {
      if (!blis_block_journal_had(pool->journal, id, false)) {
        break;
      }
      k++;
      continue;
    }
    int64_t equal = (int64_t)blis_block_journal_equal(pool->journal, id, (uint64_t)blocks);
    k += equal;
    if (equal < blocks) {
      break;
    }
  }
  return (uint32_t)k;
}

static void note_change(blis_run_pool *pool, blis_block_id id, uint64_t count) {
  pool->table_version++;
  if (pool->journal != NULL) {
    blis_block_journal_toggle(pool->journal, id, count);
  }
}

/*
 * Removes the promised names of an item from the table, except `replaced`, which now belongs to
 * another item.
 */
static void break_promise_but(blis_run_pool *pool, item *it, blis_block_id replaced) {
  blis_block_id first = end_of(it);
  uint64_t before = replaced - first;
  blis_paged_map_remove_run(&pool->table, first, before);
  blis_paged_map_remove_run(&pool->table, replaced + 1, it->promised - before - 1);
  it->promised = 0;
}

static inline void break_promise(blis_run_pool *pool, item *it) {
  if (it->promised > 0) {
    blis_paged_map_remove_run(&pool->table, end_of(it), it->promised);
    it->promised = 0;
  }
}

/* Removes an identity from the table, even if its entry refers to another block. */
static void forget_one(blis_run_pool *pool, blis_block_id id) {
  uint32_t index = 0;
  pool->table_version++;
  if (blis_paged_map_get(&pool->table, id, &index) && id < end_of(item_at(pool, index))) {
    item_at(pool, index)->listed--;
    blis_paged_map_remove(&pool->table, id);
    note_change(pool, id, 1);
  }
}

/*
 * Removes the last count blocks of an item from the table, even if the table refers to newer copies
 * of the same blocks. BLIS (Go) also does this, and it affects hit rates.
 */
static void forget_last(blis_run_pool *pool, uint32_t index, int64_t count) {
  item *it = item_at(pool, index);
  blis_block_id first = it->id + (uint64_t)(it->blocks - count);
  if (it->listed == it->blocks) {
    blis_paged_map_remove_run(&pool->table, first, (uint64_t)count);
    it->listed -= count;
    note_change(pool, first, (uint64_t)count);
    return;
  }
  for (int64_t i = 0; i < count; i++) {
    forget_one(pool, first + (uint64_t)i);
  }
}

/* Makes the table map id to an item, replacing any previous entry. */
static blis_status list_block(blis_run_pool *pool, blis_block_id id, uint32_t index) {
  uint32_t before;
  BLIS_TRY(blis_paged_map_put(&pool->table, id, index, &before));
  BLIS_ASSERT(before != index);
  item_at(pool, index)->listed++;
  if (before != UINT32_MAX && id < end_of(item_at(pool, before))) {
    pool->table_version++;
    item_at(pool, before)->listed--;
    return BLIS_OK;
  }
  if (before != UINT32_MAX) {
    break_promise_but(pool, item_at(pool, before), id);
  }
  note_change(pool, id, 1);
  return BLIS_OK;
}

static blis_status list_blocks(blis_run_pool *pool, blis_block_id id, uint64_t count,
                               uint32_t index) {
  while (count > 1) {
    uint64_t added;
    blis_status status = blis_paged_map_add_run(&pool->table, id, count, index, &added);
    item_at(pool, index)->listed += (int64_t)added;
    note_change(pool, id, added);
    BLIS_TRY(status);
    id += added;
    count -= added;
    if (count > 0) { /* this block already exists */
      BLIS_TRY(list_block(pool, id++, index));
      count--;
    }
  }
  return count == 0 ? BLIS_OK : list_block(pool, id, index);
}

/* Claiming. */

/* Splits an item after its first `blocks` blocks. */
static blis_status split(blis_run_pool *pool, uint32_t index, int64_t blocks) {
  uint32_t cut;
  BLIS_TRY(new_item(pool, BLIS_BLOCK_NONE, 0, &cut));
  item *first = item_at(pool, index);
  item *last = item_at(pool, cut);
  BLIS_ASSERT(blocks > 0 && blocks < first->blocks);
  last->id = first->id + (uint64_t)blocks;
  last->blocks = first->blocks - blocks;
  last->holders = first->holders;
  last->rest = first->rest;
  last->listed = (int64_t)blis_paged_map_change_run(&pool->table, last->id, (uint64_t)last->blocks,
                                                    index, cut);
  first->blocks = blocks;
  first->listed -= last->listed;
  first->rest = cut;
  if (first->holders == 0) {
    insert_behind(pool, cut, first->previous);
  }
  return BLIS_OK;
}

/* Adds the whole item to holder, which must have reserved capacity. */
static void hold(blis_run_pool *pool, blis_run_holder *holder, uint32_t index) {
  item *held = item_at(pool, index);
  if (held->holders == 0) {
    unlink_item(pool, index);
    pool->free_blocks -= held->blocks;
    BLIS_ASSERT(pool->free_blocks >= 0);
  }
  held->holders++;
  holder->parts.items[holder->parts.count++] = (blis_run_part){index, held->blocks};
  holder->named_blocks += held->blocks;
}

blis_status blis_run_pool_claim(blis_run_pool *pool, blis_run_holder *holder,
                                const blis_block_chain *chain, uint32_t count) {
  BLIS_ASSERT(holder->parts.count == 0 && holder->anonymous == 0);
  while (holder->named_blocks < count) {
    int64_t k = holder->named_blocks;
    uint32_t index = 0;
    int64_t blocks = match_run(pool, chain, k, count - k, &index);
    BLIS_ASSERT(blocks > 0);
    BLIS_TRY(blis_array_reserve(&pool->alloc, &holder->parts, holder->parts.count + 1));
    break_promise(pool, item_at(pool, index));
    blis_block_id id = blis_block_chain_at(chain, (uint32_t)k);
    int64_t before = (int64_t)(id - item_at(pool, index)->id);
    if (before > 0) {
      BLIS_TRY(split(pool, index, before));
      index = item_at(pool, index)->rest;
    }
    if (blocks < item_at(pool, index)->blocks) {
      BLIS_TRY(split(pool, index, blocks));
    }
    hold(pool, holder, index);
  }
  return BLIS_OK;
}

/* Taking. */

/* Takes at most limit blocks from the item at the head. */
static int64_t take_from_head(blis_run_pool *pool, int64_t limit) {
  uint32_t index = pool->head;
  item *head = item_at(pool, index);
  BLIS_ASSERT(head->blocks > 0 && head->holders == 0);
  int64_t taken = head->blocks < limit ? head->blocks : limit;
  if (is_named(head)) {
    forget_last(pool, index, taken);
  }
  head->blocks -= taken;
  pool->free_blocks -= taken;
  if (head->blocks == 0) {
    unlink_item(pool, index);
    spare_item(pool, index);
  }
  return taken;
}

void blis_run_pool_take_uncounted(blis_run_pool *pool, int64_t count) {
  BLIS_ASSERT(count <= pool->free_blocks);
  while (count > 0) {
    count -= take_from_head(pool, count);
  }
}

void blis_run_pool_take(blis_run_pool *pool, blis_run_holder *holder, int64_t count) {
  blis_run_pool_take_uncounted(pool, count);
  holder->anonymous += count;
  BLIS_ASSERT(holder->anonymous <= pool->block_count - pool->free_blocks);
}

bool blis_run_pool_next_are_anonymous(const blis_run_pool *pool, int64_t count) {
  if (count == 0 || count > pool->free_blocks) {
    return count == 0;
  }
  const item *next = item_at(pool, pool->head);
  return !is_named(next) && next->blocks >= count;
}

bool blis_run_pool_next_avoid(const blis_run_pool *pool, int64_t count, blis_block_id first,
                              blis_block_id last) {
  BLIS_ASSERT(count <= pool->free_blocks && first <= last);
  for (uint32_t i = pool->head; count > 0; i = item_at(pool, i)->next) {
    const item *it = item_at(pool, i);
    int64_t taken = it->blocks < count ? it->blocks : count;
    blis_block_id end = end_of(it);
    if (is_named(it) && end - (uint64_t)taken <= last && first < end) {
      return false;
    }
    count -= taken;
  }
  return true;
}

/* Naming. */

/*
 * Returns whether the holder's last item can be extended: its identities end directly before id,
 * and it has no other holder.
 */
static bool can_append(const blis_run_pool *pool, const blis_run_holder *holder, blis_block_id id) {
  if (holder->parts.count == 0) {
    return false;
  }
  const blis_run_part *last = &holder->parts.items[holder->parts.count - 1];
  const item *it = item_at(pool, last->item);
  return it->holders == 1 && end_of(it) == id;
}

/* Gives these names to the holder's next blocks, which are no longer free. */
static blis_status name_blocks(blis_run_pool *pool, blis_run_holder *holder, blis_block_id id,
                               int64_t count) {
  if (!can_append(pool, holder, id)) {
    uint32_t added = 0;
    BLIS_TRY(blis_array_reserve(&pool->alloc, &holder->parts, holder->parts.count + 1));
    BLIS_TRY(new_item(pool, id, 0, &added));
    item_at(pool, added)->holders = 1;
    holder->parts.items[holder->parts.count++] = (blis_run_part){added, 0};
  }
  blis_run_part *last = &holder->parts.items[holder->parts.count - 1];
  item *it = item_at(pool, last->item);
  break_promise(pool, it);
  last->blocks += count;
  it->blocks += count;
  holder->named_blocks += count;
  return list_blocks(pool, id, (uint64_t)count, last->item);
}

/*
 * Blocks that decoding fills are named one by one. Their names are added to the table in advance as
 * a run, so that naming a block does not change the table.
 */
static blis_status promise_names(blis_run_pool *pool, const blis_run_holder *holder,
                                 const blis_block_chain *chain) {
  uint32_t index = holder->parts.items[holder->parts.count - 1].item;
  item *it = item_at(pool, index);
  uint32_t k = (uint32_t)holder->named_blocks;
  if (k >= chain->shared_count || end_of(it) != chain->shared[k]) {
    return BLIS_OK;
  }
  uint32_t count = blis_block_chain_run(chain, k, chain->shared_count - k);
  uint64_t added;
  blis_status status = blis_paged_map_add_run(&pool->table, end_of(it), count, index, &added);
  it->promised = (uint32_t)added;
  return status;
}

/* Uses the next promised name. Returns false if the holder has no promised name. */
static bool keep_promise(blis_run_pool *pool, blis_run_holder *holder) {
  if (holder->parts.count == 0) {
    return false;
  }
  blis_run_part *last = &holder->parts.items[holder->parts.count - 1];
  item *it = item_at(pool, last->item);
  if (it->promised == 0) {
    return false;
  }
  BLIS_ASSERT(it->holders == 1);
  it->promised--;
  note_change(pool, end_of(it), 1);
  it->listed++;
  it->blocks++;
  last->blocks++;
  holder->named_blocks++;
  return true;
}

blis_status blis_run_pool_name(blis_run_pool *pool, blis_run_holder *holder,
                               const blis_block_chain *chain) {
  BLIS_ASSERT(holder->anonymous > 0);
  holder->anonymous--;
  if (keep_promise(pool, holder)) {
    return BLIS_OK;
  }
  blis_block_id id = blis_block_chain_at(chain, (uint32_t)holder->named_blocks);
  BLIS_TRY(name_blocks(pool, holder, id, 1));
  return promise_names(pool, holder, chain);
}

static bool overlap(blis_block_id a, int64_t a_count, blis_block_id b, int64_t b_count) {
  return a < b + (uint64_t)b_count && b < a + (uint64_t)a_count;
}

/*
 * Takes free blocks for at most count consecutive names, beginning with id. The result is the same
 * whether blocks are named one by one or together, unless one block gets the name that another
 * block loses. In that case, only one block is taken.
 */
static int64_t take_for_names(blis_run_pool *pool, blis_block_id id, int64_t count) {
  const item *head = item_at(pool, pool->head);
  count = head->blocks < count ? head->blocks : count;
  blis_block_id lost = head->id + (uint64_t)(head->blocks - count);
  bool is_safe = !is_named(head) || !overlap(id, count, lost, count);
  return take_from_head(pool, is_safe ? count : 1);
}

blis_status blis_run_pool_name_up_to(blis_run_pool *pool, blis_run_holder *holder,
                                     const blis_block_chain *chain, int64_t count, int64_t *taken) {
  *taken = 0;
  while (holder->named_blocks < count) {
    int64_t k = holder->named_blocks;
    blis_block_id id = blis_block_chain_at(chain, (uint32_t)k);
    int64_t blocks = blis_block_chain_run(chain, (uint32_t)k, (uint32_t)(count - k));
    if (holder->anonymous > 0) {
      blocks = holder->anonymous < blocks ? holder->anonymous : blocks;
      holder->anonymous -= blocks;
    } else {
      BLIS_ASSERT(pool->free_blocks > 0);
      blocks = take_for_names(pool, id, blocks);
      *taken += blocks;
    }
    BLIS_TRY(name_blocks(pool, holder, id, blocks));
  }
  return BLIS_OK;
}

/* Giving back. */

/*
 * The items of a part are in chain order. Items without other holders are appended to the tail of
 * the free list in reverse order.
 */
static void release_part(blis_run_pool *pool, const blis_run_part *part) {
  uint32_t tail = pool->tail;
  uint32_t index = part->item;
  for (int64_t left = part->blocks; left > 0;) {
    item *it = item_at(pool, index);
    BLIS_ASSERT(is_named(it) && it->holders > 0 && it->blocks <= left);
    left -= it->blocks;
    if (--it->holders == 0) {
      break_promise(pool, it);
      insert_behind(pool, index, tail);
      pool->free_blocks += it->blocks;
    }
    index = it->rest;
  }
}

blis_status blis_run_pool_release(blis_run_pool *pool, blis_run_holder *holder) {
  BLIS_TRY(append_anonymous(pool, holder->anonymous));
  holder->anonymous = 0;
  for (size_t i = holder->parts.count; i-- > 0;) {
    release_part(pool, &holder->parts.items[i]);
  }
  BLIS_ASSERT(pool->free_blocks <= pool->block_count);
  holder->parts.count = 0;
  holder->named_blocks = 0;
  return BLIS_OK;
}

blis_status blis_run_pool_forget(blis_run_pool *pool) {
  int64_t count = pool->free_blocks;
  blis_run_pool_take_uncounted(pool, count);
  return append_anonymous(pool, count);
}

/* Checks. */

int64_t blis_run_pool_held_named(const blis_run_pool *pool) {
  int64_t held = 0;
  for (size_t i = 0; i < pool->items.count; i++) {
    const item *it = &pool->items.items[i];
    held += it->holders > 0 ? it->blocks : 0;
  }
  return held;
}

/* Returns whether the entries of the table match the items. */
static bool check_table(const blis_run_pool *pool) {
  for (size_t i = 0; i < pool->items.count; i++) {
    const item *it = &pool->items.items[i];
    int64_t listed = 0;
    for (int64_t k = 0; is_named(it) && k < it->blocks; k++) {
      uint32_t index = NO_ITEM;
      blis_paged_map_get(table_of(pool), it->id + (uint64_t)k, &index);
      listed += index == i;
    }
    if (blis_paged_map_count_run(table_of(pool), end_of(it), it->promised, (uint32_t)i) !=
            it->promised ||
        (it->promised > 0 && it->holders != 1)) {
      return false;
    }
    if (listed != it->listed || (!is_named(it) && it->holders > 0)) {
      return false;
    }
  }
  return blis_paged_map_check(&pool->table);
}

bool blis_run_pool_check(const blis_run_pool *pool) {
  int64_t counted = 0;
  uint32_t previous = NO_ITEM;
  for (uint32_t i = pool->head; i != NO_ITEM; i = item_at(pool, i)->next) {
    const item *link = item_at(pool, i);
    if (link->previous != previous || link->holders != 0 || link->blocks <= 0) {
      return false;
    }
    counted += link->blocks;
    previous = i;
  }
  return check_table(pool) && previous == pool->tail && counted == pool->free_blocks &&
         counted <= pool->block_count;
}
