/*
 * sparse_bits.h - a bit set with 64-bit indexes, in which nearly all bits are 0.
 *
 * Set bits tend to be adjacent, like block identities. Each group of 64 bits is one entry of a hash
 * map. Words without a set bit take no memory. Every operation costs one table access per word.
 */
#ifndef BLIS_BASE_CONTAINERS_SPARSE_BITS_H
#define BLIS_BASE_CONTAINERS_SPARSE_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/map.h"
#include "base/error.h"

enum { BLIS_WORD_BITS = 64 };

typedef struct blis_sparse_bits {
  blis_map words; /* bit number / 64 -> bits, at least one of them set */
  size_t count;   /* number of set bits */
} blis_sparse_bits;

/* Copies *alloc; allocates nothing yet. */
void blis_sparse_bits_init(blis_sparse_bits *bits, const blis_alloc *alloc);

void blis_sparse_bits_deinit(blis_sparse_bits *bits);

/*
 * Flips some bits of a word. *is_new (may be NULL) is set to whether the word had no set bit
 * before. BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis_sparse_bits_flip(blis_sparse_bits *bits, uint64_t word,
                                               uint64_t flipped, bool *is_new);

static inline bool blis_sparse_bits_get(const blis_sparse_bits *bits, uint64_t number) {
  uint64_t word = 0;
  blis_map_get(&bits->words, number / BLIS_WORD_BITS, &word);
  return (word >> number % BLIS_WORD_BITS & 1) != 0;
}

/*
 * Returns the number of zero bits before the first set bit, among the count bits that start at
 * first.
 */
uint64_t blis_sparse_bits_zeros(const blis_sparse_bits *bits, uint64_t first, uint64_t count);

#endif
