/*
 * span_store.h - many short arrays of 64-bit words in one block of memory.
 *
 * A span is identified by its offset, so the block may move when it grows. Spans are rounded up to
 * a power of two; a returned span is reused for the next span of its size. Taking and returning are
 * O(1) and cannot fail, because blis__span_store_reserve allocates in advance. Callers therefore
 * change either everything or nothing.
 */
#ifndef BLIS_POLICY_MEMORY_SPAN_STORE_H
#define BLIS_POLICY_MEMORY_SPAN_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

#define BLIS__SPAN_NONE UINT32_MAX

enum { BLIS__SPAN_CLASSES = 32 };

typedef struct blis__span_store {
  blis_alloc alloc;
  uint64_t *words;
  size_t used;
  size_t capacity;
  uint32_t free_spans[BLIS__SPAN_CLASSES]; /* linked through their words[0] */
} blis__span_store;

/* Copies *alloc; allocates nothing yet. */
void blis__span_store_init(blis__span_store *store, const blis_alloc *alloc);
void blis__span_store_deinit(blis__span_store *store);

/* Returns the number of words that a span of count words occupies. */
size_t blis__span_size(size_t count);

/* Reserves space for spans with a total of size words, where each span's size is rounded by
   blis__span_size. */
BLIS_MUSTUSE blis_status blis__span_store_reserve(blis__span_store *store, size_t size);

/* Returns a span of count >= 1 undefined words from the reserved space. */
uint32_t blis__span_take(blis__span_store *store, size_t count);

/* Returns a span that was taken with this count. */
void blis__span_give(blis__span_store *store, uint32_t span, size_t count);

/* Returns the words of a span, valid until the next reserve. */
static inline uint64_t *blis__span_words(const blis__span_store *store, uint32_t span) {
  return store->words + span;
}

#endif
