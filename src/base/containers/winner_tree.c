#include "base/containers/winner_tree.h"

#include <string.h>

#include "base/invariant.h"
#include "base/time.h"

/* The key of an owner without a time. */
#define NO_KEY UINT64_MAX

/*
 * leaf_count is a power of two. nodes[leaf_count + i] belongs to owner i and
 * nodes[j] is the smaller of nodes[2j] and nodes[2j + 1], for 1 <= j.
 *
 * In the narrow form, a node is a key (time << owner_bits | owner). The wide form is used after a
 * time was too large for a key. In the wide form, a node is an owner, times_us contains the times,
 * and "smaller" compares times first, then owners.
 */
struct blis_winner_tree {
  blis_alloc alloc;
  uint64_t *nodes;   /* 2 * leaf_count nodes; the first is unused */
  int64_t *times_us; /* leaf_count times; valid only in the wide form */
  uint32_t leaf_count;
  uint32_t owner_count;
  unsigned owner_bits;
  bool is_wide;
};

static uint64_t *new_nodes(const blis_alloc *alloc, uint32_t leaf_count) {
  return blis_alloc_new(alloc, (size_t)leaf_count * 2 * sizeof(uint64_t));
}

static int64_t *new_times(const blis_alloc *alloc, uint32_t leaf_count) {
  return blis_alloc_new(alloc, (size_t)leaf_count * sizeof(int64_t));
}

static void free_arrays(const blis_winner_tree *tree) {
  blis_alloc_free(&tree->alloc, tree->nodes, (size_t)tree->leaf_count * 2 * sizeof *tree->nodes);
  blis_alloc_free(&tree->alloc, tree->times_us, (size_t)tree->leaf_count * sizeof *tree->times_us);
}

/* Sets the shape of a tree for a number of owners, without its arrays. */
static void set_shape(blis_winner_tree *tree, uint32_t owner_count) {
  tree->owner_count = owner_count;
  tree->leaf_count = 1;
  tree->owner_bits = 0;
  while (tree->leaf_count < owner_count) {
    tree->leaf_count *= 2;
    tree->owner_bits++;
  }
}

/* Allocates the arrays for the shape of the tree. No owner has a time. */
static blis_status make_arrays(blis_winner_tree *tree) {
  tree->nodes = new_nodes(&tree->alloc, tree->leaf_count);
  tree->times_us = new_times(&tree->alloc, tree->leaf_count);
  if (tree->nodes == NULL || tree->times_us == NULL) {
    free_arrays(tree);
    return BLIS_ERR_NOMEM;
  }
  tree->is_wide = false;
  for (uint32_t i = 0; i < tree->leaf_count * 2; i++) {
    tree->nodes[i] = NO_KEY;
  }
  return BLIS_OK;
}

blis_winner_tree *blis_winner_tree_new(const blis_alloc *alloc, uint32_t owner_count) {
  BLIS_ASSERT(owner_count <= BLIS_WINNER_TREE_OWNERS_MAX);
  blis_winner_tree *tree = blis_alloc_zeroed(alloc, 1, sizeof *tree);
  if (tree == NULL) {
    return NULL;
  }
  tree->alloc = *alloc;
  set_shape(tree, owner_count);
  if (make_arrays(tree) != BLIS_OK) {
    blis_alloc_free(alloc, tree, sizeof *tree);
    return NULL;
  }
  return tree;
}

void blis_winner_tree_free(blis_winner_tree *tree) {
  if (tree != NULL) {
    blis_alloc alloc = tree->alloc;
    free_arrays(tree);
    blis_alloc_free(&alloc, tree, sizeof *tree);
  }
}

static void climb_narrow(uint64_t *nodes, size_t i, uint64_t key) {
  if (nodes[i] == key) {
    return;
  }
  nodes[i] = key;
  while (i > 1) {
    uint64_t other = nodes[i ^ 1];
    key = other < key ? other : key;
    i /= 2;
    nodes[i] = key;
  }
}

/* Returns the owner with the earlier time, in the wide form. */
static uint64_t earlier(const int64_t *times_us, uint64_t a, uint64_t b) {
  if (times_us[a] != times_us[b]) {
    return times_us[a] < times_us[b] ? a : b;
  }
  return a < b ? a : b;
}

