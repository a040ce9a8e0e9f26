#include "policy/memory/prefix_index.h"

#include <string.h>

#include "base/array.h"
#include "base/containers/map.h"
#include "base/containers/sparse_bits.h"
#include "base/invariant.h"
#include "policy/memory/holders.h"
#include "policy/memory/span_store.h"

#define NONE UINT32_MAX

/* A run of blocks with consecutive ids; stored in the map under its first id. */
typedef struct node {
  blis_block_id first;
  uint32_t length;       /* blocks; 0 = not in use */
  blis__holders holders; /* not empty, except while a chain is being observed */
} node;

/* The blocks of one node that one instance holds: the last blocks of the node. */
typedef struct entry {
  uint32_t node;
  uint32_t blocks; /* 0 = not in use */
  uint32_t older;
  uint32_t newer;
} entry;

typedef struct lru {
  uint32_t oldest;
  uint32_t newest;
  uint64_t blocks;
} lru;

/* A part of an observed chain: an existing node, or a new one (NONE). */
typedef struct step {
  uint32_t node;
  uint32_t start;
  uint32_t length; /* if less than the node's length, the node is split */
} step;

struct blis_prefix_index {
  blis_alloc alloc;
  uint64_t capacity;
  blis_map by_first;       /* first id -> node */
  blis_sparse_bits firsts; /* the shared ids among the first ids */
  uint64_t highest_shared; /* higher ids were never observed */
  blis__span_store spans;
  BLIS_ARRAY(node) nodes;
  BLIS_ARRAY(uint32_t) free_nodes;
  BLIS_ARRAY(entry) entries;
  BLIS_ARRAY(uint32_t) free_entries;
  BLIS_ARRAY(lru) lrus; /* one per instance */
  BLIS_ARRAY(step) steps;
};

blis_prefix_index *blis_prefix_index_new(const blis_alloc *alloc, uint64_t capacity_blocks) {
  BLIS_ASSERT(capacity_blocks >= 1);
  blis_prefix_index *index = blis_alloc_new(alloc, sizeof *index);
  if (index != NULL) {
    *index = (blis_prefix_index){.alloc = *alloc, .capacity = capacity_blocks};
    blis_map_init(&index->by_first, alloc);
    blis_sparse_bits_init(&index->firsts, alloc);
    blis__span_store_init(&index->spans, alloc);
  }
  return index;
}

void blis_prefix_index_free(blis_prefix_index *index) {
  if (index == NULL) {
    return;
  }
  blis_alloc alloc = index->alloc;
  blis_map_deinit(&index->by_first);
  blis_sparse_bits_deinit(&index->firsts);
  blis__span_store_deinit(&index->spans);
  blis_array_deinit(&alloc, &index->nodes);
  blis_array_deinit(&alloc, &index->free_nodes);
  blis_array_deinit(&alloc, &index->entries);
  blis_array_deinit(&alloc, &index->free_entries);
  blis_array_deinit(&alloc, &index->lrus);
  blis_array_deinit(&alloc, &index->steps);
  blis_alloc_free(&alloc, index, sizeof *index);
}

uint64_t blis_prefix_index_size(const blis_prefix_index *index, uint32_t instance) {
  return instance < index->lrus.count ? index->lrus.items[instance].blocks : 0;
}

/* Lookup. */

static uint32_t find_node(const blis_prefix_index *index, blis_block_id first) {
  if (first > index->highest_shared && (first & BLIS_BLOCK_PRIVATE) == 0) {
    return NONE;
  }
  uint64_t found;
  return blis_map_get(&index->by_first, first, &found) ? (uint32_t)found : NONE;
}

/* Returns how many blocks of the node match the chain at start. The node was found by its first
   block. */
static uint32_t agreement(const node *n, const blis_block_chain *chain, uint32_t start) {
  uint32_t left = chain->prompt_blocks - start;
  return blis_block_chain_run(chain, start, left < n->length ? left : n->length);
}

