#include "base/containers/sketch.h"

#include "base/random.h"
#include "check.h"

enum { VALUES = 20000 };

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Of every size from 0 to 2^62. */
static int64_t draw(blis_random *random) {
  return (int64_t)(blis_random_int63(random) >> blis_random_intn(random, 63)) >> 1;
}

static void quantiles_are_close_and_never_too_high(void) {
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  blis_random random;
  blis_random_init(&random, 3);
  blis_sketch whole;
  blis_sketch_init(&whole, &alloc);
  static int64_t values[VALUES];
  double sum = 0;
  for (int i = 0; i < VALUES; i++) {
    values[i] = draw(&random);
    sum += (double)values[i];
    CHECK(blis_sketch_add(&whole, values[i]) == BLIS_OK);
  }
  qsort(values, VALUES, sizeof *values, compare);
  CHECK_EQ_I64(blis_sketch_total(&whole), VALUES);
  CHECK_EQ_I64(blis_sketch_min(&whole), values[0]);
  CHECK_EQ_I64(blis_sketch_max(&whole), values[VALUES - 1]);
  double mean = blis_sketch_mean(&whole);
  CHECK(mean > sum / VALUES * 0.999999 && mean < sum / VALUES * 1.000001);
  for (int i = 0; i < VALUES; i++) {
    int64_t got = blis_sketch_at_rank(&whole, (uint64_t)i);
    CHECK(got <= values[i]);
    CHECK((double)got >= (double)values[i] * (1 - 1.0 / 256) - 1e-9);
    CHECK(values[i] >= 512 || got == values[i]);
  }
  CHECK(probe.peak_bytes < 2 * 115 * 1024);
  blis_sketch_deinit(&whole);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

static void no_memory_leaves_it_unchanged(void) {
  blis_alloc_probe probe = {.fail_at = 2};
  blis_alloc alloc = blis_alloc_probed(&probe);
  blis_sketch sketch;
  blis_sketch_init(&sketch, &alloc);
  CHECK(blis_sketch_add(&sketch, 5) == BLIS_OK);
  CHECK_STATUS(blis_sketch_add(&sketch, INT64_MAX), BLIS_ERR_NOMEM);
  CHECK_EQ_I64(blis_sketch_total(&sketch), 1);
  CHECK_EQ_I64(blis_sketch_max(&sketch), 5);
  CHECK(blis_sketch_add(&sketch, INT64_MAX) == BLIS_OK);
  CHECK_EQ_I64(blis_sketch_max(&sketch), INT64_MAX);
  blis_sketch_deinit(&sketch);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

int main(void) {
  RUN(quantiles_are_close_and_never_too_high);
  RUN(no_memory_leaves_it_unchanged);
  return check_done();
}
