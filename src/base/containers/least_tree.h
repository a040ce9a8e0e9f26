/*
 * least_tree.h - the minimum of many numbers, when few of them change at a time.
 *
 * A tournament: every inner node stores the least number below it, how many items have it, and
 * which of these items has the lowest rank. Setting a number takes at most log2(items) steps and
 * stops at the first unchanged node. A query is O(1), or O(log items) for the n-th.
 */
#ifndef BLIS_BASE_CONTAINERS_LEAST_TREE_H
#define BLIS_BASE_CONTAINERS_LEAST_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"

typedef struct blis_least_tree blis_least_tree;

/*
 * Creates a tree of items 0 to count - 1, all with number 0; count >= 1. Copies *alloc. Borrows
 * ranks, one per item and all distinct. NULL = out of memory.
 */
blis_least_tree *blis_least_tree_new(const blis_alloc *alloc, const uint32_t *ranks,
                                     uint32_t count);

/* NULL is allowed. */
void blis_least_tree_free(blis_least_tree *tree);

/* value is not NaN. */
void blis_least_tree_set(blis_least_tree *tree, uint32_t item, double value);

/* Returns how many items have the least number. */
uint32_t blis_least_tree_tied(const blis_least_tree *tree);

/* Returns the item with the lowest rank among the least numbers. */
uint32_t blis_least_tree_lowest(const blis_least_tree *tree);

/* Returns the n-th item with the least number, in the order of items, from 0; n < tied. */
uint32_t blis_least_tree_nth(const blis_least_tree *tree, uint32_t n);

/* Walks the tree, O(items). Returns whether every invariant holds. */
bool blis_least_tree_check(const blis_least_tree *tree);

#endif
