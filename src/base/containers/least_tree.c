#include "base/containers/least_tree.h"

#include "base/invariant.h"

/* Summary of the items below a node; tied is 0 if there are no items. */
typedef struct node {
  double least;
  uint32_t tied;
  uint32_t lowest; /* item with the lowest rank */
} node;

/*
 * leaf_count is a power of two. nodes[leaf_count + i] belongs to item i, and nodes[j] summarizes
 * nodes[2j] and nodes[2j + 1], for 1 <= j.
 */
struct blis_least_tree {
  blis_alloc alloc;
  const uint32_t *ranks;
  node *nodes; /* 2 * leaf_count nodes; the first is unused */
  uint32_t leaf_count;
};

static node sum_of(const blis_least_tree *tree, uint32_t index) {
  const node *left = &tree->nodes[2 * (size_t)index];
  const node *right = left + 1;
  if (right->tied == 0 || left->least < right->least) {
    return *left;
  }
  if (right->least < left->least) {
    return *right;
  }
  bool goes_left = tree->ranks[left->lowest] < tree->ranks[right->lowest];
  return (node){.least = left->least,
                .tied = left->tied + right->tied,
                .lowest = goes_left ? left->lowest : right->lowest};
}

static bool is_same(const node *a, const node *b) {
  return a->least == b->least && a->tied == b->tied && a->lowest == b->lowest;
}

blis_least_tree *blis_least_tree_new(const blis_alloc *alloc, const uint32_t *ranks,
                                     uint32_t count) {
  BLIS_ASSERT(count >= 1 && count <= UINT32_MAX / 4);
  blis_least_tree *tree = blis_alloc_new(alloc, sizeof *tree);
  if (tree == NULL) {
    return NULL;
  }
  *tree = (blis_least_tree){.alloc = *alloc, .ranks = ranks, .leaf_count = 1};
  while (tree->leaf_count < count) {
    tree->leaf_count *= 2;
  }
  tree->nodes = blis_alloc_zeroed(alloc, 2 * (size_t)tree->leaf_count, sizeof(node));
  if (tree->nodes == NULL) {
    blis_alloc_free(alloc, tree, sizeof *tree);
    return NULL;
  }
  for (uint32_t i = 0; i < count; i++) {
    tree->nodes[tree->leaf_count + i] = (node){.tied = 1, .lowest = i};
  }
  for (uint32_t i = tree->leaf_count - 1; i >= 1; i--) {
    tree->nodes[i] = sum_of(tree, i);
  }
  return tree;
}

void blis_least_tree_free(blis_least_tree *tree) {
  if (tree != NULL) {
    blis_alloc alloc = tree->alloc;
    blis_alloc_free(&alloc, tree->nodes, 2 * (size_t)tree->leaf_count * sizeof(node));
    blis_alloc_free(&alloc, tree, sizeof *tree);
  }
}

void blis_least_tree_set(blis_least_tree *tree, uint32_t item, double value) {
  uint32_t index = tree->leaf_count + item;
  if (tree->nodes[index].least == value) {
    return;
  }
  tree->nodes[index].least = value;
  for (index /= 2; index >= 1; index /= 2) {
    node sum = sum_of(tree, index);
    if (is_same(&sum, &tree->nodes[index])) {
      return;
    }
    tree->nodes[index] = sum;
  }
}

uint32_t blis_least_tree_tied(const blis_least_tree *tree) {
  return tree->nodes[1].tied;
}

uint32_t blis_least_tree_lowest(const blis_least_tree *tree) {
  return tree->nodes[1].lowest;
}

uint32_t blis_least_tree_nth(const blis_least_tree *tree, uint32_t n) {
  BLIS_ASSERT(n < tree->nodes[1].tied);
  double least = tree->nodes[1].least;
  uint32_t index = 1;
  while (index < tree->leaf_count) {
    const node *left = &tree->nodes[2 * (size_t)index];
    uint32_t tied = left->least == least ? left->tied : 0;
    bool goes_left = n < tied;
    n -= goes_left ? 0 : tied;
    index = 2 * index + (goes_left ? 0 : 1);
  }
  return index - tree->leaf_count;
}

bool blis_least_tree_check(const blis_least_tree *tree) {
  for (uint32_t i = 1; i < tree->leaf_count; i++) {
    node sum = sum_of(tree, i);
    if (!is_same(&sum, &tree->nodes[i])) {
      return false;
    }
  }
  return true;
}
