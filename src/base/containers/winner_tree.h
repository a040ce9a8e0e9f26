/*
 * winner_tree.h - the earliest next event of many owners.
 *
 * Every owner (such as an instance) has one pending time or none; the lowest owner wins a tie. The
 * tree is a tournament over one 64-bit key per owner, with the keys in the inner nodes. Setting a
 * time takes log2(owners) steps without branches that could be mispredicted: about 10 ns for a
 * thousand owners.
 *
 * A key has the time in its upper bits and the owner in its lower bits. The owner takes as few bits
 * as the number of owners needs. Times too large for the upper bits (with 1024 owners, past 2^54 us
 * = 570 years) permanently switch the tree to a slower form without limits, so every time is
 * allowed.
 */
#ifndef BLIS_BASE_CONTAINERS_WINNER_TREE_H
#define BLIS_BASE_CONTAINERS_WINNER_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

#define BLIS_WINNER_TREE_OWNERS_MAX (UINT32_C(1) << 24)

typedef struct blis_winner_tree blis_winner_tree;

/*
 * Creates a tree of owners 0 to owner_count - 1, all without a time. Copies *alloc. NULL = out of
 * memory. owner_count <= BLIS_WINNER_TREE_OWNERS_MAX.
 */
blis_winner_tree *blis_winner_tree_new(const blis_alloc *alloc, uint32_t owner_count);

/* NULL is allowed. */
void blis_winner_tree_free(blis_winner_tree *tree);

/* Sets an owner's time, >= 0; BLIS_TIME_NEVER_US is the same as clear. */
void blis_winner_tree_set(blis_winner_tree *tree, uint32_t owner, int64_t time_us);

/* Clears an owner's time. */
void blis_winner_tree_clear(blis_winner_tree *tree, uint32_t owner);

/* Returns an owner's time; BLIS_TIME_NEVER_US if it has none. */
int64_t blis_winner_tree_time_us(const blis_winner_tree *tree, uint32_t owner);

/* Stores the earliest time and its owner. Returns false if no owner has a time. */
bool blis_winner_tree_min(const blis_winner_tree *tree, uint32_t *owner, int64_t *time_us);

/* Returns the earliest time; BLIS_TIME_NEVER_US if no owner has a time. */
int64_t blis_winner_tree_min_us(const blis_winner_tree *tree);

/* Walks the tree, O(owners). Returns whether every invariant holds. */
bool blis_winner_tree_check(const blis_winner_tree *tree);

#endif
