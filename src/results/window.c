#include "results/window.h"

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
                             const blis_recorder *recorder, int64_t from_us,
                             int64_t to_us) {
  *window =
      (blis_window){.group = {.name = ""}, .from_us = from_us, .to_us = to_us};
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
  blis_status status = arrived.count == 0
                           ? BLIS_OK
                           : blis__group_fill(&window->group, alloc, &arrived);
  blis_alloc_free(alloc, which, size);
  if (status == BLIS_OK) {
    put_throughput(window, recorder);
  }
  return status;
}
