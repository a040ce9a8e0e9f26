/* The histogram of histogram.h against the sorted list of all samples. */
#include "base/containers/histogram.h"

#include "base/random.h"
#include "check.h"

enum { NEAR_LIMIT = 1 << 20, MOST = 40000 };

typedef struct model {
  int64_t samples[MOST];
  size_t count;
} model;

static int64_t random_value(blis_random *random) {
  switch (blis_random_intn(random, 6)) {
  case 0:
    return blis_random_intn(random, 20);
  case 1:
    return NEAR_LIMIT - 3 + blis_random_intn(random, 6);
  case 2:
    return NEAR_LIMIT + blis_random_intn(random, 1 << 30);
  case 3:
    return NEAR_LIMIT + (int64_t)blis_random_intn(random, 50) * 1000000;
  default:
    return blis_random_intn(random, 30000);
  }
}

static void add_both(blis_histogram *histogram, model *m, blis_random *random, size_t rounds) {
  for (size_t i = 0; i < rounds; i++) {
    int64_t value = random_value(random);
    uint64_t count = (uint64_t)blis_random_intn(random, 4);
    CHECK(blis_histogram_add(histogram, value, count) == BLIS_OK);
    for (uint64_t k = 0; k < count; k++) {
      m->samples[m->count++] = value;
    }
  }
}

static int compare(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a;
  int64_t right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

static void check_same(blis_histogram *histogram, model *m) {
  qsort(m->samples, m->count, sizeof *m->samples, compare);
  uint64_t sum = 0;
  for (size_t i = 0; i < m->count; i++) {
    sum += (uint64_t)m->samples[i];
    if (i % 7 == 0) {
      CHECK_EQ_I64(blis_histogram_at_rank(histogram, i), m->samples[i]);
    }
  }
  CHECK_EQ_I64(blis_histogram_total(histogram), m->count);
  CHECK_EQ_I64(blis_histogram_sum(histogram), sum);
  CHECK_EQ_I64(blis_histogram_min(histogram), m->count > 0 ? m->samples[0] : 0);
  CHECK_EQ_I64(blis_histogram_max(histogram), m->count > 0 ? m->samples[m->count - 1] : 0);
  int64_t value = -1;
  uint64_t count;
  size_t done = 0;
  while (blis_histogram_next(histogram, &value, &count)) {
    CHECK(count > 0);
    for (uint64_t k = 0; k < count; k++) {
      CHECK_EQ_I64(value, m->samples[done++]);
    }
    CHECK(done == m->count || m->samples[done] > value);
  }
  CHECK_EQ_I64(done, m->count);
}

static void counts_like_a_sorted_list(void) {
  static model m;
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_histogram histogram;
  blis_histogram_init(&histogram, &alloc);
  blis_random random;
  blis_random_init(&random, 31);
  check_same(&histogram, &m);
  for (int round = 0; round < 30; round++) {
    add_both(&histogram, &m, &random, 400);
    check_same(&histogram, &m);
  }
  blis_histogram_clear(&histogram);
  m.count = 0;
  add_both(&histogram, &m, &random, 100);
  check_same(&histogram, &m);
  blis_histogram_deinit(&histogram);
  CHECK(memory.live_bytes == 0);
}

static void merging_adds_all_samples(void) {
  static model m;
  blis_alloc alloc = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 37);
  blis_histogram all;
  blis_histogram_init(&all, &alloc);
  for (size_t part = 0; part < 6; part++) {
    blis_histogram histogram;
    blis_histogram_init(&histogram, &alloc);
    add_both(&histogram, &m, &random, part * 300);
    CHECK(blis_histogram_merge(&all, &histogram) == BLIS_OK);
    blis_histogram_deinit(&histogram);
    check_same(&all, &m);
  }
  blis_histogram_deinit(&all);
}

static void memory_follows_distinct_values(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_histogram histogram;
  blis_histogram_init(&histogram, &alloc);
  for (int i = 0; i < 200000; i++) {
    CHECK(blis_histogram_add(&histogram, i % 90 * 1000000, 1) == BLIS_OK);
  }
  CHECK(memory.peak_bytes < 60000);
  CHECK_EQ_I64(blis_histogram_total(&histogram), 200000);
  blis_histogram_deinit(&histogram);
}

