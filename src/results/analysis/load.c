#include "results/analysis/load.h"

#include <math.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "cluster/handoff/handoff.h"

/*
 * Sums over starts and ends, by instance and interval. shares is the remaining fraction of the
 * interval, added for starts and subtracted for ends. The other member is the change in the number
 * of requests after the interval.
 */
typedef struct span_sums {
  double *shares;
  int32_t *steps;
} span_sums;

typedef struct builder {
  blis_load *load;
  span_sums waiting;
  span_sums running;
  span_sums transferring; /* these two have one row for all instances */
  span_sums before_transfer;
} builder;

static size_t interval_at(const blis_load *load, int64_t time_us) {
  double share = (double)time_us / (double)load->to_us;
  size_t interval = (size_t)(share * (double)load->interval_count);
  return interval < load->interval_count ? interval : load->interval_count - 1;
}

/* Adds a change of the count by +1 or -1 at this time. */
static void change(const blis_load *load, const span_sums *sums, size_t instance, int64_t time_us,
                   int32_t by) {
  if (time_us >= load->to_us) {
    return;
  }
  size_t interval = interval_at(load, time_us);
  double end = (double)(interval + 1) / (double)load->interval_count;
  double left = end - (double)time_us / (double)load->to_us;
  size_t at = instance * load->interval_count + interval;
  sums->shares[at] += (double)by * left * (double)load->interval_count;
  sums->steps[at] += by;
}

static void add_span(const blis_load *load, const span_sums *sums, int32_t instance,
                     int64_t from_us, int64_t to_us) {
  if (instance < 0 || from_us >= to_us) {
    return;
  }
  BLIS_ASSERT((size_t)instance < load->instance_count);
  change(load, sums, (size_t)instance, from_us, 1);
  change(load, sums, (size_t)instance, to_us, -1);
}

/* Adds the stay of a request at an instance, with the time of its admission; -1 = it only
   waited. */
static void add_stay(const builder *self, int32_t instance, int64_t from_us, int64_t admitted_us,
                     int64_t end_us) {
  if (admitted_us < 0 || admitted_us > end_us) {
    add_span(self->load, &self->waiting, instance, from_us, end_us);
    return;
  }
  add_span(self->load, &self->waiting, instance, from_us, admitted_us);
  add_span(self->load, &self->running, instance, blis_max_i64(from_us, admitted_us), end_us);
}

static void add_record(const builder *self, const blis_recorder *recorder, size_t index) {
  const blis_record record = blis_recorder_record(recorder, index);
#define EXTRA(name) blis_recorder_extra(recorder, index, BLIS_EXTRA_##name)
  int64_t reached_us = record.arrival_us + blis_max_i64(EXTRA(gateway_wait_us), 0);
  int64_t prefiller = EXTRA(prefill_instance);
  if (prefiller < 0) {
    bool was_admitted = record.scheduling_delay_us >= 0;
    int64_t admitted_us = was_admitted ? record.arrival_us + record.scheduling_delay_us : -1;
    add_stay(self, record.instance, reached_us, admitted_us, record.end_us);
    return;
  }
  int64_t prefill_end_us = EXTRA(prefill_end_us);
  int64_t left_us = prefill_end_us >= 0 ? prefill_end_us : record.end_us;
  add_stay(self, (int32_t)prefiller, reached_us, EXTRA(prefill_admitted_us), left_us);
  int64_t transfer_end_us = EXTRA(transfer_end_us);
  if (transfer_end_us >= 0) {
    int64_t start_us = EXTRA(transfer_start_us);
    add_stay(self, record.instance, transfer_end_us, transfer_end_us, record.end_us);
    add_span(self->load, &self->before_transfer, 0, left_us, start_us);
    add_span(self->load, &self->transferring, 0, start_us, transfer_end_us);
  }
#undef EXTRA
}

static void count_record(blis_load *load, const blis_record *record) {
  if (record->arrival_us < load->to_us) {
    load->arrived[interval_at(load, record->arrival_us)]++;
  }
  if (blis_record_is_completed(record) && record->end_us <= load->to_us) {
    load->completed[interval_at(load, record->end_us)]++;
  }
}

static void finish(const blis_load *load, const span_sums *sums, size_t rows, double *means) {
  for (size_t i = 0; i < rows; i++) {
    int64_t carried = 0;
    for (size_t k = 0; k < load->interval_count; k++) {
      size_t at = i * load->interval_count + k;
      means[at] = fmax(0, (double)carried + sums->shares[at]); /* avoids values such as -1e-17 */
      carried += sums->steps[at];
    }
  }
}