/* Matches being counted; few lists the instances that have any. */
typedef struct matches {
  uint32_t *blocks; /* by instance */
  uint32_t instance_count;
  uint32_t *few;
  uint32_t few_count;
} matches;

/* Returns whether any instance that has matched everything up to start also holds the node. */
static bool extend_matches(const blis_prefix_index *index, const node *n, uint32_t start,
                           uint32_t length, matches *found) {
  const uint64_t *holders = blis__holders_items(&n->holders, &index->spans);
  uint32_t *blocks = found->blocks;
  bool is_matched = false;
  for (uint32_t i = 0; i < n->holders.count; i++) {
    uint32_t instance = blis__holder_instance(holders[i]);
    if ((holders[i] & BLIS__HOLDS_ALL) != 0 && instance < found->instance_count &&
        blocks[instance] == start) {
      blocks[instance] += length;
      is_matched = true;
      if (start == 0 && found->few != NULL) {
        found->few[found->few_count++] = instance;
      }
    }
  }
  return is_matched;
}

static void match(const blis_prefix_index *index, const blis_block_chain *whole_chain,
                  matches *matched) {
  const blis_block_chain prompt = blis_block_chain_of_prompt(whole_chain);
  const blis_block_chain *chain = &prompt;
  uint32_t start = 0;
  while (start < chain->prompt_blocks) {
    uint32_t found = find_node(index, blis_block_chain_at(chain, start));
    if (found == NONE) {
      return;
    }
    const node *n = &index->nodes.items[found];
    uint32_t length = agreement(n, chain, start);
    if (!extend_matches(index, n, start, length, matched) || length < n->length) {
      return;
    }
    start += length;
  }
}

void blis_prefix_index_match(const blis_prefix_index *index, const blis_block_chain *chain,
                             uint32_t *blocks, uint32_t instance_count) {
  memset(blocks, 0, instance_count * sizeof *blocks);
  match(index, chain, &(matches){blocks, instance_count, NULL, 0});
}

uint32_t blis_prefix_index_match_few(const blis_prefix_index *index, const blis_block_chain *chain,
                                     uint32_t *blocks, uint32_t instance_count, uint32_t *few) {
  matches matched = {blocks, instance_count, few, 0};
  match(index, chain, &matched);
  return matched.few_count;
}

/* Planning of an observation, so that its execution cannot fail. */

static bool is_private(blis_block_id id) {
  return (id & BLIS_BLOCK_PRIVATE) != 0;
}

/*
 * Returns the number of blocks that form a new node from index start, whose block is unknown. The
 * node ends before a block that starts another node.
 */
static uint32_t gap(const blis_prefix_index *index, const blis_block_chain *chain, uint32_t start) {
  blis_block_id first = blis_block_chain_at(chain, start);
  uint32_t run = blis_block_chain_run(chain, start, chain->prompt_blocks - start);
  if (is_private(first) || first > index->highest_shared) {
    return run;
  }
  return (uint32_t)blis_sparse_bits_zeros(&index->firsts, first, run);
}

typedef struct room {
  size_t nodes;
  size_t entries;
  size_t words;
} room;

static void add_room_for_step(const blis_prefix_index *index, const step *s, room *needed) {
  needed->entries++;
  if (s->node == NONE) {
    needed->nodes++;
    needed->words++;
    return;
  }
  const node *n = &index->nodes.items[s->node];
  needed->words += blis__span_size((size_t)n->holders.count + 1);
  if (s->length < n->length) {
    needed->nodes++;
    needed->entries += n->holders.count;
    needed->words += 2 * blis__span_size(n->holders.count);
  }
}

