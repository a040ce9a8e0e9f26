#include "instance/fast/finish_heap.h"

void blis__finish_heap_sift_down(finish_heap *heap, size_t i, finish_slot slot) {
  const finish_slot *slots = heap->slots.items;
  size_t count = heap->slots.count;
  for (size_t child = 2 * i + 1; child < count; child = 2 * i + 1) {
    if (child + 1 < count && blis__finish_is_before(&slots[child + 1], &slots[child])) {
      child++;
    }
    if (!blis__finish_is_before(&slots[child], &slot)) {
      break;
    }
    blis__finish_heap_place(heap, i, slots[child]);
    i = child;
  }
  blis__finish_heap_place(heap, i, slot);
}

void blis__finish_heap_postpone(finish_heap *heap, finish_entry *entry) {
  BLIS_ASSERT(entry->step >= heap->slots.items[entry->index].step);
  blis__finish_heap_sift_down(heap, entry->index, (finish_slot){entry->step, entry->order, entry});
}

bool blis__finish_heap_check(const finish_heap *heap) {
  for (size_t i = 0; i < heap->slots.count; i++) {
    const finish_slot *slot = &heap->slots.items[i];
    if (slot->entry->index != i || slot->entry->step != slot->step) {
      return false;
    }
    if (i > 0 && blis__finish_is_before(slot, &heap->slots.items[(i - 1) / 2])) {
      return false;
    }
  }
  return true;
}
