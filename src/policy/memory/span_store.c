#include "policy/memory/span_store.h"

#include "base/invariant.h"

enum { FIRST_WORDS = 256 };

static unsigned class_of(size_t count) {
  unsigned span_class = 0;
  while (((size_t)1 << span_class) < count) {
    span_class++;
  }
  return span_class;
}

void blis__span_store_init(blis__span_store *store, const blis_alloc *alloc) {
  *store = (blis__span_store){.alloc = *alloc};
  for (int i = 0; i < BLIS__SPAN_CLASSES; i++) {
    store->free_spans[i] = BLIS__SPAN_NONE;
  }
}

void blis__span_store_deinit(blis__span_store *store) {
  blis_alloc alloc = store->alloc;
  blis_alloc_free(&alloc, store->words, store->capacity * sizeof *store->words);
  blis__span_store_init(store, &alloc);
}

size_t blis__span_size(size_t count) {
  return (size_t)1 << class_of(count);
}

blis_status blis__span_store_reserve(blis__span_store *store, size_t size) {
  if (size <= store->capacity - store->used) {
    return BLIS_OK;
  }
  size_t capacity = store->capacity == 0 ? FIRST_WORDS : store->capacity;
  while (capacity - store->used < size) {
    capacity *= 2;
    if (capacity >= BLIS__SPAN_NONE) {
      return BLIS_ERR_NOMEM;
    }
  }
  uint64_t *words = store->alloc.fn(
      store->alloc.ud, store->words,
      store->words == NULL ? 0 : store->capacity * sizeof *store->words, capacity * sizeof *words);
  if (words == NULL) {
    return BLIS_ERR_NOMEM;
  }
  store->words = words;
  store->capacity = capacity;
  return BLIS_OK;
}

uint32_t blis__span_take(blis__span_store *store, size_t count) {
  unsigned span_class = class_of(count);
  uint32_t span = store->free_spans[span_class];
  if (span != BLIS__SPAN_NONE) {
    store->free_spans[span_class] = (uint32_t)store->words[span];
    return span;
  }
  BLIS_ASSERT(store->capacity - store->used >= (size_t)1 << span_class);
  span = (uint32_t)store->used;
  store->used += (size_t)1 << span_class;
  return span;
}

void blis__span_give(blis__span_store *store, uint32_t span, size_t count) {
  unsigned span_class = class_of(count);
  BLIS_ASSERT(span + ((size_t)1 << span_class) <= store->used);
  BLIS_ASSERT(span != store->free_spans[span_class]); /* already free */
  store->words[span] = store->free_spans[span_class];
  store->free_spans[span_class] = span;
}
