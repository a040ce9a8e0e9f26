#include "base/containers/node_heap.h"

static bool is_before(const blis_heap_node *a, const blis_heap_node *b) {
  return a->key != b->key ? a->key < b->key : a->sequence < b->sequence;
}

static void put(blis_node_heap *heap, size_t place, blis_heap_node *node) {
  heap->nodes.items[place] = node;
  node->place = place;
}

static void move_up(blis_node_heap *heap, blis_heap_node *node) {
  size_t place = node->place;
  while (place > 0) {
    size_t parent = (place - 1) / 2;
    if (!is_before(node, heap->nodes.items[parent])) {
      break;
    }
    put(heap, place, heap->nodes.items[parent]);
    place = parent;
  }
  put(heap, place, node);
}

static void move_down(blis_node_heap *heap, blis_heap_node *node) {
  size_t place = node->place;
  size_t count = heap->nodes.count;
  for (;;) {
    size_t child = 2 * place + 1;
    if (child >= count) {
      break;
    }
    blis_heap_node **nodes = heap->nodes.items;
    if (child + 1 < count && is_before(nodes[child + 1], nodes[child])) {
      child++;
    }
    if (!is_before(nodes[child], node)) {
      break;
    }
    put(heap, place, nodes[child]);
    place = child;
  }
  put(heap, place, node);
}

blis_status blis_node_heap_add(blis_node_heap *heap, const blis_alloc *alloc,
                               blis_heap_node *node) {
  BLIS_TRY(blis_array_push(alloc, &heap->nodes, node));
  node->place = heap->nodes.count - 1;
  move_up(heap, node);
  return BLIS_OK;
}

void blis_node_heap_update(blis_node_heap *heap, blis_heap_node *node) {
  move_up(heap, node);
  move_down(heap, node);
}

void blis_node_heap_remove(blis_node_heap *heap, blis_heap_node *node) {
  blis_heap_node *last = heap->nodes.items[--heap->nodes.count];
  if (last != node) {
    put(heap, node->place, last);
    blis_node_heap_update(heap, last);
  }
}

void blis_node_heap_deinit(blis_node_heap *heap, const blis_alloc *alloc) {
  blis_array_deinit(alloc, &heap->nodes);
}
