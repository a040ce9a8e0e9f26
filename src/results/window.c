#include "results/window.h"

#include <stdlib.h>

#include "results/times.h"

static bool is_in(const blis_window *window, int64_t time_us) {
  return time_us >= window->from_us && time_us < window->to_us;
}

static void put_throughput(blis_window *window, const blis_recorder *recorder) {
  size_t count = blis_recorder_count(recorder);
  for (size_t i = 0; i < count; i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    if (blis_record_is_completed(&record) && is_in(window, record.end_us)) {
      window->completed++;
      window->output_tokens += record.output_tokens;
    }
  }
  double seconds = ((double)window->to_us - (double)window->from_us) / 1e6;
  window->requests_per_sec = (double)window->completed / seconds;
  window->tokens_per_sec = (double)window->output_tokens / seconds;
}

blis_status blis_window_fill(blis_window *window, const blis_alloc *alloc,
                             const blis_recorder *recorder, int64_t from_us, int64_t to_us) {
  *window = (blis_window){.group = {.name = ""}, .from_us = from_us, .to_us = to_us};
  const blis__record_store *store = blis__recorder_store(recorder);
  size_t count = store->records.count;
  blis__selection arrived = {.store = store};
  size_t size = count * sizeof *arrived.which;
  uint32_t *which = NULL;
  if (count > 0) {
    which = blis_alloc_new(alloc, size);
    if (which == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  for (size_t i = 0; i < count; i++) {
    if (is_in(window, store->records.items[i].arrival_us)) {
      which[arrived.count++] = (uint32_t)i;
    }
  }
  arrived.which = which;
  blis_status status =
      arrived.count == 0 ? BLIS_OK : blis__group_fill(&window->group, alloc, &arrived);
  blis_alloc_free(alloc, which, size);
  if (status == BLIS_OK) {
    put_throughput(window, recorder);
  }
  return status;
}

/* A completed request, by when it left. */
typedef struct completion {
  int64_t end_us;
  int64_t number;
  uint32_t index;
} completion;

static int compare_completions(const void *a, const void *b) {
  const completion *left = a;
  const completion *right = b;
  if (left->end_us != right->end_us) {
    return left->end_us < right->end_us ? -1 : 1;
  }
  return (left->number > right->number) - (left->number < right->number);
}

/* Of those that arrived from from_us to to_us. */
static size_t list_completions(completion *list, const blis_recorder *recorder, int64_t from_us,
                               int64_t to_us) {
  size_t found = 0;
  for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    if (blis_record_is_completed(&record) && record.arrival_us >= from_us &&
        record.arrival_us <= to_us) {
      list[found++] = (completion){record.end_us, record.number, (uint32_t)i};
    }
  }
  qsort(list, found, sizeof *list, compare_completions);
  return found;
}

/* Of the kept ones, which are in the order of their ends. */
static blis_status fill_with_completions(blis_window *window, const blis_alloc *alloc,
                                         const blis_recorder *recorder, const completion *kept,
                                         size_t count, uint32_t *which) {
  const blis__record_store *store = blis__recorder_store(recorder);
  window->from_us = store->records.items[kept[0].index].arrival_us;
  window->to_us = kept[count - 1].end_us;
  for (size_t i = 0; i < count; i++) {
    int64_t arrival_us = store->records.items[kept[i].index].arrival_us;
    window->from_us = arrival_us < window->from_us ? arrival_us : window->from_us;
    which[i] = kept[i].index;
  }
  const blis__selection selection = {store, which, count};
  BLIS_TRY(blis__group_fill(&window->group, alloc, &selection));
  window->completed = window->group.counts.completed;
  window->output_tokens = window->group.output_tokens;
  double seconds = (double)(window->to_us - window->from_us) / 1e6;
  if (seconds > 0) {
    window->requests_per_sec = (double)window->completed / seconds;
    window->tokens_per_sec = (double)window->output_tokens / seconds;
  }
  return BLIS_OK;
}

/* Of the completions of these arrivals behind the first skipped ones. */
static blis_status fill_behind(blis_window *window, const blis_alloc *alloc,
                               const blis_recorder *recorder, int64_t from_us, int64_t to_us,
                               size_t skipped) {
  *window = (blis_window){.group = {.name = ""}, .to_us = 1};
  size_t room = blis_recorder_count(recorder);
  if (room == 0) {
    return BLIS_OK;
  }
  completion *list = blis_alloc_new(alloc, room * sizeof *list);
  uint32_t *which = blis_alloc_new(alloc, room * sizeof *which);
  blis_status status = list == NULL || which == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
  if (status == BLIS_OK) {
    size_t found = list_completions(list, recorder, from_us, to_us);
    if (found > skipped) {
      status =
          fill_with_completions(window, alloc, recorder, list + skipped, found - skipped, which);
    }
  }
  blis_alloc_free(alloc, list, room * sizeof *list);
  blis_alloc_free(alloc, which, room * sizeof *which);
  return status;
}

blis_status blis_window_after_completed(blis_window *window, const blis_alloc *alloc,
                                        const blis_recorder *recorder, size_t count) {
  return fill_behind(window, alloc, recorder, INT64_MIN, INT64_MAX, count);
}

blis_status blis_window_of_cohort(blis_window *window, const blis_alloc *alloc,
                                  const blis_recorder *recorder, int64_t from_us, int64_t to_us) {
  return fill_behind(window, alloc, recorder, from_us, to_us, 0);
}
