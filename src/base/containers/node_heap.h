/*
 * node_heap.h - a priority queue of nodes that are embedded in their owners.
 *
 * The first node has the least (key, sequence). A node stores its position, so it can be removed,
 * or moved after its key changed, in O(log n). Pairs (key, sequence) must differ, so the order does
 * not depend on the history of the heap. A node must not move while it is in a heap. Example:
 *
 *   typedef struct entry { blis_heap_node node; ... } entry;
 */
#ifndef BLIS_BASE_CONTAINERS_NODE_HEAP_H
#define BLIS_BASE_CONTAINERS_NODE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"

typedef struct blis_heap_node {
  int64_t key;
  uint64_t sequence;
  size_t place; /* position in its heap; only the heap uses it */
} blis_heap_node;

typedef struct blis_node_heap {
  BLIS_ARRAY(blis_heap_node *) nodes;
} blis_node_heap;

void blis_node_heap_deinit(blis_node_heap *heap, const blis_alloc *alloc);

/* BLIS_ERR_NOMEM leaves the heap unchanged. */
BLIS_MUSTUSE blis_status blis_node_heap_add(blis_node_heap *heap, const blis_alloc *alloc,
                                            blis_heap_node *node);
void blis_node_heap_remove(blis_node_heap *heap, blis_heap_node *node);
/* Call it after the key or sequence of the node has changed. */
void blis_node_heap_update(blis_node_heap *heap, blis_heap_node *node);

/* NULL if the heap is empty. */
static inline blis_heap_node *blis_node_heap_first(const blis_node_heap *heap) {
  return heap->nodes.count == 0 ? NULL : heap->nodes.items[0];
}

#endif
