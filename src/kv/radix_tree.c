#include "kv/radix_tree.h"

#include <string.h>

#include "base/array.h"
#include "base/containers/map.h"
#include "base/invariant.h"
#include "base/minmax.h"

typedef struct node {
  blis_block_id *ids; /* block IDs of its pages; NULL = the root, or not in use */
  uint32_t count;
  uint32_t parent;
  uint32_t children;
  int64_t start; /* number of pages before this node */
  int64_t locks;
  uint64_t used; /* time of the last operation on a path with this node */
} node;

struct blis_radix_tree {
  blis_alloc alloc;
  BLIS_ARRAY(node) nodes;
  BLIS_ARRAY(uint32_t) spare; /* indexes of unused nodes; has room for all nodes */
  BLIS_ARRAY(uint32_t) heap;  /* leaves without locks, used during an eviction */
  blis_map heads;             /* maps the ID of the first page to its node */
  uint64_t clock;
  int64_t pages;
  int64_t evictable;
  blis_block_journal *journal; /* borrowed; NULL = changes are not recorded */
};

blis_radix_tree *blis_radix_tree_new(const blis_alloc *alloc) {
  blis_radix_tree *tree = blis_alloc_zeroed(alloc, 1, sizeof *tree);
  if (tree == NULL) {
    return NULL;
  }
  tree->alloc = *alloc;
  blis_map_init(&tree->heads, alloc);
  const node root = {0};
  if (blis_array_push(alloc, &tree->nodes, root) != BLIS_OK ||
      blis_map_reserve(&tree->heads, 1) != BLIS_OK) {
    blis_radix_tree_free(tree);
    return NULL;
  }
  return tree;
}

static void free_ids(blis_radix_tree *tree, node *n) {
  blis_alloc_free(&tree->alloc, n->ids, n->count * sizeof *n->ids);
  n->ids = NULL;
}

void blis_radix_tree_free(blis_radix_tree *tree) {
  if (tree == NULL) {
    return;
  }
  blis_alloc alloc = tree->alloc;
  for (size_t i = 0; i < tree->nodes.count; i++) {
    free_ids(tree, &tree->nodes.items[i]);
  }
  blis_array_deinit(&alloc, &tree->nodes);
  blis_array_deinit(&alloc, &tree->spare);
  blis_array_deinit(&alloc, &tree->heap);
  blis_map_deinit(&tree->heads);
  blis_alloc_free(&alloc, tree, sizeof *tree);
}

/* An ID identifies a whole prefix, so all equal IDs come before all different IDs. */
static uint32_t equal_pages(const node *n, const blis_block_chain *chain, int64_t limit) {
  uint32_t low = 0;
  uint32_t high = (uint32_t)blis_min_i64(n->count, limit - n->start);
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    bool is_equal = n->ids[middle] == blis_block_chain_at(chain, (uint32_t)n->start + middle);
    low = is_equal ? middle + 1 : low;
    high = is_equal ? high : middle;
  }
  return low;
}

/* Finds the node that continues the chain after start pages, if any. */
static bool find_child(const blis_radix_tree *tree, const blis_block_chain *chain, int64_t start,
                       uint32_t *child) {
  uint64_t found;
  if (!blis_map_get(&tree->heads, blis_block_chain_at(chain, (uint32_t)start), &found)) {
    return false;
  }
  *child = (uint32_t)found;
  BLIS_ASSERT(tree->nodes.items[*child].start == start);
  return true;
}

int64_t blis_radix_tree_count(const blis_radix_tree *tree, const blis_block_chain *chain,
                              int64_t limit) {
  int64_t pages = 0;
  uint32_t child;
  while (pages < limit && find_child(tree, chain, pages, &child)) {
    uint32_t equal = equal_pages(&tree->nodes.items[child], chain, limit);
    pages += equal;
    if (equal < tree->nodes.items[child].count) {
      break;
    }
  }
  return pages;
}

int64_t blis_radix_tree_count_at_mark(const blis_radix_tree *tree, const blis_block_chain *chain,
                                      int64_t limit) {
  int64_t now = blis_radix_tree_count(tree, chain, limit);
  int64_t pages = 0;
  while (pages < limit &&
         blis_block_journal_had(tree->journal, blis_block_chain_at(chain, (uint32_t)pages),
                                pages < now)) {
    pages++;
  }
  return pages;
}

/* Creates a node with these pages that is not yet in the tree. */
static blis_status create(blis_radix_tree *tree, uint32_t count, uint32_t *number) {
  const node empty = {0};
  BLIS_TRY(blis_array_reserve(&tree->alloc, &tree->spare, tree->nodes.count + 1));
  BLIS_TRY(blis_map_reserve(&tree->heads, tree->nodes.count + 1));
  blis_block_id *ids = blis_alloc_zeroed(&tree->alloc, count, sizeof *ids);
  if (ids == NULL) {
    return BLIS_ERR_NOMEM;
  }
  if (tree->spare.count > 0) {
    *number = tree->spare.items[--tree->spare.count];
  } else {
    *number = (uint32_t)tree->nodes.count;
    if (blis_array_push(&tree->alloc, &tree->nodes, empty) != BLIS_OK) {
      blis_alloc_free(&tree->alloc, ids, count * sizeof *ids);
      return BLIS_ERR_NOMEM;
    }
  }
  tree->nodes.items[*number] = (node){.ids = ids, .count = count, .used = tree->clock};
  return BLIS_OK;
}