static void impossible_samples_are_refused(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_histogram histogram;
  blis_histogram_init(&histogram, &alloc);
  CHECK_STATUS(blis_histogram_add(&histogram, -1, 1), BLIS_ERR_INVALID);
  CHECK_STATUS(blis_histogram_add(&histogram, INT64_MAX, 2), BLIS_OK);
  CHECK_STATUS(blis_histogram_add(&histogram, 2, 1), BLIS_ERR_INVALID);
  CHECK_STATUS(blis_histogram_add(&histogram, INT64_MAX, 3), BLIS_ERR_INVALID);
  blis_histogram other;
  blis_histogram_init(&other, &alloc);
  CHECK_STATUS(blis_histogram_add(&other, 2, 1), BLIS_OK);
  CHECK_STATUS(blis_histogram_merge(&histogram, &other), BLIS_ERR_INVALID);
  blis_histogram_deinit(&other);
  CHECK_STATUS(blis_histogram_add(&histogram, 1, 1), BLIS_OK);
  CHECK(blis_histogram_sum(&histogram) == UINT64_MAX);
  CHECK_STATUS(blis_histogram_add(&histogram, 0, UINT64_MAX), BLIS_ERR_INVALID);
  CHECK_EQ_I64(blis_histogram_at_rank(&histogram, 2), INT64_MAX);
  CHECK_EQ_I64(blis_histogram_at_rank(&histogram, 0), 1);
  blis_histogram_deinit(&histogram);
}

/* Adds to one histogram and merges it into another, then looks at both. */
static bool fill_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_histogram histogram;
  blis_histogram all;
  blis_histogram_init(&histogram, &alloc);
  blis_histogram_init(&all, &alloc);
  CHECK(memory.requests == 0);
  bool done = true;
  uint64_t added = 0;
  for (int64_t i = 0; done && i < 40; i++) {
    done = blis_histogram_add(&histogram, i * 70000, 1) == BLIS_OK;
    added += done;
    CHECK_EQ_I64(blis_histogram_total(&histogram), added);
  }
  if (done) {
    done = blis_histogram_merge(&all, &histogram) == BLIS_OK;
    CHECK_EQ_I64(blis_histogram_total(&all), done ? added : 0);
    int64_t value = -1;
    uint64_t count;
    CHECK(blis_histogram_next(&all, &value, &count) == done);
  }
  blis_histogram_deinit(&histogram);
  blis_histogram_deinit(&all);
  CHECK(memory.live_bytes == 0);
  return done;
}

static void no_memory_leaves_histograms_unchanged(void) {
  long request = 1;
  while (!fill_with_failure_at(request)) {
    request++;
  }
  CHECK(request > 20);
}

static void removed_samples_are_gone(void) {
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  blis_histogram histogram;
  blis_histogram_init(&histogram, &alloc);
  const int64_t values[] = {0, 7, 7, 1 << 20, INT64_C(1) << 40, 9};
  for (size_t i = 0; i < 6; i++) {
    CHECK(blis_histogram_add(&histogram, values[i], 2) == BLIS_OK);
  }
  blis_histogram_remove(&histogram, INT64_C(1) << 40, 2);
  blis_histogram_remove(&histogram, 0, 2);
  blis_histogram_remove(&histogram, 7, 3);
  CHECK_EQ_I64(blis_histogram_total(&histogram), 5);
  CHECK_EQ_I64(blis_histogram_sum(&histogram), 7 + 18 + 2 * (1 << 20));
  CHECK_EQ_I64(blis_histogram_min(&histogram), 7);
  CHECK_EQ_I64(blis_histogram_max(&histogram), 1 << 20);
  CHECK_EQ_I64(blis_histogram_at_rank(&histogram, 1), 9);
  blis_histogram_deinit(&histogram);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

/* Near and far values, many of them equal, with a look now and then. */
static void samples_come_and_go(void) {
  enum { VALUES = 60, CHANGES = 20000 };
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  blis_histogram histogram;
  blis_random random;
  uint64_t counts[VALUES] = {0};
  const int64_t first = (1 << 20) - 30;
  blis_histogram_init(&histogram, &alloc);
  blis_random_init(&random, 5);
  for (int change = 0; change < CHANGES; change++) {
    int k = blis_random_intn(&random, VALUES);
    uint64_t count = 1 + (uint64_t)blis_random_intn(&random, 3);
    if (blis_random_intn(&random, 2) == 0) {
      CHECK(blis_histogram_add(&histogram, first + k, count) == BLIS_OK);
      counts[k] += count;
    } else if (counts[k] > 0) {
      count = count < counts[k] ? count : counts[k];
      blis_histogram_remove(&histogram, first + k, count);
      counts[k] -= count;
    }
    if (blis_random_intn(&random, 10) > 0) {
      continue;
    }
    int64_t value = -1;
    uint64_t got = 0;
    for (int i = 0; i < VALUES; i++) {
      if (counts[i] > 0) {
        CHECK(blis_histogram_next(&histogram, &value, &got));
        CHECK_EQ_I64(value, first + i);
        CHECK_EQ_I64(got, counts[i]);
      }
    }
    CHECK(!blis_histogram_next(&histogram, &value, &got));
  }
  blis_histogram_deinit(&histogram);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

int main(void) {
  RUN(counts_like_a_sorted_list);
  RUN(merging_adds_all_samples);
  RUN(memory_follows_distinct_values);
  RUN(impossible_samples_are_refused);
  RUN(no_memory_leaves_histograms_unchanged);
  RUN(removed_samples_are_gone);
  RUN(samples_come_and_go);
  return check_done();
}