static void climb_wide(blis_winner_tree *tree, uint32_t owner) {
  uint64_t *nodes = tree->nodes;
  for (size_t i = ((size_t)tree->leaf_count + owner) / 2; i > 0; i /= 2) {
    nodes[i] = earlier(tree->times_us, nodes[2 * i], nodes[2 * i + 1]);
  }
}

/* Returns a leaf's time in the narrow form. */
static int64_t narrow_time_us(const blis_winner_tree *tree, uint64_t key) {
  return key == NO_KEY ? BLIS_TIME_NEVER_US : (int64_t)(key >> tree->owner_bits);
}

static void widen(blis_winner_tree *tree) {
  size_t leaf_count = tree->leaf_count;
  for (size_t i = 0; i < leaf_count; i++) {
    tree->times_us[i] = narrow_time_us(tree, tree->nodes[leaf_count + i]);
    tree->nodes[leaf_count + i] = i;
  }
  for (size_t i = leaf_count - 1; i > 0; i--) {
    tree->nodes[i] = earlier(tree->times_us, tree->nodes[2 * i], tree->nodes[2 * i + 1]);
  }
  tree->is_wide = true;
}

static void set_wide(blis_winner_tree *tree, uint32_t owner, int64_t time_us) {
  if (!tree->is_wide) {
    widen(tree);
  }
  tree->times_us[owner] = time_us;
  climb_wide(tree, owner);
}

void blis_winner_tree_set(blis_winner_tree *tree, uint32_t owner, int64_t time_us) {
  BLIS_ASSERT(owner < tree->owner_count && time_us >= 0);
  uint64_t shifted = (uint64_t)time_us << tree->owner_bits;
  /* The last time that fits is excluded, because its keys may equal NO_KEY. */
  bool fits = (uint64_t)time_us < NO_KEY >> tree->owner_bits;
  if (fits && !tree->is_wide && time_us != BLIS_TIME_NEVER_US) {
    climb_narrow(tree->nodes, (size_t)tree->leaf_count + owner, shifted | owner);
  } else if (time_us == BLIS_TIME_NEVER_US) {
    blis_winner_tree_clear(tree, owner);
  } else {
    set_wide(tree, owner, time_us);
  }
  BLIS_INVARIANT(blis_winner_tree_check(tree));
}

void blis_winner_tree_clear(blis_winner_tree *tree, uint32_t owner) {
  BLIS_ASSERT(owner < tree->owner_count);
  if (tree->is_wide) {
    set_wide(tree, owner, BLIS_TIME_NEVER_US);
  } else {
    climb_narrow(tree->nodes, (size_t)tree->leaf_count + owner, NO_KEY);
  }
}

int64_t blis_winner_tree_time_us(const blis_winner_tree *tree, uint32_t owner) {
  BLIS_ASSERT(owner < tree->owner_count);
  if (tree->is_wide) {
    return tree->times_us[owner];
  }
  return narrow_time_us(tree, tree->nodes[tree->leaf_count + owner]);
}

int64_t blis_winner_tree_min_us(const blis_winner_tree *tree) {
  uint64_t winner = tree->nodes[1];
  return tree->is_wide ? tree->times_us[winner] : narrow_time_us(tree, winner);
}

bool blis_winner_tree_min(const blis_winner_tree *tree, uint32_t *owner, int64_t *time_us) {
  int64_t min_us = blis_winner_tree_min_us(tree);
  if (min_us == BLIS_TIME_NEVER_US) {
    return false;
  }
  *owner = (uint32_t)(tree->nodes[1] & (tree->leaf_count - 1));
  *time_us = min_us;
  return true;
}

bool blis_winner_tree_check(const blis_winner_tree *tree) {
  const uint64_t *nodes = tree->nodes;
  for (size_t i = 1; i < tree->leaf_count; i++) {
    uint64_t left = nodes[2 * i];
    uint64_t right = nodes[2 * i + 1];
    uint64_t smaller = left < right ? left : right;
    if (tree->is_wide) {
      smaller = earlier(tree->times_us, left, right);
    }
    if (nodes[i] != smaller) {
      return false;
    }
  }
  return true;
}