static void set_head(blis_radix_tree *tree, uint32_t number) {
  /* There is room for the heads of all nodes. */
  blis_status status = blis_map_put(&tree->heads, tree->nodes.items[number].ids[0], number);
  BLIS_ASSERT(status == BLIS_OK);
  (void)status;
}

/* Moves the first pages of a node into a new node, which becomes its parent. */
static blis_status split(blis_radix_tree *tree, uint32_t lower, uint32_t count, uint32_t *upper) {
  uint32_t rest = tree->nodes.items[lower].count - count;
  blis_block_id *ids = blis_alloc_zeroed(&tree->alloc, rest, sizeof *ids);
  if (ids == NULL) {
    return BLIS_ERR_NOMEM;
  }
  if (create(tree, count, upper) != BLIS_OK) {
    blis_alloc_free(&tree->alloc, ids, rest * sizeof *ids);
    return BLIS_ERR_NOMEM;
  }
  node *below = &tree->nodes.items[lower];
  node *above = &tree->nodes.items[*upper];
  memcpy(above->ids, below->ids, count * sizeof *ids);
  memcpy(ids, below->ids + count, rest * sizeof *ids);
  above->parent = below->parent;
  above->children = 1;
  above->start = below->start;
  above->locks = below->locks;
  free_ids(tree, below);
  below->ids = ids;
  below->count = rest;
  below->parent = *upper;
  below->start += count;
  set_head(tree, *upper);
  set_head(tree, lower);
  return BLIS_OK;
}

blis_status blis_radix_tree_match(blis_radix_tree *tree, const blis_block_chain *chain,
                                  int64_t limit, blis_radix_path *path) {
  uint32_t child;
  tree->clock++;
  *path = (blis_radix_path){.node = BLIS_RADIX_ROOT};
  while (path->pages < limit && find_child(tree, chain, path->pages, &child)) {
    uint32_t equal = equal_pages(&tree->nodes.items[child], chain, limit);
    tree->nodes.items[child].used = tree->clock;
    if (equal < tree->nodes.items[child].count) {
      BLIS_TRY(split(tree, child, equal, &path->node));
      path->pages += equal;
      return BLIS_OK;
    }
    path->node = child;
    path->pages += equal;
  }
  return BLIS_OK;
}

static void toggle(const blis_radix_tree *tree, const node *n) {
  for (uint32_t i = 0; i < n->count && tree->journal != NULL; i++) {
    blis_block_journal_toggle(tree->journal, n->ids[i], 1);
  }
}

blis_status blis_radix_tree_insert(blis_radix_tree *tree, const blis_block_chain *chain,
                                   int64_t pages, blis_radix_path *path, int64_t *added) {
  uint32_t number;
  *added = 0;
  BLIS_TRY(blis_radix_tree_match(tree, chain, pages, path));
  if (path->pages == pages) {
    return BLIS_OK;
  }
  BLIS_TRY(create(tree, (uint32_t)(pages - path->pages), &number));
  node *n = &tree->nodes.items[number];
  n->parent = path->node;
  n->start = path->pages;
  for (uint32_t i = 0; i < n->count; i++) {
    n->ids[i] = blis_block_chain_at(chain, (uint32_t)n->start + i);
  }
  set_head(tree, number);
  toggle(tree, n);
  tree->nodes.items[path->node].children++;
  *added = n->count;
  tree->pages += n->count;
  tree->evictable += n->count;
  *path = (blis_radix_path){.node = number, .pages = pages};
  return BLIS_OK;
}

void blis_radix_tree_lock(blis_radix_tree *tree, uint32_t number) {
  for (; number != BLIS_RADIX_ROOT; number = tree->nodes.items[number].parent) {
    node *n = &tree->nodes.items[number];
    tree->evictable -= n->locks == 0 ? n->count : 0;
    n->locks++;
  }
}

void blis_radix_tree_unlock(blis_radix_tree *tree, uint32_t number) {
  for (; number != BLIS_RADIX_ROOT; number = tree->nodes.items[number].parent) {
    node *n = &tree->nodes.items[number];
    BLIS_ASSERT(n->locks > 0);
    n->locks--;
    tree->evictable += n->locks == 0 ? n->count : 0;
  }
}

static bool can_go(const node *n) {
  return n->ids != NULL && n->children == 0 && n->locks == 0;
}

/* Defines the order of eviction. Nodes used by the same operation are ordered by index. */
static bool goes_before(const blis_radix_tree *tree, uint32_t a, uint32_t b) {
  uint64_t used_a = tree->nodes.items[a].used;
  uint64_t used_b = tree->nodes.items[b].used;
  return used_a != used_b ? used_a < used_b : a < b;
}

