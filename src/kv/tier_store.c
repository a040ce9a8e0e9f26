#include "kv/tier_store.h"

#include "base/array.h"
#include "base/containers/map.h"
#include "base/invariant.h"
#include "base/minmax.h"

#define NO_ENTRY UINT32_MAX

enum {
  LEVELS = 12, /* lfu counts uses up to this number */
  /*
   * Lists of arc: blocks used once, blocks used again, and the ghosts (evicted identities) of both.
   */
  ONCE = 0,
  AGAIN = 1,
  GHOSTS_ONCE = 12,
  GHOSTS_AGAIN = 13,
  LISTS = 14
};

typedef struct entry {
  blis_block_id id;
  double score;
  uint64_t order; /* order of arrival or of the last use; for scores */
  uint32_t older;
  uint32_t newer;
  uint32_t heap_place; /* position in the heap; for scores */
  uint32_t uses;
  uint32_t pins;
  uint8_t list;
  bool is_incoming;
} entry;

typedef struct list {
  uint32_t oldest;
  uint32_t newest;
  int64_t count;
} list;

struct blis_tier_store {
  blis_alloc alloc;
  blis_tier_policy policy;
  int64_t capacity;
  BLIS_ARRAY(entry) entries; /* includes unused entries, linked by `newer` */
  uint32_t spare;
  blis_map table; /* identity -> index of its entry, including ghosts */
  list lists[LISTS];
  BLIS_ARRAY(uint32_t) heap; /* indexes of entries; the next victim is at the top */
  uint64_t next_order;
  double wanted_once; /* arc: target number of blocks used once */
  blis_tier_store_stats stats;
};

blis_tier_store *blis_tier_store_new(const blis_alloc *alloc, int64_t capacity_blocks,
                                     blis_tier_policy policy) {
  BLIS_ASSERT(capacity_blocks >= 1 && capacity_blocks <= INT32_MAX);
  blis_tier_store *s = blis_alloc_zeroed(alloc, 1, sizeof *s);
  if (s == NULL) {
    return NULL;
  }
  s->alloc = *alloc;
  s->policy = policy;
  s->capacity = capacity_blocks;
  s->spare = NO_ENTRY;
  for (int i = 0; i < LISTS; i++) {
    s->lists[i] = (list){NO_ENTRY, NO_ENTRY, 0};
  }
  blis_map_init(&s->table, alloc);
  return s;
}

void blis_tier_store_free(blis_tier_store *store) {
  if (store == NULL) {
    return;
  }
  BLIS_INVARIANT(blis_tier_store_check(store));
  blis_alloc alloc = store->alloc;
  blis_array_deinit(&alloc, &store->entries);
  blis_array_deinit(&alloc, &store->heap);
  blis_map_deinit(&store->table);
  blis_alloc_free(&alloc, store, sizeof *store);
}

static bool is_ghost(const entry *e) {
  return e->list >= GHOSTS_ONCE;
}

/* Lists. */

static void unlink_entry(blis_tier_store *store, uint32_t index) {
  const entry *e = &store->entries.items[index];
  list *l = &store->lists[e->list];
  if (e->older == NO_ENTRY) {
    l->oldest = e->newer;
  } else {
    store->entries.items[e->older].newer = e->newer;
  }
  if (e->newer == NO_ENTRY) {
    l->newest = e->older;
  } else {
    store->entries.items[e->newer].older = e->older;
  }
  l->count--;
}

static void link_newest(blis_tier_store *store, uint32_t index, int to) {
  entry *e = &store->entries.items[index];
  list *l = &store->lists[to];
  e->list = (uint8_t)to;
  e->older = l->newest;
  e->newer = NO_ENTRY;
  if (l->newest == NO_ENTRY) {
    l->oldest = index;
  } else {
    store->entries.items[l->newest].newer = index;
  }
  l->newest = index;
  l->count++;
}

