#include "base/containers/sparse_bits.h"

#include "base/invariant.h"

void blis_sparse_bits_init(blis_sparse_bits *bits, const blis_alloc *alloc) {
  *bits = (blis_sparse_bits){.count = 0};
  blis_map_init(&bits->words, alloc);
}

void blis_sparse_bits_deinit(blis_sparse_bits *bits) {
  blis_map_deinit(&bits->words);
  bits->count = 0;
}

static size_t count_set(uint64_t word) {
  size_t count = 0;
  for (; word != 0; word &= word - 1) {
    count++;
  }
  return count;
}

blis_status blis_sparse_bits_flip(blis_sparse_bits *bits, uint64_t word, uint64_t flipped,
                                  bool *is_new) {
  uint64_t *place;
  bool was_absent;
  BLIS_ASSERT(flipped != 0);
  BLIS_TRY(blis_map_add(&bits->words, word, 0, &place, &was_absent));
  bits->count += count_set(flipped & ~*place);
  bits->count -= count_set(flipped & *place);
  *place ^= flipped;
  if (*place == 0) {
    blis_map_remove(&bits->words, word);
  }
  if (is_new != NULL) {
    *is_new = was_absent;
  }
  return BLIS_OK;
}

uint64_t blis_sparse_bits_zeros(const blis_sparse_bits *bits, uint64_t first, uint64_t count) {
  for (uint64_t done = 0; done < count;) {
    uint64_t shift = (first + done) % BLIS_WORD_BITS;
    uint64_t word = 0;
    blis_map_get(&bits->words, (first + done) / BLIS_WORD_BITS, &word);
    for (word >>= shift; word != 0 && done < count; word >>= 1, done++) {
      if ((word & 1) != 0) {
        return done;
      }
      shift++;
    }
    done += BLIS_WORD_BITS - shift;
  }
  return count;
}
