/*
 * finish_heap.h - the decode that completes next: a heap of (step, order).
 *
 * Entries are embedded in their owners and store their position, so any entry can be removed or
 * moved. Operations are O(log n) and allocate memory only for growth. (A ring of buckets by step
 * would be O(1), but as large as the longest output.)
 */
#ifndef BLIS_INSTANCE_FAST_FINISH_HEAP_H
#define BLIS_INSTANCE_FAST_FINISH_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "base/inline.h"
#include "base/invariant.h"

typedef struct finish_entry {
  int64_t step;
  uint64_t order; /* order among entries of the same step */
  size_t index;   /* position in the heap, set by the heap */
} finish_entry;

/* A copy of the key next to the pointer, so that sifting reads one array. */
typedef struct finish_slot {
  int64_t step;
  uint64_t order;
  finish_entry *entry;
} finish_slot;

typedef struct finish_heap {
  BLIS_ARRAY(finish_slot) slots;
} finish_heap;

static inline bool blis__finish_is_before(const finish_slot *a, const finish_slot *b) {
  return a->step != b->step ? a->step < b->step : a->order < b->order;
}

static inline void blis__finish_heap_place(finish_heap *heap, size_t i, finish_slot slot) {
  heap->slots.items[i] = slot;
  slot.entry->index = i;
}

static inline void blis__finish_heap_sift_up(finish_heap *heap, size_t i, finish_slot slot) {
  while (i > 0 && blis__finish_is_before(&slot, &heap->slots.items[(i - 1) / 2])) {
    blis__finish_heap_place(heap, i, heap->slots.items[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
  blis__finish_heap_place(heap, i, slot);
}

/* Moves slot from position i down to its final position. */
void blis__finish_heap_sift_down(finish_heap *heap, size_t i, finish_slot slot);

/* BLIS_ERR_NOMEM leaves the heap unchanged. */
BLIS_MUSTUSE static BLIS_ALWAYS_INLINE blis_status blis__finish_heap_add(const blis_alloc *alloc,
                                                                         finish_heap *heap,
                                                                         finish_entry *entry) {
  finish_slot slot = {entry->step, entry->order, entry};
  BLIS_TRY(blis_array_push(alloc, &heap->slots, slot));
  blis__finish_heap_sift_up(heap, heap->slots.count - 1, slot);
  return BLIS_OK;
}

/* Removes an entry of the heap. */
static BLIS_ALWAYS_INLINE void blis__finish_heap_remove(finish_heap *heap, finish_entry *entry) {
  size_t i = entry->index;
  BLIS_ASSERT(i < heap->slots.count && heap->slots.items[i].entry == entry);
  finish_slot last = heap->slots.items[--heap->slots.count];
  if (last.entry == entry) {
    return;
  }
  if (i > 0 && blis__finish_is_before(&last, &heap->slots.items[(i - 1) / 2])) {
    blis__finish_heap_sift_up(heap, i, last);
  } else {
    blis__finish_heap_sift_down(heap, i, last);
  }
}

/* Updates the heap after entry->step has increased. */
void blis__finish_heap_postpone(finish_heap *heap, finish_entry *entry);

/* Returns NULL if the heap is empty. */
static inline finish_entry *blis__finish_heap_first(const finish_heap *heap) {
  return heap->slots.count == 0 ? NULL : heap->slots.items[0].entry;
}

/* Returns whether every parent precedes its children and every index is correct. */
bool blis__finish_heap_check(const finish_heap *heap);

#endif