static blis_status make_room(blis_prefix_index *index, const room *needed, uint32_t instance) {
  const blis_alloc *alloc = &index->alloc;
  size_t nodes = index->nodes.count + needed->nodes;
  size_t entries = index->entries.count + needed->entries;
  BLIS_TRY(blis_array_reserve(alloc, &index->nodes, nodes));
  BLIS_TRY(blis_array_reserve(alloc, &index->free_nodes, nodes));
  BLIS_TRY(blis_array_reserve(alloc, &index->entries, entries));
  BLIS_TRY(blis_array_reserve(alloc, &index->free_entries, entries));
  BLIS_TRY(blis_map_reserve(&index->by_first, blis_map_count(&index->by_first) + needed->nodes));
  blis_map *words = &index->firsts.words;
  BLIS_TRY(blis_map_reserve(words, blis_map_count(words) + needed->nodes));
  BLIS_TRY(blis__span_store_reserve(&index->spans, needed->words));
  BLIS_TRY(blis_array_reserve(alloc, &index->lrus, (size_t)instance + 1));
  while (index->lrus.count <= instance) {
    index->lrus.items[index->lrus.count++] = (lru){NONE, NONE, 0};
  }
  return BLIS_OK;
}

static blis_status plan(blis_prefix_index *index, const blis_block_chain *chain,
                        uint32_t instance) {
  room needed = {0};
  index->steps.count = 0;
  uint32_t start = 0;
  while (start < chain->prompt_blocks) {
    step s = {find_node(index, blis_block_chain_at(chain, start)), start, 0};
    s.length = s.node == NONE ? gap(index, chain, start)
                              : agreement(&index->nodes.items[s.node], chain, start);
    BLIS_TRY(blis_array_push(&index->alloc, &index->steps, s));
    add_room_for_step(index, &s, &needed);
    start += s.length;
  }
  return make_room(index, &needed, instance);
}

/* Changes; nothing below allocates. */

static uint32_t take_node(blis_prefix_index *index) {
  if (index->free_nodes.count > 0) {
    return index->free_nodes.items[--index->free_nodes.count];
  }
  return (uint32_t)index->nodes.count++;
}

static uint32_t take_entry(blis_prefix_index *index) {
  if (index->free_entries.count > 0) {
    return index->free_entries.items[--index->free_entries.count];
  }
  return (uint32_t)index->entries.count++;
}

/* Flips the bit of an id, for which the array already has capacity. */
static void flip_first(blis_prefix_index *index, blis_block_id first) {
  if (!is_private(first)) {
    blis_status status = blis_sparse_bits_flip(&index->firsts, first / BLIS_WORD_BITS,
                                               UINT64_C(1) << first % BLIS_WORD_BITS, NULL);
    BLIS_ASSERT(status == BLIS_OK);
  }
}

static uint32_t add_node(blis_prefix_index *index, blis_block_id first, uint32_t length) {
  uint32_t added = take_node(index);
  index->nodes.items[added] = (node){.first = first, .length = length};
  blis_status status = blis_map_put(&index->by_first, first, added);
  BLIS_ASSERT(status == BLIS_OK); /* capacity was reserved */
  flip_first(index, first);
  return added;
}

static void free_node(blis_prefix_index *index, uint32_t which) {
  node *n = &index->nodes.items[which];
  BLIS_ASSERT(n->length > 0 && n->holders.count == 0);
  blis_map_remove(&index->by_first, n->first);
  flip_first(index, n->first);
  *n = (node){0};
  index->free_nodes.items[index->free_nodes.count++] = which;
}

static uint32_t new_node(blis_prefix_index *index, const blis_block_chain *chain, const step *s) {
  blis_block_id first = blis_block_chain_at(chain, s->start);
  blis_block_id last = first + (s->length - 1);
  if (!is_private(first) && last > index->highest_shared) {
    index->highest_shared = last;
  }
  return add_node(index, first, s->length);
}

/* Inserts an entry directly before (older than) another one; NONE = after the newest. */
static void link_entry(blis_prefix_index *index, lru *order, uint32_t which, uint32_t newer) {
  entry *entries = index->entries.items;
  uint32_t older = newer == NONE ? order->newest : entries[newer].older;
  entries[which].older = older;
  entries[which].newer = newer;
  *(older == NONE ? &order->oldest : &entries[older].newer) = which;
  *(newer == NONE ? &order->newest : &entries[newer].older) = which;
}

