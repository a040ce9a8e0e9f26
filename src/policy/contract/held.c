#include "policy/contract/held.h"

void blis_held_deinit(blis_held *held, const blis_alloc *alloc) {
  blis_array_deinit(alloc, &held->items);
}

bool blis_held_add(blis_held *held, const blis_alloc *alloc, int64_t now_us, int64_t end_us,
                   int64_t value) {
  const blis_held_item item = {end_us, value};
  return end_us > now_us && blis_array_push(alloc, &held->items, item) == BLIS_OK;
}

bool blis_held_take_due(blis_held *held, int64_t now_us, int64_t *value) {
  for (size_t i = 0; i < held->items.count; i++) {
    if (held->items.items[i].end_us <= now_us) {
      *value = held->items.items[i].value;
      held->items.items[i] = held->items.items[--held->items.count];
      return true;
    }
  }
  return false;
}