static void move(blis_tier_store *store, uint32_t index, int to) {
  unlink_entry(store, index);
  link_newest(store, index, to);
}

/* The heap of scores. */

static bool leaves_before(const entry *a, const entry *b) {
  return a->score != b->score ? a->score < b->score : a->order < b->order;
}

static void put_in_heap(blis_tier_store *store, size_t place, uint32_t index) {
  store->heap.items[place] = index;
  store->entries.items[index].heap_place = (uint32_t)place;
}

static void sift_up(blis_tier_store *store, size_t place) {
  const entry *entries = store->entries.items;
  uint32_t index = store->heap.items[place];
  while (place > 0) {
    size_t parent = (place - 1) / 2;
    uint32_t other = store->heap.items[parent];
    if (!leaves_before(&entries[index], &entries[other])) {
      break;
    }
    put_in_heap(store, place, other);
    place = parent;
  }
  put_in_heap(store, place, index);
}

static void sift_down(blis_tier_store *store, size_t place) {
  const entry *entries = store->entries.items;
  size_t count = store->heap.count;
  uint32_t index = store->heap.items[place];
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= count) {
      break;
    }
    const uint32_t *heap = store->heap.items;
    if (child + 1 < count && leaves_before(&entries[heap[child + 1]], &entries[heap[child]])) {
      child++;
    }
    if (!leaves_before(&entries[heap[child]], &entries[index])) {
      break;
    }
    put_in_heap(store, place, heap[child]);
    place = child;
  }
  put_in_heap(store, place, index);
}

static void fix_heap(blis_tier_store *store, uint32_t index) {
  sift_up(store, store->entries.items[index].heap_place);
  sift_down(store, store->entries.items[index].heap_place);
}

static void take_from_heap(blis_tier_store *store, uint32_t index) {
  size_t place = store->entries.items[index].heap_place;
  uint32_t last = store->heap.items[--store->heap.count];
  if (place < store->heap.count) {
    put_in_heap(store, place, last);
    fix_heap(store, last);
  }
}

/* Entries. */

static entry *find(const blis_tier_store *store, blis_block_id id) {
  uint64_t index;
  if (!blis_map_get(&store->table, id, &index)) {
    return NULL;
  }
  entry *e = &store->entries.items[index];
  return is_ghost(e) ? NULL : e;
}

static uint32_t index_of(const blis_tier_store *store, const entry *e) {
  return (uint32_t)(e - store->entries.items);
}

bool blis_tier_store_has(const blis_tier_store *store, blis_block_id id) {
  const entry *e = find(store, id);
  return e != NULL && !e->is_incoming;
}

bool blis_tier_store_knows(const blis_tier_store *store, blis_block_id id) {
  return find(store, id) != NULL;
}

int64_t blis_tier_store_uses(const blis_tier_store *store, blis_block_id id) {
  return find(store, id)->uses;
}

/* Reserves space for one more entry, so that nothing fails later. */
static blis_status make_room(blis_tier_store *store) {
  size_t count = store->entries.count;
  if (store->spare != NO_ENTRY) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_reserve(&store->alloc, &store->entries, count + 1));
  BLIS_TRY(blis_array_reserve(&store->alloc, &store->heap, store->entries.capacity));
  return blis_map_reserve(&store->table, count + 1);
}

static uint32_t add_entry(blis_tier_store *store, blis_block_id id) {
  uint32_t index = store->spare;
  if (index == NO_ENTRY) {
    index = (uint32_t)store->entries.count++;
  } else {
    store->spare = store->entries.items[index].newer;
  }
  store->entries.items[index] = (entry){.id = id};
  blis_status status = blis_map_put(&store->table, id, index);
  BLIS_ASSERT(status == BLIS_OK); /* make_room has reserved the memory */
  return index;
}

