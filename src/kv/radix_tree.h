/*
 * radix_tree.h - cached prefixes as a tree whose nodes are locked by requests and evicted as a
 * whole.
 *
 * Follows the radix cache of SGLang (radix_cache.py, 006b0e3). A node is a sequence of pages that
 * follows the pages of its parent. A match that ends inside a node splits it. A lock counts on all
 * nodes of a path, and a locked node cannot be evicted. Eviction removes whole leaves without
 * locks, the least recently used leaf first. A parent that loses its last child becomes a leaf.
 *
 * The tree only counts pages and has no limit of its own; its owner enforces the capacity. A page
 * is a block of a chain (block_chain.h).
 *
 * Main invariant: the nodes have blis_radix_tree_pages pages in total, the nodes without locks have
 * blis_radix_tree_evictable pages, and each node has at least as many locks as each of its
 * children.
 *
 * A match or an insertion costs O(log pages) per node of the path and O(pages) for new nodes; an
 * eviction costs O(nodes).
 */
#ifndef BLIS_KV_RADIX_TREE_H
#define BLIS_KV_RADIX_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/block_chain.h"
#include "base/error.h"
#include "kv/block_journal.h"

typedef struct blis_radix_tree blis_radix_tree;

/* The node without pages; it is never evicted. */
#define BLIS_RADIX_ROOT ((uint32_t)0)

/* A path from the root: its last node, and the total number of pages of its nodes. */
typedef struct blis_radix_path {
  uint32_t node;
  int64_t pages;
} blis_radix_path;

/* Copies *alloc. Returns NULL if memory runs out. */
blis_radix_tree *blis_radix_tree_new(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_radix_tree_free(blis_radix_tree *tree);

/*
 * Returns the number of leading pages of the chain that are in the tree, at most limit. Does not
 * change the tree.
 */
int64_t blis_radix_tree_count(const blis_radix_tree *tree, const blis_block_chain *chain,
                              int64_t limit);

/*
 * Finds the path of these pages. Splits the node in which the path ends, and marks the nodes of the
 * path as just used. Returns BLIS_OK or BLIS_ERR_NOMEM; an error changes no page.
 */
BLIS_MUSTUSE blis_status blis_radix_tree_match(blis_radix_tree *tree, const blis_block_chain *chain,
                                               int64_t limit, blis_radix_path *path);

/*
 * Finds the path of the first pages pages of the chain, and adds the missing ones. Sets *added to
 * the number of added pages. Otherwise like blis_radix_tree_match.
 */
BLIS_MUSTUSE blis_status blis_radix_tree_insert(blis_radix_tree *tree,
                                                const blis_block_chain *chain, int64_t pages,
                                                blis_radix_path *path, int64_t *added);

/* Adds a lock to, or removes one from, all nodes of the path to node. */
void blis_radix_tree_lock(blis_radix_tree *tree, uint32_t node);
void blis_radix_tree_unlock(blis_radix_tree *tree, uint32_t node);

/* Evicts whole leaves until at least this number of pages has been evicted or no leaf can be
   evicted. Sets *evicted to the number of evicted pages. BLIS_ERR_NOMEM evicts nothing. */
BLIS_MUSTUSE blis_status blis_radix_tree_evict(blis_radix_tree *tree, int64_t pages,
                                               int64_t *evicted);

int64_t blis_radix_tree_pages(const blis_radix_tree *tree);
int64_t blis_radix_tree_evictable(const blis_radix_tree *tree);

/* Returns the parent of node, which must not be the root. */
uint32_t blis_radix_tree_parent(const blis_radix_tree *tree, uint32_t node);
/* Returns the number of nodes on the path to node, excluding the root. */
uint32_t blis_radix_tree_depth(const blis_radix_tree *tree, uint32_t node);
/* Returns a number that is greater than the index of every node. */
uint32_t blis_radix_tree_nodes(const blis_radix_tree *tree);

/* Removes all nodes; none may be locked. */
void blis_radix_tree_clear(blis_radix_tree *tree);

/* Like blis_block_pool_set_journal and blis_block_pool_count_at_mark, with at most limit pages. */
void blis_radix_tree_set_journal(blis_radix_tree *tree, blis_block_journal *journal);
int64_t blis_radix_tree_count_at_mark(const blis_radix_tree *tree, const blis_block_chain *chain,
                                      int64_t limit);

/* Checks the whole tree. Returns true if all invariants hold. */
bool blis_radix_tree_check(const blis_radix_tree *tree);

#endif
