#include "policy/memory/holders.h"

#include <string.h>

#include "base/invariant.h"

uint64_t *blis__holders_find(const blis__holders *holders, const blis__span_store *store,
                             uint32_t instance) {
  uint64_t *items = blis__holders_items(holders, store);
  for (uint32_t i = 0; i < holders->count; i++) {
    if (blis__holder_instance(items[i]) == instance) {
      return &items[i];
    }
  }
  return NULL;
}

/* Moves the list into a span that fits count words. */
static void resize(blis__holders *holders, blis__span_store *store, uint32_t count) {
  uint32_t span = blis__span_take(store, count);
  if (holders->capacity > 0) {
    memcpy(blis__span_words(store, span), blis__span_words(store, holders->span),
           holders->count * sizeof(uint64_t));
    blis__span_give(store, holders->span, holders->capacity);
  }
  holders->span = span;
  holders->capacity = (uint32_t)blis__span_size(count);
}

void blis__holders_add(blis__holders *holders, blis__span_store *store, uint32_t instance,
                       uint32_t entry) {
  uint32_t needed = holders->count + 1;
  if (needed > holders->capacity || needed <= holders->capacity / 4) {
    resize(holders, store, needed);
  }
  blis__holders_items(holders, store)[holders->count] = (uint64_t)instance << 32 | entry;
  holders->count = needed;
  BLIS_ASSERT(holders->count <= holders->capacity);
}

void blis__holders_remove(blis__holders *holders, blis__span_store *store, uint32_t instance) {
  uint64_t *word = blis__holders_find(holders, store, instance);
  BLIS_ASSERT(word != NULL);
  *word = blis__holders_items(holders, store)[--holders->count];
  if (holders->count == 0) {
    blis__span_give(store, holders->span, holders->capacity);
    *holders = (blis__holders){0};
  }
}