/* Removes an entry. */
static void drop_entry(blis_tier_store *store, uint32_t index) {
  entry *e = &store->entries.items[index];
  unlink_entry(store, index);
  blis_map_remove(&store->table, e->id);
  e->newer = store->spare;
  store->spare = index;
}

/* Removes a block. If is_remembered, arc keeps its identity as a ghost. */
static void leave(blis_tier_store *store, uint32_t index, bool is_remembered) {
  const entry *e = &store->entries.items[index];
  store->stats.blocks--;
  if (store->policy == BLIS_TIER_SCORED) {
    take_from_heap(store, index);
  }
  if (store->policy == BLIS_TIER_ARC && is_remembered) {
    move(store, index, e->list == ONCE ? GHOSTS_ONCE : GHOSTS_AGAIN);
  } else {
    drop_entry(store, index);
  }
}

/* Use. */

void blis_tier_store_touch(blis_tier_store *store, blis_block_id id, double score) {
  entry *e = find(store, id);
  uint32_t index = index_of(store, e);
  BLIS_ASSERT(!e->is_incoming);
  e->uses += e->uses < UINT32_MAX;
  switch (store->policy) {
  case BLIS_TIER_LRU:
    move(store, index, 0);
    return;
  case BLIS_TIER_LFU:
    move(store, index, (int)blis_min_i64(e->uses, LEVELS) - 1);
    return;
  case BLIS_TIER_ARC:
    move(store, index, AGAIN);
    return;
  case BLIS_TIER_SCORED:
    e->score = score;
    e->order = store->next_order++;
    fix_heap(store, index);
    return;
  case BLIS_TIER_FIFO:
  case BLIS_TIER_POLICY_COUNT:
    return;
  }
}

void blis_tier_store_pin(blis_tier_store *store, blis_block_id id) {
  entry *e = find(store, id);
  BLIS_ASSERT(!e->is_incoming);
  store->stats.pinned += e->pins == 0;
  e->pins++;
}

void blis_tier_store_unpin(blis_tier_store *store, blis_block_id id) {
  entry *e = find(store, id);
  BLIS_ASSERT(e->pins > 0);
  e->pins--;
  store->stats.pinned -= e->pins == 0;
}

/* Eviction. */

static bool can_leave(const entry *e) {
  return e->pins == 0 && !e->is_incoming;
}

static uint32_t oldest_of(const blis_tier_store *store, int from) {
  uint32_t i = store->lists[from].oldest;
  while (i != NO_ENTRY && !can_leave(&store->entries.items[i])) {
    i = store->entries.items[i].newer;
  }
  return i;
}

static uint32_t least_used(const blis_tier_store *store) {
  for (int level = 0; level < LEVELS; level++) {
    uint32_t i = oldest_of(store, level);
    if (i != NO_ENTRY) {
      return i;
    }
  }
  return NO_ENTRY;
}

/* Selects the victim of arc: a block used once while their number exceeds the target. */
static uint32_t arc_victim(const blis_tier_store *store, bool was_again) {
  double once = (double)store->lists[ONCE].count;
  bool is_once =
      once > 0 && (once > store->wanted_once || (was_again && once >= store->wanted_once));
  uint32_t i = oldest_of(store, is_once ? ONCE : AGAIN);
  return i != NO_ENTRY ? i : oldest_of(store, is_once ? AGAIN : ONCE);
}

/* Returns the entry with the lowest score that can be evicted: the top of the heap, or the result
   of a search if the top is pinned or incoming. */
static uint32_t lowest_score(const blis_tier_store *store) {
  const entry *entries = store->entries.items;
  uint32_t best = NO_ENTRY;
  for (size_t i = 0; i < store->heap.count; i++) {
    uint32_t index = store->heap.items[i];
    if (can_leave(&entries[index]) &&
        (best == NO_ENTRY || leaves_before(&entries[index], &entries[best]))) {
      best = index;
      if (i == 0) {
        return best;
      }
    }
  }
  return best;
}

