#include "results/analysis/time_course.h"

#include "base/invariant.h"
#include "base/minmax.h"

static size_t interval_at(int64_t time_us, int64_t to_us, size_t count) {
  size_t interval = (size_t)((double)time_us / (double)to_us * (double)count);
  return interval < count ? interval : count - 1;
}

static void swap(int64_t *a, int64_t *b) {
  int64_t value = *a;
  *a = *b;
  *b = value;
}

/* Sorts the first, middle, and last value, and returns the median. */
static int64_t median_of_three(int64_t *values, size_t low, size_t high) {
  size_t middle = low + (high - low) / 2;
  if (values[middle] < values[low]) {
    swap(&values[middle], &values[low]);
  }
  if (values[high] < values[low]) {
    swap(&values[high], &values[low]);
  }
  if (values[high] < values[middle]) {
    swap(&values[high], &values[middle]);
  }
  return values[middle];
}

/*
 * Moves the value of this rank to its place in ascending order: smaller values are before it, and
 * larger values after it. (Hoare, "Algorithm 65: find", 1961.)
 */
static int64_t select_rank(int64_t *values, size_t count, size_t rank) {
  size_t low = 0;
  size_t high = count - 1;
  while (low < high) {
    int64_t pivot = median_of_three(values, low, high);
    size_t i = low;
    size_t j = high;
    while (i <= j) {
      while (values[i] < pivot) {
        i++;
      }
      while (values[j] > pivot) {
        j--;
      }
      if (i <= j) {
        swap(&values[i++], &values[j]);
        if (j == 0) {
          break;
        }
        j--;
      }
    }
    if (rank <= j) {
      high = j;
    } else if (rank >= i) {
      low = i;
    } else {
      break;
    }
  }
  return values[rank];
}

static double quantile_of(int64_t *values, size_t count, double quantile) {
  double rank = quantile * (double)(count - 1);
  size_t below = (size_t)rank;
  double share = rank - (double)below;
  int64_t value = select_rank(values, count, below);
  if (share <= 0 || below + 1 >= count) {
    return (double)value;
  }
  int64_t next = values[below + 1];
  for (size_t i = below + 2; i < count; i++) {
    next = blis_min_i64(next, values[i]);
  }
  return (double)value + share * (double)(next - value);
}

/* Sorts the times by interval; counts[i] becomes the end of interval i. */
static void scatter(blis_time_course *course, const blis_recorder *recorder,
                    blis_record_time time_of, int64_t to_us, size_t *ends) {
  size_t sum = 0;
  for (size_t k = 0; k < course->interval_count; k++) {
    ends[k] = sum;
    sum += (size_t)course->counts[k];
  }
  for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    int64_t time_us = time_of(&record);
    if (time_us >= 0) {
      course->values[ends[interval_at(record.arrival_us, to_us, course->interval_count)]++] =
          time_us;
    }
  }
}

static void count_times(blis_time_course *course, const blis_recorder *recorder,
                        blis_record_time time_of, int64_t to_us) {
  for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    if (time_of(&record) >= 0) {
      course->counts[interval_at(record.arrival_us, to_us, course->interval_count)]++;
      course->value_count++;
    }
  }
}

blis_status blis_time_course_init(blis_time_course *course, const blis_alloc *alloc,
                                  const blis_recorder *recorder, blis_record_time time_of,
                                  int64_t to_us, size_t interval_count, const double *quantiles,
                                  size_t quantile_count) {
  BLIS_ASSERT(to_us > 0 && interval_count > 0 && quantile_count > 0);
  *course = (blis_time_course){
      .alloc = *alloc, .interval_count = interval_count, .quantile_count = quantile_count};
  course->counts = blis_alloc_zeroed(alloc, interval_count, sizeof *course->counts);
  course->quantiles =
      blis_alloc_zeroed(alloc, interval_count * quantile_count, sizeof *course->quantiles);
  if (course->counts == NULL || course->quantiles == NULL) {
    return BLIS_ERR_NOMEM;
  }
  count_times(course, recorder, time_of, to_us);
  course->values = blis_alloc_zeroed(alloc, course->value_count + 1, sizeof *course->values);
  size_t *ends = blis_alloc_zeroed(alloc, interval_count, sizeof *ends);
  if (course->values == NULL || ends == NULL) {
    blis_alloc_free(alloc, ends, interval_count * sizeof *ends);
    return BLIS_ERR_NOMEM;
  }
  scatter(course, recorder, time_of, to_us, ends);
  for (size_t k = 0; k < interval_count; k++) {
    size_t count = (size_t)course->counts[k];
    for (size_t q = 0; q < quantile_count && count > 0; q++) {
      BLIS_ASSERT(quantiles[q] >= 0 && quantiles[q] <= 1);
      course->quantiles[k * quantile_count + q] =
          quantile_of(&course->values[ends[k] - count], count, quantiles[q]);
    }
  }
  blis_alloc_free(alloc, ends, interval_count * sizeof *ends);
  return BLIS_OK;
}

void blis_time_course_deinit(blis_time_course *course) {
  if (course->interval_count == 0) {
    return;
  }
  const blis_alloc *alloc = &course->alloc;
  size_t cells = course->interval_count * course->quantile_count;
  blis_alloc_free(alloc, course->values, (course->value_count + 1) * sizeof *course->values);
  blis_alloc_free(alloc, course->counts, course->interval_count * sizeof *course->counts);
  blis_alloc_free(alloc, course->quantiles, cells * sizeof *course->quantiles);
  *course = (blis_time_course){0};
}
