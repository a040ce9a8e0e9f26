/*
 * holders.h - the instances that hold a node of a prefix index.
 *
 * A list of words in a span store: the instance, whether it holds the whole node, and the index of
 * its entry. The list is searched linearly, which is faster than any table for up to a few hundred
 * instances.
 */
#ifndef BLIS_POLICY_MEMORY_HOLDERS_H
#define BLIS_POLICY_MEMORY_HOLDERS_H

#include <stdint.h>

#include "policy/memory/span_store.h"

#define BLIS__HOLDS_ALL ((uint64_t)1 << 63)

/* A zeroed struct is an empty list. */
typedef struct blis__holders {
  uint32_t span;
  uint32_t capacity;
  uint32_t count;
} blis__holders;

static inline uint32_t blis__holder_instance(uint64_t word) {
  return (uint32_t)((word & ~BLIS__HOLDS_ALL) >> 32);
}

static inline uint32_t blis__holder_entry(uint64_t word) {
  return (uint32_t)word;
}

/* Returns items[0 .. count), valid until the store grows. */
static inline uint64_t *blis__holders_items(const blis__holders *holders,
                                            const blis__span_store *store) {
  return blis__span_words(store, holders->span);
}

/* Returns the word of an instance, or NULL if it is not in the list. */
uint64_t *blis__holders_find(const blis__holders *holders, const blis__span_store *store,
                             uint32_t instance);

/*
 * Appends an instance that is not in the list and does not hold the whole node. Takes at most one
 * span of count + 1 words.
 */
void blis__holders_add(blis__holders *holders, blis__span_store *store, uint32_t instance,
                       uint32_t entry);

/* Removes an existing instance; the last one frees the memory. */
void blis__holders_remove(blis__holders *holders, blis__span_store *store, uint32_t instance);

#endif