static uint32_t victim_of(const blis_tier_store *store, bool was_again) {
  switch (store->policy) {
  case BLIS_TIER_LFU:
    return least_used(store);
  case BLIS_TIER_ARC:
    return arc_victim(store, was_again);
  case BLIS_TIER_SCORED:
    return lowest_score(store);
  case BLIS_TIER_LRU:
  case BLIS_TIER_FIFO:
  case BLIS_TIER_POLICY_COUNT:
    break;
  }
  return oldest_of(store, 0);
}

/*
 * Adjusts the target after an evicted block is requested again, because the list of its kind is too
 * short.
 */
static void adapt(blis_tier_store *store, int ghosts) {
  double once = (double)store->lists[GHOSTS_ONCE].count;
  double again = (double)store->lists[GHOSTS_AGAIN].count;
  double step = ghosts == GHOSTS_ONCE ? (once >= again ? 1 : again / once)
                                      : (again >= once ? 1 : once / again);
  double wanted = store->wanted_once + (ghosts == GHOSTS_ONCE ? step : -step);
  double most = (double)store->capacity;
  store->wanted_once = wanted < 0 ? 0 : (wanted > most ? most : wanted);
}

/* Enforces the limits of arc: blocks and ghosts used once are at most the capacity in total, and
   all blocks and ghosts are at most twice the capacity. */
static void forget_ghosts(blis_tier_store *store) {
  const list *l = store->lists;
  while (l[GHOSTS_ONCE].count > 0 && l[ONCE].count + l[GHOSTS_ONCE].count > store->capacity) {
    drop_entry(store, l[GHOSTS_ONCE].oldest);
  }
  while (l[GHOSTS_AGAIN].count > 0 &&
         l[ONCE].count + l[AGAIN].count + l[GHOSTS_ONCE].count + l[GHOSTS_AGAIN].count >
             2 * store->capacity) {
    drop_entry(store, l[GHOSTS_AGAIN].oldest);
  }
}

/*
 * Removes the ghost of a block and adapts to it. Returns the ghost list that contained it, or -1.
 */
static int recall(blis_tier_store *store, blis_block_id id) {
  uint64_t index;
  if (!blis_map_get(&store->table, id, &index)) {
    return -1;
  }
  int ghosts = store->entries.items[index].list;
  adapt(store, ghosts);
  drop_entry(store, (uint32_t)index);
  return ghosts;
}

/* Returns whether a slot is free or a block can be evicted. */
static bool has_room(const blis_tier_store *store) {
  return store->stats.blocks < store->capacity || victim_of(store, false) != NO_ENTRY;
}

static blis_block_id evict(blis_tier_store *store, bool was_again) {
  uint32_t index = victim_of(store, was_again);
  if (index == NO_ENTRY) {
    return BLIS_BLOCK_NONE;
  }
  blis_block_id id = store->entries.items[index].id;
  leave(store, index, true);
  store->stats.evictions++;
  return id;
}

blis_block_id blis_tier_store_evict(blis_tier_store *store) {
  return evict(store, false);
}

blis_status blis_tier_store_reserve(blis_tier_store *store, blis_block_id id, double score,
                                    blis_block_id *evicted, bool *is_done) {
  BLIS_ASSERT(!blis_tier_store_knows(store, id));
  *evicted = BLIS_BLOCK_NONE;
  *is_done = has_room(store);
  if (!*is_done) {
    return BLIS_OK;
  }
  BLIS_TRY(make_room(store));
  int ghosts = store->policy == BLIS_TIER_ARC ? recall(store, id) : -1;
  if (store->stats.blocks >= store->capacity) {
    *evicted = evict(store, ghosts == GHOSTS_AGAIN);
  }
  uint32_t index = add_entry(store, id);
  entry *e = &store->entries.items[index];
  e->is_incoming = true;
  e->uses = 1;
  link_newest(store, index, ghosts >= 0 ? AGAIN : ONCE);
  if (store->policy == BLIS_TIER_SCORED) {
    e->score = score;
    e->order = store->next_order++;
    store->heap.items[store->heap.count] = index;
    e->heap_place = (uint32_t)store->heap.count++;
    sift_up(store, e->heap_place);
  }
  if (store->policy == BLIS_TIER_ARC) {
    forget_ghosts(store);
  }
  store->stats.blocks++;
  store->stats.incoming++;
  store->stats.peak = blis_max_i64(store->stats.peak, store->stats.blocks);
  return BLIS_OK;
}

