#include "policy/memory/recent.h"

#include <string.h>

#include "base/invariant.h"

void blis__recent_deinit(const blis_alloc *alloc, blis__recent *recent) {
  blis_array_deinit(alloc, &recent->items);
  recent->first = 0;
}

enum { FIRST_ITEMS = 64 };

/* Removes expired items before memory grows. */
static void close_up(blis__recent *recent) {
  size_t left = blis__recent_count(recent);
  if (recent->first > 0 && left > 0) {
    memmove(recent->items.items, recent->items.items + recent->first,
            left * sizeof *recent->items.items);
  }
  recent->items.count = left;
  recent->first = 0;
}

blis_status blis__recent_add(const blis_alloc *alloc, blis__recent *recent,
                             const blis__recent_item *item) {
  bool is_full = recent->items.count == recent->items.capacity;
  if (is_full && recent->first >= recent->items.count - recent->items.count / 2) {
    close_up(recent);
  }
  BLIS_TRY(blis_array_reserve(alloc, &recent->items, FIRST_ITEMS));
  return blis_array_push(alloc, &recent->items, *item);
}

bool blis__recent_expire(blis__recent *recent, int64_t before_us, blis__recent_item *item) {
  if (blis__recent_count(recent) == 0 || blis__recent_at(recent, 0)->at_us >= before_us) {
    return false;
  }
  *item = *blis__recent_at(recent, 0);
  recent->first++;
  BLIS_ASSERT(recent->first <= recent->items.count);
  return true;
}
