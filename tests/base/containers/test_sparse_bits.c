/* Sparse bits against an array of them. */
#include "base/containers/sparse_bits.h"

#include "base/random.h"
#include "check.h"

enum { BITS = 700, ROUNDS = 20000 };

/* The last word of all is one of them, and the first. */
static uint64_t number_of(int i) {
  return (uint64_t)i - BITS / 2 / BLIS_WORD_BITS * BLIS_WORD_BITS;
}

static void flip_both(blis_sparse_bits *bits, bool *model, blis_random *random) {
  int word = blis_random_intn(random, BITS / BLIS_WORD_BITS);
  uint64_t flipped =
      blis_random_uint64(random) & blis_random_uint64(random) & blis_random_uint64(random);
  if (blis_random_intn(random, 3) == 0) { /* none is left */
    flipped = 0;
    for (int i = 0; i < BLIS_WORD_BITS; i++) {
      flipped |= (uint64_t)model[word * BLIS_WORD_BITS + i] << i;
    }
  }
  flipped |= flipped == 0;
  bool had_any = false;
  for (int i = 0; i < BLIS_WORD_BITS; i++) {
    bool *bit = &model[word * BLIS_WORD_BITS + i];
    had_any |= *bit;
    *bit ^= (flipped >> i & 1) != 0;
  }
  bool is_new;
  CHECK(blis_sparse_bits_flip(bits, number_of(word * BLIS_WORD_BITS) / 64, flipped, &is_new) ==
        BLIS_OK);
  CHECK(is_new == !had_any);
}

static void they_are_bits(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_random random;
  blis_random_init(&random, 2);
  bool model[BITS] = {false};
  blis_sparse_bits bits;
  blis_sparse_bits_init(&bits, &alloc);
  for (int round = 0; round < ROUNDS; round++) {
    flip_both(&bits, model, &random);
    int first = blis_random_intn(&random, BITS);
    int count = blis_random_intn(&random, BITS - first + 1);
    int zeros = 0;
    size_t set = 0;
    while (zeros < count && !model[first + zeros]) {
      zeros++;
    }
    for (int i = 0; i < BITS; i++) {
      set += model[i];
    }
    CHECK_EQ_I64(blis_sparse_bits_zeros(&bits, number_of(first), (uint64_t)count), zeros);
    CHECK(blis_sparse_bits_get(&bits, number_of(first)) == model[first]);
    CHECK_EQ_I64(bits.count, set);
    CHECK((blis_map_count(&bits.words) == 0) == (set == 0));
  }
  blis_sparse_bits_deinit(&bits);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void no_memory_changes_nothing(void) {
  blis_alloc_probe memory = {.fail_at = 1};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_sparse_bits bits;
  blis_sparse_bits_init(&bits, &alloc);
  CHECK_STATUS(blis_sparse_bits_flip(&bits, 3, 5, NULL), BLIS_ERR_NOMEM);
  CHECK_EQ_I64(bits.count, 0);
  CHECK_EQ_I64(blis_sparse_bits_zeros(&bits, 0, 1000), 1000);
  blis_sparse_bits_deinit(&bits);
}

int main(void) {
  RUN(they_are_bits);
  RUN(no_memory_changes_nothing);
  return check_done();
}