/* There is room for all nodes. */
static void push_leaf(blis_radix_tree *tree, uint32_t number) {
  uint32_t *heap = tree->heap.items;
  size_t i = tree->heap.count++;
  for (; i > 0 && goes_before(tree, number, heap[(i - 1) / 2]); i = (i - 1) / 2) {
    heap[i] = heap[(i - 1) / 2];
  }
  heap[i] = number;
}

static uint32_t pop_leaf(blis_radix_tree *tree) {
  uint32_t *heap = tree->heap.items;
  uint32_t first = heap[0];
  uint32_t last = heap[--tree->heap.count];
  size_t count = tree->heap.count;
  size_t i = 0;
  for (size_t child = 1; child < count; child = 2 * i + 1) {
    child += child + 1 < count && goes_before(tree, heap[child + 1], heap[child]);
    if (!goes_before(tree, heap[child], last)) {
      break;
    }
    heap[i] = heap[child];
    i = child;
  }
  heap[i] = last;
  return first;
}

static void remove_leaf(blis_radix_tree *tree, uint32_t number) {
  node *n = &tree->nodes.items[number];
  toggle(tree, n);
  blis_map_remove(&tree->heads, n->ids[0]);
  tree->nodes.items[n->parent].children--;
  tree->pages -= n->count;
  tree->evictable -= n->count;
  free_ids(tree, n);
  tree->spare.items[tree->spare.count++] = number;
}

blis_status blis_radix_tree_evict(blis_radix_tree *tree, int64_t pages, int64_t *evicted) {
  *evicted = 0;
  if (tree->evictable == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_reserve(&tree->alloc, &tree->heap, tree->nodes.count));
  tree->heap.count = 0;
  for (uint32_t i = 0; i < tree->nodes.count; i++) {
    if (can_go(&tree->nodes.items[i])) {
      push_leaf(tree, i);
    }
  }
  while (*evicted < pages && tree->heap.count > 0) {
    uint32_t leaf = pop_leaf(tree);
    uint32_t parent = tree->nodes.items[leaf].parent;
    *evicted += tree->nodes.items[leaf].count;
    remove_leaf(tree, leaf);
    if (can_go(&tree->nodes.items[parent])) {
      push_leaf(tree, parent);
    }
  }
  return BLIS_OK;
}

int64_t blis_radix_tree_pages(const blis_radix_tree *tree) {
  return tree->pages;
}

int64_t blis_radix_tree_evictable(const blis_radix_tree *tree) {
  return tree->evictable;
}

uint32_t blis_radix_tree_parent(const blis_radix_tree *tree, uint32_t number) {
  return tree->nodes.items[number].parent;
}

uint32_t blis_radix_tree_depth(const blis_radix_tree *tree, uint32_t number) {
  uint32_t depth = 0;
  for (; number != BLIS_RADIX_ROOT; number = tree->nodes.items[number].parent) {
    depth++;
  }
  return depth;
}

uint32_t blis_radix_tree_nodes(const blis_radix_tree *tree) {
  return (uint32_t)tree->nodes.count;
}

void blis_radix_tree_clear(blis_radix_tree *tree) {
  for (uint32_t i = 1; i < tree->nodes.count; i++) {
    node *n = &tree->nodes.items[i];
    if (n->ids != NULL) {
      BLIS_ASSERT(n->locks == 0);
      toggle(tree, n);
      free_ids(tree, n);
      tree->spare.items[tree->spare.count++] = i;
    }
  }
  blis_map_clear(&tree->heads);
  tree->nodes.items[BLIS_RADIX_ROOT].children = 0;
  tree->pages = 0;
  tree->evictable = 0;
}

void blis_radix_tree_set_journal(blis_radix_tree *tree, blis_block_journal *journal) {
  tree->journal = journal;
}

static bool is_sound(const blis_radix_tree *tree, uint32_t number) {
  const node *n = &tree->nodes.items[number];
  const node *parent = &tree->nodes.items[n->parent];
  uint64_t head;
  return n->count > 0 && n->locks >= 0 && n->used <= tree->clock &&
         blis_map_get(&tree->heads, n->ids[0], &head) && head == number &&
         n->start == parent->start + parent->count &&
         (n->parent == BLIS_RADIX_ROOT || (parent->ids != NULL && parent->locks >= n->locks));
}

bool blis_radix_tree_check(const blis_radix_tree *tree) {
  int64_t pages = 0;
  int64_t evictable = 0;
  int64_t children = 0;
  int64_t counted = tree->nodes.items[BLIS_RADIX_ROOT].children;
  size_t used = 0;
  for (uint32_t i = 1; i < tree->nodes.count; i++) {
    const node *n = &tree->nodes.items[i];
    if (n->ids == NULL) {
      continue;
    }
    if (!is_sound(tree, i)) {
      return false;
    }
    used++;
    children++;
    counted += n->children;
    pages += n->count;
    evictable += n->locks == 0 ? n->count : 0;
  }
  return pages == tree->pages && evictable == tree->evictable && children == counted &&
         used == blis_map_count(&tree->heads) && used + tree->spare.count + 1 == tree->nodes.count;
}
