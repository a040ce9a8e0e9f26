/* The extremes of numbers that change, against a look at all of them. */
#include "base/containers/extremes.h"

#include "base/random.h"
#include "check.h"

enum { VALUES_MAX = 5000 };

static double values[VALUES_MAX];

static void check_against_scan(const blis_extremes *extremes, uint32_t count) {
  double least = values[0];
  double greatest = values[0];
  for (uint32_t i = 1; i < count; i++) {
    least = values[i] < least ? values[i] : least;
    greatest = values[i] > greatest ? values[i] : greatest;
  }
  CHECK_EQ_DOUBLE(blis_extremes_least(extremes), least);
  CHECK_EQ_DOUBLE(blis_extremes_greatest(extremes), greatest);
  CHECK(blis_extremes_check(extremes));
}

/* Every level is covered by the next one, without a gap. */
static void check_shape(const blis_extremes *extremes, uint32_t count) {
  CHECK_EQ_I64(extremes->levels[0].count, count);
  for (uint32_t level = 1; level <= extremes->top; level++) {
    uint32_t next = 0;
    for (uint32_t node = 0; node < extremes->levels[level].count; node++) {
      CHECK_EQ_I64(blis_extremes_first(node), next);
      next = blis_extremes_end(extremes, level, node);
    }
    CHECK_EQ_I64(next, extremes->levels[level - 1].count);
  }
}

static void agree_with_a_scan(void) {
  static const uint32_t counts[] = {1, 2, 15, 16, 17, 31, 255, 256, 257, 4999};
  blis_alloc alloc = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 5);
  for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
    uint32_t count = counts[c];
    for (uint32_t i = 0; i < count; i++) {
      values[i] = blis_random_intn(&random, 9);
    }
    blis_extremes *extremes = blis_extremes_new(&alloc, values, count);
    check_shape(extremes, count);
    for (int i = 0; i < 500; i++) {
      uint32_t k = (uint32_t)blis_random_intn(&random, (int32_t)count);
      double before = values[k];
      values[k] = blis_random_intn(&random, 1 + i / 50) - 2;
      blis_extremes_note(extremes, k, before);
      check_against_scan(extremes, count);
    }
    blis_extremes_free(extremes);
  }
}

static void no_memory_leaves_nothing(void) {
  for (long request = 1; request <= 3; request++) {
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    CHECK(blis_extremes_new(&alloc, values, 17) == NULL);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  blis_extremes_free(NULL);
}

int main(void) {
  RUN(agree_with_a_scan);
  RUN(no_memory_leaves_nothing);
  return check_done();
}
