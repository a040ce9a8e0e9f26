/*
 * finish_heap.h - the decode that completes next: a heap of (step, order).
 *
 * Entries live inside their owners, which know their place, so any of them
 * can be taken out or moved. O(log n), no allocation beyond growth. (A ring of
 * buckets by step would be O(1), but its size is that of the longest output.)
 */
#ifndef BLIS_INSTANCE_FINISH_HEAP_H
#define BLIS_INSTANCE_FINISH_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"

typedef struct finish_entry {
  int64_t step;
  uint64_t order; /* among entries of one step */
  size_t index;   /* kept by the heap */
} finish_entry;

/* A copy of the key beside the pointer, so that sifting reads one array. */
typedef struct finish_slot {
  int64_t step;
  uint64_t order;
  finish_entry *entry;
} finish_slot;

typedef struct finish_heap {
  BLIS_ARRAY(finish_slot) slots;
} finish_heap;

/* BLIS_ERR_NOMEM leaves the heap as it was. */
BLIS_MUSTUSE blis_status blis__finish_heap_add(const blis_alloc *alloc, finish_heap *heap,
                                               finish_entry *entry);

/* entry is in the heap. */
void blis__finish_heap_remove(finish_heap *heap, finish_entry *entry);

/* After entry->step has grown. */
void blis__finish_heap_postpone(finish_heap *heap, finish_entry *entry);

/* NULL when empty. */
static inline finish_entry *blis__finish_heap_first(const finish_heap *heap) {
  return heap->slots.count == 0 ? NULL : heap->slots.items[0].entry;
}

/* Every parent before its children, every index right. */
bool blis__finish_heap_check(const finish_heap *heap);

#endif