static void unlink_entry(blis_prefix_index *index, lru *order, uint32_t which) {
  entry *entries = index->entries.items;
  uint32_t older = entries[which].older;
  uint32_t newer = entries[which].newer;
  BLIS_ASSERT(older == NONE ? order->oldest == which : entries[older].newer == which);
  BLIS_ASSERT(newer == NONE ? order->newest == which : entries[newer].older == which);
  *(older == NONE ? &order->oldest : &entries[older].newer) = newer;
  *(newer == NONE ? &order->newest : &entries[newer].older) = older;
}

static void free_entry(blis_prefix_index *index, lru *order, uint32_t which) {
  unlink_entry(index, order, which);
  index->entries.items[which].blocks = 0;
  index->free_entries.items[index->free_entries.count++] = which;
}

/*
 * Moves the last blocks of one holder to the new lower part. The remaining blocks get a separate
 * entry, directly before it.
 */
static void split_holder(blis_prefix_index *index, uint32_t upper, uint32_t lower, uint64_t word) {
  node *upper_node = &index->nodes.items[upper];
  node *lower_node = &index->nodes.items[lower];
  uint32_t instance = blis__holder_instance(word);
  uint32_t moved = blis__holder_entry(word);
  uint32_t held = index->entries.items[moved].blocks;
  uint32_t kept = held > lower_node->length ? held - lower_node->length : 0;
  index->entries.items[moved].node = lower;
  index->entries.items[moved].blocks = held - kept;
  blis__holders_add(&lower_node->holders, &index->spans, instance, moved);
  if (held - kept == lower_node->length) {
    *blis__holders_find(&lower_node->holders, &index->spans, instance) |= BLIS__HOLDS_ALL;
  }
  if (kept == 0) {
    blis__holders_remove(&upper_node->holders, &index->spans, instance);
    return;
  }
  uint32_t added = take_entry(index);
  index->entries.items[added] = (entry){.node = upper, .blocks = kept};
  link_entry(index, &index->lrus.items[instance], added, moved);
  *blis__holders_find(&upper_node->holders, &index->spans, instance) =
      (uint64_t)instance << 32 | added | (kept == upper_node->length ? BLIS__HOLDS_ALL : 0);
}

/* Splits a node after its first length blocks; the rest becomes a new node. */
static void split_node(blis_prefix_index *index, uint32_t upper, uint32_t length) {
  node *n = &index->nodes.items[upper];
  uint32_t rest = n->length - length;
  n->length = length;
  uint32_t added = add_node(index, n->first + length, rest);
  for (uint32_t i = index->nodes.items[upper].holders.count; i-- > 0;) {
    const blis__holders *holders = &index->nodes.items[upper].holders;
    split_holder(index, upper, added, blis__holders_items(holders, &index->spans)[i]);
  }
}

/* Makes all blocks of a node the most recent of an instance. */
static void touch(blis_prefix_index *index, uint32_t which, uint32_t instance) {
  node *n = &index->nodes.items[which];
  lru *order = &index->lrus.items[instance];
  uint64_t *word = blis__holders_find(&n->holders, &index->spans, instance);
  uint32_t e;
  if (word != NULL) {
    e = blis__holder_entry(*word);
    unlink_entry(index, order, e);
  } else {
    e = take_entry(index);
    index->entries.items[e] = (entry){.node = which};
    blis__holders_add(&n->holders, &index->spans, instance, e);
    word = &blis__holders_items(&n->holders, &index->spans)[n->holders.count - 1];
  }
  *word |= BLIS__HOLDS_ALL;
  order->blocks += n->length - index->entries.items[e].blocks;
  index->entries.items[e].blocks = n->length;
  link_entry(index, order, e, NONE);
}

