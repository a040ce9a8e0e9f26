#include "instance/finish_heap.h"
#include "base/invariant.h"

static bool is_before(const finish_slot *a, const finish_slot *b) {
  return a->step != b->step ? a->step < b->step : a->order < b->order;
}

static void place(finish_heap *heap, size_t i, finish_slot slot) {
  heap->slots.items[i] = slot;
  slot.entry->index = i;
}

static void sift_up(finish_heap *heap, size_t i, finish_slot slot) {
  while (i > 0 && is_before(&slot, &heap->slots.items[(i - 1) / 2])) {
    place(heap, i, heap->slots.items[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
  place(heap, i, slot);
}

static void sift_down(finish_heap *heap, size_t i, finish_slot slot) {
  const finish_slot *slots = heap->slots.items;
  size_t count = heap->slots.count;
  for (size_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
    if (child + 1 < count && is_before(&slots[child + 1], &slots[child])) {
      child++;
    }
    if (!is_before(&slots[child], &slot)) {
      break;
    }
    place(heap, i, slots[child]);
    i = child;
  }
  place(heap, i, slot);
}

blis_status blis__finish_heap_add(const blis_alloc *alloc, finish_heap *heap, finish_entry *entry) {
  finish_slot slot = {entry->step, entry->order, entry};
  BLIS_TRY(blis_array_push(alloc, &heap->slots, slot));
  sift_up(heap, heap->slots.count - 1, slot);
  return BLIS_OK;
}

void blis__finish_heap_remove(finish_heap *heap, finish_entry *entry) {
  size_t i = entry->index;
  BLIS_ASSERT(i < heap->slots.count && heap->slots.items[i].entry == entry);
  finish_slot last = heap->slots.items[--heap->slots.count];
  if (last.entry == entry) {
    return;
  }
  if (i > 0 && is_before(&last, &heap->slots.items[(i - 1) / 2])) {
    sift_up(heap, i, last);
  } else {
    sift_down(heap, i, last);
  }
}

void blis__finish_heap_postpone(finish_heap *heap, finish_entry *entry) {
  BLIS_ASSERT(entry->step >= heap->slots.items[entry->index].step);
  sift_down(heap, entry->index, (finish_slot){entry->step, entry->order, entry});
}

bool blis__finish_heap_check(const finish_heap *heap) {
  for (size_t i = 0; i < heap->slots.count; i++) {
    const finish_slot *slot = &heap->slots.items[i];
    if (slot->entry->index != i || slot->entry->step != slot->step) {
      return false;
    }
    if (i > 0 && is_before(slot, &heap->slots.items[(i - 1) / 2])) {
      return false;
    }
  }
  return true;
}
