#include "results/summary/goodput.h"

#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "results/record/record.h"

/* The target of every class, by string number; -1 = none. */
typedef BLIS_ARRAY(int32_t) target_list;

static int32_t find_target(const blis_goodput_target *targets, size_t count,
                           const char *slo_class) {
  const char *name = slo_class[0] == '\0' ? "default" : slo_class;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(targets[i].slo_class, name) == 0) {
      return (int32_t)i;
    }
  }
  return -1;
}

static blis_status list_targets(target_list *list, const blis_alloc *alloc,
                                const blis_goodput_target *targets, size_t count,
                                const blis_intern *strings, uint32_t last_class) {
  while (list->count <= last_class) {
    const char *name = blis_intern_text(strings, (uint32_t)list->count);
    BLIS_TRY(blis_array_push(alloc, list, find_target(targets, count, name)));
  }
  return BLIS_OK;
}

/* Returns whether a target is met. Without a target, every request meets it. */
static bool is_met(const blis_record *record, blis_latency_kind kind, double target_ms) {
  return target_ms <= 0 || blis_record_is_within(record, kind, target_ms);
}

static bool is_good(const blis_goodput_target *target, const blis_record *record) {
  return blis_record_is_completed(record) && is_met(record, BLIS_LATENCY_TTFT, target->ttft_ms) &&
         is_met(record, BLIS_LATENCY_ITL, target->itl_ms) &&
         is_met(record, BLIS_LATENCY_E2E, target->e2e_ms);
}

static void count_record(blis_goodput *goodput, const blis_goodput_target *target,
                         const blis_record *record) {
  goodput->arrived++;
  if (!blis_record_is_completed(record)) {
    return;
  }
  goodput->completed++;
  bool ttft = is_met(record, BLIS_LATENCY_TTFT, target->ttft_ms);
  bool itl = is_met(record, BLIS_LATENCY_ITL, target->itl_ms);
  bool e2e = is_met(record, BLIS_LATENCY_E2E, target->e2e_ms);
  goodput->ttft_met += ttft;
  goodput->itl_met += itl;
  goodput->e2e_met += e2e;
  goodput->good += ttft && itl && e2e;
}

blis_status blis_goodput_fill(blis_goodput *goodputs, const blis_goodput_target *targets,
                              size_t count, const blis_alloc *alloc, const blis_recorder *recorder,
                              const blis_intern *strings) {
  size_t records_count = blis_recorder_count(recorder);
  target_list target_of_class = {0};
  blis_status status = BLIS_OK;
  memset(goodputs, 0, count * sizeof *goodputs);
  for (size_t i = 0; status == BLIS_OK && i < records_count; i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    status = list_targets(&target_of_class, alloc, targets, count, strings, record.slo_class);
    int32_t target = status == BLIS_OK ? target_of_class.items[record.slo_class] : -1;
    if (target >= 0) {
      count_record(&goodputs[target], &targets[target], &record);
    }
  }
  blis_array_deinit(alloc, &target_of_class);
  for (size_t k = 0; k < count; k++) {
    blis_goodput *goodput = &goodputs[k];
    BLIS_ASSERT(goodput->good <= goodput->ttft_met && goodput->good <= goodput->itl_met &&
                goodput->good <= goodput->e2e_met);
    BLIS_ASSERT(goodput->e2e_met <= goodput->completed && goodput->completed <= goodput->arrived);
    goodput->attainment =
        goodput->arrived == 0 ? 0 : (double)goodput->good / (double)goodput->arrived;
  }
  return status;
}

/* Returns the span that contains a time, which is not before the first span. */
static blis_goodput_span *span_of(blis_goodput_span *spans, size_t count, int64_t time_us) {
  size_t low = 0;
  for (size_t high = count; high - low > 1;) {
    size_t middle = low + (high - low) / 2;
    if (spans[middle].from_us <= time_us) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return &spans[low];
}

blis_status blis_goodput_over_time(blis_goodput_span *spans, size_t span_count,
                                   const blis_goodput_target *targets, size_t count,
                                   const blis_alloc *alloc, const blis_recorder *recorder,
                                   const blis_intern *strings) {
  size_t records_count = blis_recorder_count(recorder);
  target_list target_of_class = {0};
  blis_status status = BLIS_OK;
  for (size_t k = 0; k < span_count; k++) {
    BLIS_ASSERT(k == 0 || spans[k].from_us >= spans[k - 1].from_us);
    spans[k] = (blis_goodput_span){.from_us = spans[k].from_us};
  }
  for (size_t i = 0; status == BLIS_OK && i < records_count && span_count > 0; i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    if (record.arrival_us < spans[0].from_us) {
      continue;
    }
    status = list_targets(&target_of_class, alloc, targets, count, strings, record.slo_class);
    int32_t target = status == BLIS_OK ? target_of_class.items[record.slo_class] : -1;
    blis_goodput_span *span = span_of(spans, span_count, record.arrival_us);
    span->arrived++;
    span->judged += target >= 0;
    span->good += target >= 0 && is_good(&targets[target], &record);
  }
  blis_array_deinit(alloc, &target_of_class);
  return status;
}
