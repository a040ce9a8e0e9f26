#include "instance/fast/step_history.h"

#include "base/minmax.h"
#include "base/random.h"
#include "check.h"

static void history_keeps_what_may_be_asked_for(void) {
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  step_history history = {0};
  for (int64_t step = 0; step < 1000; step++) {
    if (blis__step_history_room(&history) == 0) {
      blis__step_history_forget(&history, step - 100, NULL);
      if (blis__step_history_room(&history) == 0) {
        CHECK(blis__step_history_grow(&alloc, &history) == BLIS_OK);
      }
    }
    int64_t value = 10 * step;
    blis__step_history_add(&history, &value, 1);
    for (int64_t s = step < 100 ? 0 : step - 99; s <= step; s++) {
      CHECK_EQ_I64(blis__step_history_at(&history, s), 10 * s);
    }
  }
  CHECK(history.capacity <= 256);
  blis__step_history_deinit(&alloc, &history);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

/* Adds step next_step, whose value is 10 times its number. */
static void add_step(step_history *history, blis_histogram *histogram) {
  int64_t value = 10 * history->next_step;
  blis__step_history_add(history, &value, 1);
  CHECK(blis_histogram_add(histogram, value, 1) == BLIS_OK);
}

/* It grows when it is full, wherever its oldest step lies. */
static void growing_keeps_what_wraps_around(void) {
  blis_alloc alloc = blis_alloc_heap();
  for (int64_t oldest = 0; oldest < 200; oldest++) {
    step_history history = {0};
    blis_histogram histogram;
    blis_histogram_init(&histogram, &alloc);
    CHECK(blis__step_history_grow(&alloc, &history) == BLIS_OK);
    while (history.next_step < oldest) {
      add_step(&history, &histogram);
      blis__step_history_forget(&history, history.next_step, &histogram);
    }
    while (blis__step_history_room(&history) > 0) {
      add_step(&history, &histogram);
    }
    int64_t next = history.next_step;
    blis__step_history_withdraw(&history, (step_range){oldest, next});
    blis__step_history_withdraw(&history, (step_range){next - 9, next});
    CHECK(blis__step_history_grow(&alloc, &history) == BLIS_OK);
    CHECK(blis__step_history_check(&history));
    for (int64_t step = oldest; step < next; step++) {
      CHECK_EQ_I64(blis__step_history_at(&history, step), 10 * step);
    }
    blis__step_history_deinit(&alloc, &history);
    blis_histogram_deinit(&histogram);
  }
}

enum { STEPS = 3000, KEPT_STEPS = 90, SAMPLES = 50 };

/* What a histogram of all steps holds in the end, sample by sample. */
static void check_samples(const int64_t *wanted, int64_t values, const blis_histogram *histogram) {
  blis_histogram *got = (blis_histogram *)histogram;
  int64_t value = -1;
  uint64_t count = 0;
  int64_t next = 0;
  while (blis_histogram_next(got, &value, &count)) {
    for (; next < value; next++) {
      CHECK_EQ_I64(wanted[next], 0);
    }
    CHECK_EQ_I64(count, wanted[next++]);
  }
  for (; next < values; next++) {
    CHECK_EQ_I64(wanted[next], 0);
  }
}

/* Ranges that touch, overlap, end now and begin at the oldest step. */
static void ranges_are_taken_out_sample_by_sample(void) {
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  step_history history = {0};
  blis_histogram histogram;
  blis_random random;
  int64_t wanted[STEPS] = {0};
  blis_histogram_init(&histogram, &alloc);
  blis_random_init(&random, 3);
  for (int64_t step = 0; step < STEPS; step++) {
    if (blis__step_history_room(&history) == 0) {
      blis__step_history_forget(&history, step - KEPT_STEPS, &histogram);
      if (blis__step_history_room(&history) == 0) {
        CHECK(blis__step_history_grow(&alloc, &history) == BLIS_OK);
      }
    }
    blis__step_history_add(&history, &step, 1);
    wanted[step] = SAMPLES;
    CHECK(blis_histogram_add(&histogram, step, SAMPLES) == BLIS_OK);
    int64_t length = blis_random_intn(&random, KEPT_STEPS / 2);
    int64_t end = step + 1 - blis_random_intn(&random, 3) * 7;
    step_range range = {blis_max_i64(end - length, history.first_step), end};
    if (range.first < range.end && blis_random_intn(&random, 3) == 0) {
      blis__step_history_withdraw(&history, range);
      for (int64_t s = range.first; s < range.end; s++) {
        wanted[s]--;
      }
    }
    if (blis_random_intn(&random, 100) == 0) {
      blis__step_history_settle(&history, step + 1, &histogram);
      check_samples(wanted, step + 1, &histogram);
    } else if (blis_random_intn(&random, 100) == 0) {
      blis__step_history_settle(&history, (history.first_step + step) / 2, &histogram);
    }
    CHECK(blis__step_history_check(&history));
  }
  blis__step_history_settle(&history, STEPS, &histogram);
  check_samples(wanted, STEPS, &histogram);
  blis__step_history_deinit(&alloc, &history);
  blis_histogram_deinit(&histogram);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

int main(void) {
  RUN(history_keeps_what_may_be_asked_for);
  RUN(growing_keeps_what_wraps_around);
  RUN(ranges_are_taken_out_sample_by_sample);
  return check_done();
}