/* Returns the number of instances, large enough for every instance of the records. */
static size_t count_instances(const blis_recorder *recorder, size_t least) {
  int64_t count = (int64_t)least;
  for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    int64_t prefiller = blis_recorder_extra(recorder, i, BLIS_EXTRA_prefill_instance);
    count = blis_max_i64(count, blis_max_i64(record.instance, prefiller) + 1);
  }
  return (size_t)count;
}

static blis_status new_arrays(blis_load *load, builder *self) {
  size_t cells = load->instance_count * load->interval_count;
  const blis_alloc *alloc = &load->alloc;
  load->waiting = blis_alloc_zeroed(alloc, cells, sizeof *load->waiting);
  load->running = blis_alloc_zeroed(alloc, cells, sizeof *load->running);
  load->arrived = blis_alloc_zeroed(alloc, load->interval_count, sizeof *load->arrived);
  load->completed = blis_alloc_zeroed(alloc, load->interval_count, sizeof *load->completed);
  load->transferring = blis_alloc_zeroed(alloc, load->interval_count, sizeof *load->transferring);
  load->before_transfer =
      blis_alloc_zeroed(alloc, load->interval_count, sizeof *load->before_transfer);
  self->waiting =
      (span_sums){.shares = load->waiting,
                  .steps = blis_alloc_zeroed(alloc, cells, sizeof *self->waiting.steps)};
  self->running =
      (span_sums){.shares = load->running,
                  .steps = blis_alloc_zeroed(alloc, cells, sizeof *self->running.steps)};
  self->transferring = (span_sums){
      .shares = load->transferring,
      .steps = blis_alloc_zeroed(alloc, load->interval_count, sizeof *self->transferring.steps)};
  self->before_transfer = (span_sums){
      .shares = load->before_transfer,
      .steps = blis_alloc_zeroed(alloc, load->interval_count, sizeof *self->before_transfer.steps)};
  const void *const all[] = {load->waiting,
                             load->running,
                             load->arrived,
                             load->completed,
                             load->transferring,
                             load->before_transfer,
                             self->waiting.steps,
                             self->running.steps,
                             self->transferring.steps,
                             self->before_transfer.steps};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (all[i] == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  return BLIS_OK;
}

static void finish_all(const builder *self) {
  blis_load *load = self->load;
  finish(load, &self->waiting, load->instance_count, load->waiting);
  finish(load, &self->running, load->instance_count, load->running);
  finish(load, &self->transferring, 1, load->transferring);
  finish(load, &self->before_transfer, 1, load->before_transfer);
}

static void free_steps(const builder *self) {
  const blis_alloc *alloc = &self->load->alloc;
  size_t row = self->load->interval_count * sizeof *self->waiting.steps;
  blis_alloc_free(alloc, self->waiting.steps, self->load->instance_count * row);
  blis_alloc_free(alloc, self->running.steps, self->load->instance_count * row);
  blis_alloc_free(alloc, self->transferring.steps, row);
  blis_alloc_free(alloc, self->before_transfer.steps, row);
}

blis_status blis_load_init(blis_load *load, const blis_alloc *alloc, const blis_recorder *recorder,
                           size_t least_instances, size_t interval_count, int64_t to_us) {
  BLIS_ASSERT(least_instances > 0 && interval_count > 0 && to_us > 0);
  *load = (blis_load){.alloc = *alloc,
                      .instance_count = count_instances(recorder, least_instances),
                      .interval_count = interval_count,
                      .to_us = to_us};
  builder self = {.load = load};
  blis_status status = new_arrays(load, &self);
  if (status == BLIS_OK) {
    for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
      const blis_record record = blis_recorder_record(recorder, i);
      add_record(&self, recorder, i);
      count_record(load, &record);
    }
    finish_all(&self);
  }
  free_steps(&self);
  return status;
}

void blis_load_deinit(blis_load *load) {
  if (load->interval_count == 0) {
    return;
  }
  size_t cells = load->instance_count * load->interval_count;
  blis_alloc_free(&load->alloc, load->waiting, cells * sizeof *load->waiting);
  blis_alloc_free(&load->alloc, load->running, cells * sizeof *load->running);
  blis_alloc_free(&load->alloc, load->arrived, load->interval_count * sizeof *load->arrived);
  blis_alloc_free(&load->alloc, load->completed, load->interval_count * sizeof *load->completed);
  blis_alloc_free(&load->alloc, load->transferring,
                  load->interval_count * sizeof *load->transferring);
  blis_alloc_free(&load->alloc, load->before_transfer,
                  load->interval_count * sizeof *load->before_transfer);
  *load = (blis_load){0};
}
