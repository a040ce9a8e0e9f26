/*
 * radix_tree.h - cached prefixes as a tree of nodes that requests lock and whole nodes leave.
 *
 * Follows the radix cache of SGLang (radix_cache.py, 006b0e3). A node is a sequence of pages that
 * follows the pages of its parent. A match that ends inside a node splits it. Locks count on all
 * nodes of a path, and a locked node stays. Eviction takes whole leaves without locks, the least
 * recently used one first; a parent without children becomes a leaf.
 *
 * The tree counts pages and stores nothing else: its owner knows how many there are. A page is a
 * block of a chain (block_chain.h).
 *
 * Main invariant: the sum of the pages of all nodes = blis_radix_tree_pages, of nodes without locks
 * = blis_radix_tree_evictable, and a node has at least as many locks as each of its children.
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

/* A path from the root: its last node, and the pages of all its nodes. */
typedef struct blis_radix_path {
  uint32_t node;
  int64_t pages;
} blis_radix_path;

/* Copies *alloc. Returns NULL without memory. */
blis_radix_tree *blis_radix_tree_new(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_radix_tree_free(blis_radix_tree *tree);

/* Number of leading pages of the chain, at most limit, that are in the tree. Pure. */
int64_t blis_radix_tree_count(const blis_radix_tree *tree, const blis_block_chain *chain,
                              int64_t limit);

/*
 * The path of these pages. Splits the node in which it ends, and marks its nodes as used now.
 * BLIS_OK, or BLIS_ERR_NOMEM, which changes no page.
 */
BLIS_MUSTUSE blis_status blis_radix_tree_match(blis_radix_tree *tree, const blis_block_chain *chain,
                                               int64_t limit, blis_radix_path *path);

/*
 * The path of the first pages pages of the chain, which are added where they are missing; *added
 * of them were. Otherwise as match.
 */
BLIS_MUSTUSE blis_status blis_radix_tree_insert(blis_radix_tree *tree,
                                                const blis_block_chain *chain, int64_t pages,
                                                blis_radix_path *path, int64_t *added);

/* Counts one more lock, or one less, on all nodes of the path to node. */
void blis_radix_tree_lock(blis_radix_tree *tree, uint32_t node);
void blis_radix_tree_unlock(blis_radix_tree *tree, uint32_t node);

/* Evicts whole leaves until at least this many pages have left the tree, or none can. Returns how
   many have. BLIS_ERR_NOMEM evicts nothing. */
BLIS_MUSTUSE blis_status blis_radix_tree_evict(blis_radix_tree *tree, int64_t pages,
                                               int64_t *evicted);

int64_t blis_radix_tree_pages(const blis_radix_tree *tree);
int64_t blis_radix_tree_evictable(const blis_radix_tree *tree);

/* The node that the pages of node follow. node is not the root. */
uint32_t blis_radix_tree_parent(const blis_radix_tree *tree, uint32_t node);
/* Number of nodes on the path to node, the root not counted. */
uint32_t blis_radix_tree_depth(const blis_radix_tree *tree, uint32_t node);
/* Every node is below this number. */
uint32_t blis_radix_tree_nodes(const blis_radix_tree *tree);

/* Removes all nodes; none may be locked. */
void blis_radix_tree_clear(blis_radix_tree *tree);

/* As blis_block_pool_set_journal, and blis_block_pool_count_at_mark for limit pages. */
void blis_radix_tree_set_journal(blis_radix_tree *tree, blis_block_journal *journal);
int64_t blis_radix_tree_count_at_mark(const blis_radix_tree *tree, const blis_block_chain *chain,
                                      int64_t limit);

/* Walks everything; returns true if all invariants hold. */
bool blis_radix_tree_check(const blis_radix_tree *tree);

#endif