void blis_tier_store_commit(blis_tier_store *store, blis_block_id id) {
  entry *e = find(store, id);
  BLIS_ASSERT(e->is_incoming);
  e->is_incoming = false;
  move(store, index_of(store, e), e->list);
  store->stats.incoming--;
  store->stats.stored++;
}

void blis_tier_store_abandon(blis_tier_store *store, blis_block_id id) {
  const entry *e = find(store, id);
  BLIS_ASSERT(e->is_incoming);
  store->stats.incoming--;
  leave(store, index_of(store, e), false);
}

void blis_tier_store_clear(blis_tier_store *store) {
  BLIS_ASSERT(store->stats.pinned == 0 && store->stats.incoming == 0);
  store->stats.removed += store->stats.blocks;
  store->stats.blocks = 0;
  store->entries.count = 0;
  store->heap.count = 0;
  store->spare = NO_ENTRY;
  store->wanted_once = 0;
  blis_map_clear(&store->table);
  for (int i = 0; i < LISTS; i++) {
    store->lists[i] = (list){NO_ENTRY, NO_ENTRY, 0};
  }
}

int64_t blis_tier_store_capacity(const blis_tier_store *store) {
  return store->capacity;
}

blis_tier_store_stats blis_tier_store_get_stats(const blis_tier_store *store) {
  return store->stats;
}

/* Checks. */

static bool check_list(const blis_tier_store *store, int which, blis_tier_store_stats *found) {
  const list *l = &store->lists[which];
  uint32_t older = NO_ENTRY;
  int64_t count = 0;
  for (uint32_t i = l->oldest; i != NO_ENTRY; i = store->entries.items[i].newer) {
    const entry *e = &store->entries.items[i];
    uint64_t index;
    if (e->older != older || e->list != which || count > l->count ||
        !blis_map_get(&store->table, e->id, &index) || index != i ||
        (e->is_incoming && e->pins > 0)) {
      return false;
    }
    found->blocks += !is_ghost(e);
    found->incoming += e->is_incoming;
    found->pinned += e->pins > 0;
    older = i;
    count++;
  }
  return older == l->newest && count == l->count;
}

static bool check_heap(const blis_tier_store *store) {
  const entry *entries = store->entries.items;
  for (size_t i = 0; i < store->heap.count; i++) {
    uint32_t index = store->heap.items[i];
    if (entries[index].heap_place != i ||
        (i > 0 && leaves_before(&entries[index], &entries[store->heap.items[(i - 1) / 2]]))) {
      return false;
    }
  }
  return store->policy != BLIS_TIER_SCORED || (int64_t)store->heap.count == store->stats.blocks;
}

bool blis_tier_store_check(const blis_tier_store *store) {
  const blis_tier_store_stats *s = &store->stats;
  blis_tier_store_stats found = {0};
  size_t all = 0;
  for (int i = 0; i < LISTS; i++) {
    if (!check_list(store, i, &found)) {
      return false;
    }
    all += (size_t)store->lists[i].count;
  }
  return found.blocks == s->blocks && found.incoming == s->incoming && found.pinned == s->pinned &&
         s->blocks <= store->capacity &&
         s->stored - s->evictions - s->removed == s->blocks - s->incoming &&
         all == blis_map_count(&store->table) && check_heap(store) && blis_map_check(&store->table);
}
