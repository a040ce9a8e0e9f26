#include "results/instance_times.h"

#include "base/invariant.h"
#include "results/times.h"

/* Numbers of the records, those of one instance behind those of the last. */
typedef struct arrangement {
  const blis__record_store *store;
  size_t count;
  uint32_t *which;
  size_t *ends; /* in which, by instance */
} arrangement;

static void count_requests(const arrangement *a, blis_instance_times *times) {
  for (size_t i = 0; i < a->count; i++) {
    const blis__short_record *record = &a->store->records.items[i];
    if (record->instance >= 0) {
      blis_state_counts_add(&times[record->instance].counts, record->state);
    }
  }
}

/* First ends[k] is where instance k starts, and moves on with each record. */
static void distribute(arrangement *a, const blis_instance_times *times, uint32_t instances) {
  size_t start = 0;
  for (uint32_t k = 0; k < instances; k++) {
    a->ends[k] = start;
    start += (size_t)times[k].counts.arrived;
  }
  BLIS_ASSERT(start <= a->count);
  for (size_t i = 0; i < a->count; i++) {
    int32_t instance = a->store->records.items[i].instance;
    if (instance >= 0) {
      a->which[a->ends[instance]++] = (uint32_t)i;
    }
  }
  BLIS_ASSERT(instances == 0 || a->ends[instances - 1] == start);
}

static blis_status fill_all(blis_instance_times *times, uint32_t count, const blis_alloc *alloc,
                            const arrangement *a, blis_histogram *itl_us) {
  size_t start = 0;
  for (uint32_t k = 0; k < count; k++) {
    const blis__selection own = {a->store, a->which + start, a->ends[k] - start};
    if (times[k].counts.completed > 0) {
      BLIS_TRY(blis__times_fill(&times[k].times, alloc, &own, &itl_us[k]));
    }
    start = a->ends[k];
  }
  return BLIS_OK;
}

blis_status blis_instance_times_fill(blis_instance_times *times, uint32_t count,
                                     const blis_alloc *alloc, const blis_recorder *recorder,
                                     blis_histogram *itl_us) {
  arrangement a = {.store = blis__recorder_store(recorder), .count = blis_recorder_count(recorder)};
  for (uint32_t k = 0; k < count; k++) {
    times[k] = (blis_instance_times){0};
  }
  if (a.count == 0) {
    return BLIS_OK;
  }
  count_requests(&a, times);
  a.which = blis_alloc_new(alloc, a.count * sizeof *a.which);
  a.ends = blis_alloc_new(alloc, count * sizeof *a.ends);
  blis_status status = BLIS_ERR_NOMEM;
  if (a.which != NULL && a.ends != NULL) {
    distribute(&a, times, count);
    status = fill_all(times, count, alloc, &a, itl_us);
  }
  blis_alloc_free(alloc, a.which, a.count * sizeof *a.which);
  blis_alloc_free(alloc, a.ends, count * sizeof *a.ends);
  return status;
}
