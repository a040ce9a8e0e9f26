/* What happened in a window of time, and the last values of something. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "check.h"
#include "policy/memory/recent.h"
#include "policy/memory/recent_values.h"

enum { ROUNDS = 20000, LIMIT = 64 };

static void items_leave_in_order_when_they_are_old(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis__recent recent = {0};
  blis_random random;
  blis_random_init(&random, 3);
  int64_t added = 0;
  int64_t gone = 0;
  int64_t now_us = 0;
  static int64_t times[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    now_us += blis_random_intn(&random, 20);
    const blis__recent_item item = {.at_us = now_us, .amount = added};
    times[added++] = now_us;
    CHECK(blis__recent_add(&alloc, &recent, &item) == BLIS_OK);
    blis__recent_item old;
    while (blis__recent_expire(&recent, now_us - 500, &old)) {
      CHECK_EQ_I64(old.amount, gone);
      CHECK(old.at_us < now_us - 500);
      gone++;
    }
    CHECK(gone == added || times[gone] >= now_us - 500);
    CHECK_EQ_I64(blis__recent_count(&recent), added - gone);
  }
  CHECK(memory.live_bytes < 64 * 1024); /* of the window, not of all */
  blis__recent_deinit(&alloc, &recent);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static int compare(const void *a, const void *b) {
  double left = *(const double *)a;
  double right = *(const double *)b;
  return (left > right) - (left < right);
}

/* Against the last LIMIT of them, sorted. */
static void values_are_found_by_size(void) {
  static blis__recent_values values;
  static double all[2000];
  blis_random random;
  blis_random_init(&random, 5);
  for (size_t n = 1; n <= 2000; n++) {
    all[n - 1] = blis_random_intn(&random, 50);
    blis__recent_values_add(&values, LIMIT, all[n - 1]);
    size_t count = n < LIMIT ? n : LIMIT;
    double sorted[LIMIT];
    memcpy(sorted, all + n - count, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    double median =
        count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
    CHECK_EQ_DOUBLE(blis__recent_values_median(&values), median);
    size_t rank = (size_t)round(0.9 * ((double)count - 1));
    CHECK_EQ_DOUBLE(blis__recent_values_at(&values, 0.9), sorted[rank]);
  }
}

int main(void) {
  RUN(items_leave_in_order_when_they_are_old);
  RUN(values_are_found_by_size);
  return check_done();
}
