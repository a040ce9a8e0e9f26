#include "results/analysis/arrivals.h"

#include <math.h>
#include <stdlib.h>

static blis_record record_at(const blis_arrivals *arrivals, size_t i) {
  return blis_recorder_record(arrivals->recorder, arrivals->first + i);
}

blis_status blis_arrivals_init(blis_arrivals *arrivals, blis_recorder *recorder, int64_t from_us) {
  BLIS_TRY(blis_recorder_sort(recorder));
  *arrivals = (blis_arrivals){.recorder = recorder, .count = blis_recorder_count(recorder)};
  while (arrivals->count > 0 && record_at(arrivals, 0).arrival_us < from_us) {
    arrivals->first++;
    arrivals->count--;
  }
  return BLIS_OK;
}

/* Warm-up */

size_t blis_mser5(const double *series, size_t count, bool *is_settled) {
  size_t batches = count / 5;
  size_t half = batches / 2;
  size_t cut = 0;
  double origin = 0; /* subtracted to keep the squares small */
  double sum = 0;
  double squares = 0;
  double best = INFINITY;
  for (size_t k = batches; k-- > 0;) {
    double batch = 0;
    for (size_t j = 5 * k; j < 5 * k + 5; j++) {
      batch += series[j];
    }
    batch /= 5;
    if (k == batches - 1) {
      origin = batch;
    }
    double value = batch - origin;
    sum += value;
    squares += value * value;
    double n = (double)(batches - k);
    double error = (squares - sum * sum / n) / (n * n);
    if (k <= half && error <= best) {
      best = error;
      cut = k;
    }
  }
  *is_settled = cut < half;
  return 5 * cut;
}

/* Copies the TTFTs in order of arrival; series has space for all of them. */
static size_t gather_ttft(const blis_arrivals *arrivals, double *series) {
  size_t count = 0;
  for (size_t i = 0; i < arrivals->count; i++) {
    int64_t ttft_us = record_at(arrivals, i).ttft_us;
    if (ttft_us >= 0) {
      series[count++] = (double)ttft_us;
    }
  }
  return count;
}

/* Returns the arrival of the request with the n-th TTFT (from 0). */
static int64_t arrival_of_ttft(const blis_arrivals *arrivals, size_t n) {
  size_t i = 0;
  while (record_at(arrivals, i).ttft_us < 0 || n-- > 0) {
    i++;
  }
  return record_at(arrivals, i).arrival_us;
}

blis_status blis_arrivals_warm_up(const blis_arrivals *arrivals, const blis_alloc *alloc,
                                  int64_t *from_us, bool *is_settled) {
  *from_us = 0;
  *is_settled = false;
  if (arrivals->count == 0) {
    return BLIS_OK;
  }
  size_t size = arrivals->count * sizeof(double);
  double *series = blis_alloc_new(alloc, size);
  if (series == NULL) {
    return BLIS_ERR_NOMEM;
  }
  size_t count = gather_ttft(arrivals, series);
  size_t cut = blis_mser5(series, count, is_settled);
  if (cut > 0) {
    *from_us = arrival_of_ttft(arrivals, cut);
  }
  blis_alloc_free(alloc, series, size);
  return BLIS_OK;
}

/* Metrics */

blis_arrivals_figures blis_arrivals_measure(const blis_arrivals *arrivals) {
  blis_arrivals_figures figures = {0};
  double sum_us = 0;
  for (size_t i = 0; i < arrivals->count; i++) {
    const blis_record record = record_at(arrivals, i);
    if (blis_record_is_completed(&record)) {
      figures.completed++;
      sum_us += (double)record.e2e_us;
    }
  }
  if (figures.completed > 0) {
    figures.e2e_us = sum_us / (double)figures.completed;
  }
  if (arrivals->count > 0) {
    figures.span_us =
        record_at(arrivals, arrivals->count - 1).arrival_us - record_at(arrivals, 0).arrival_us;
  }
  return figures;
}

/* Returns the start of a batch. Batches have equal numbers of requests, except for rounding. */
static size_t start_of(const blis_arrivals *arrivals, size_t batch) {
  return batch * arrivals->count / BLIS_BATCH_COUNT;
}

bool blis_arrivals_means(const blis_arrivals *arrivals, blis_latency_kind kind,
                         double means_us[BLIS_BATCH_COUNT]) {
  bool is_complete = true;
  for (size_t b = 0; b < BLIS_BATCH_COUNT; b++) {
    double sum = 0;
    size_t count = 0;
    for (size_t i = start_of(arrivals, b); i < start_of(arrivals, b + 1); i++) {
      const blis_record record = record_at(arrivals, i);
      if (blis_record_is_completed(&record)) {
        sum += blis_record_latency_us(&record, kind);
        count++;
      }
    }
    means_us[b] = count > 0 ? sum / (double)count : 0;
    is_complete = is_complete && count > 0;
  }
  return is_complete;
}

void blis_arrivals_beyond(const blis_arrivals *arrivals, blis_latency_kind kind, double limit_ms,
                          double shares[BLIS_BATCH_COUNT]) {
  BLIS_ASSERT(arrivals->count >= BLIS_BATCH_COUNT);
  for (size_t b = 0; b < BLIS_BATCH_COUNT; b++) {
    size_t start = start_of(arrivals, b);
    size_t end = start_of(arrivals, b + 1);
    size_t beyond = 0;
    for (size_t i = start; i < end; i++) {
      const blis_record record = record_at(arrivals, i);
      beyond +=
          !(blis_record_is_completed(&record) && blis_record_is_within(&record, kind, limit_ms));
    }
    shares[b] = (double)beyond / (double)(end - start);
  }
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

blis_status blis_arrivals_percentile(const blis_arrivals *arrivals, const blis_alloc *alloc,
                                     blis_latency_kind kind, double share, double *value_us) {
  *value_us = -1;
  if (arrivals->count == 0) {
    return BLIS_OK;
  }
  size_t size = arrivals->count * sizeof(double);
  double *values = blis_alloc_new(alloc, size);
  if (values == NULL) {
    return BLIS_ERR_NOMEM;
  }
  size_t count = 0;
  for (size_t i = 0; i < arrivals->count; i++) {
    const blis_record record = record_at(arrivals, i);
    if (blis_record_is_completed(&record)) {
      values[count++] = blis_record_latency_us(&record, kind);
    }
  }
  qsort(values, count, sizeof *values, by_value);
  /* The double 0.99 is slightly above 0.99; the correction makes the rank 990 of 1,000, not 991. */
  double rank = ceil(share * (double)arrivals->count * (1 - 1e-12));
  if (rank < 1) {
    rank = 1;
  }
  if (rank <= (double)count) {
    *value_us = values[(size_t)rank - 1];
  }
  blis_alloc_free(alloc, values, size);
  return BLIS_OK;
}