/* Evicts the least recent blocks of an instance until kept_blocks remain. */
static void trim(blis_prefix_index *index, uint32_t instance, uint64_t kept_blocks) {
  lru *order = &index->lrus.items[instance];
  while (order->blocks > kept_blocks) {
    uint32_t oldest = order->oldest;
    BLIS_ASSERT(oldest != NONE);
    entry *e = &index->entries.items[oldest];
    node *n = &index->nodes.items[e->node];
    BLIS_ASSERT(e->blocks > 0 && e->blocks <= n->length);
    uint64_t excess = order->blocks - kept_blocks;
    if (e->blocks > excess) {
      e->blocks -= (uint32_t)excess;
      order->blocks -= excess;
      *blis__holders_find(&n->holders, &index->spans, instance) &= ~BLIS__HOLDS_ALL;
      return;
    }
    order->blocks -= e->blocks;
    uint32_t which = e->node;
    free_entry(index, order, oldest);
    blis__holders_remove(&n->holders, &index->spans, instance);
    if (n->holders.count == 0) {
      free_node(index, which);
    }
  }
}

/*
 * The set always consists of the most recently touched blocks, so only the order of touches
 * matters, and trimming can wait until the end.
 */
blis_status blis_prefix_index_observe(blis_prefix_index *index, const blis_block_chain *whole_chain,
                                      uint32_t instance) {
  const blis_block_chain prompt = blis_block_chain_of_prompt(whole_chain);
  const blis_block_chain *chain = &prompt;
  BLIS_TRY(plan(index, chain, instance));
  for (size_t i = 0; i < index->steps.count; i++) {
    const step *s = &index->steps.items[i];
    uint32_t which = s->node;
    if (which == NONE) {
      which = new_node(index, chain, s);
    } else if (s->length < index->nodes.items[which].length) {
      split_node(index, which, s->length);
    }
    touch(index, which, instance);
  }
  trim(index, instance, index->capacity);
  BLIS_ASSERT(blis_prefix_index_size(index, instance) <= index->capacity);
  BLIS_ASSERT(blis_map_count(&index->by_first) + index->free_nodes.count == index->nodes.count);
  BLIS_INVARIANT(blis_prefix_index_check(index));
  return BLIS_OK;
}

void blis_prefix_index_forget(blis_prefix_index *index, uint32_t instance) {
  if (instance < index->lrus.count) {
    trim(index, instance, 0);
  }
  BLIS_INVARIANT(blis_prefix_index_check(index));
}

/* Checking. */

static bool check_order(const blis_prefix_index *index, uint32_t instance) {
  const lru *order = &index->lrus.items[instance];
  uint64_t blocks = 0;
  uint32_t older = NONE;
  for (uint32_t i = order->oldest; i != NONE; older = i, i = index->entries.items[i].newer) {
    const entry *e = &index->entries.items[i];
    const node *n = &index->nodes.items[e->node];
    const uint64_t *word = blis__holders_find(&n->holders, &index->spans, instance);
    bool holds_all = word != NULL && (*word & BLIS__HOLDS_ALL) != 0;
    if (e->older != older || e->blocks == 0 || e->blocks > n->length || word == NULL ||
        blis__holder_entry(*word) != i || holds_all != (e->blocks == n->length) ||
        (!holds_all && i != order->oldest)) {
      return false;
    }
    blocks += e->blocks;
  }
  return older == order->newest && blocks == order->blocks && blocks <= index->capacity;
}

bool blis_prefix_index_check(const blis_prefix_index *index) {
  size_t live_nodes = 0;
  size_t held = 0;
  for (size_t i = 0; i < index->nodes.count; i++) {
    const node *n = &index->nodes.items[i];
    live_nodes += n->length > 0;
    held += n->holders.count;
    if (n->length > 0 && (n->holders.count == 0 || find_node(index, n->first) != i)) {
      return false;
    }
  }
  for (uint32_t i = 0; i < index->lrus.count; i++) {
    if (!check_order(index, i)) {
      return false;
    }
  }
  return live_nodes == blis_map_count(&index->by_first) && index->firsts.count <= live_nodes &&
         live_nodes + index->free_nodes.count == index->nodes.count &&
         held + index->free_entries.count == index->entries.count;
}
