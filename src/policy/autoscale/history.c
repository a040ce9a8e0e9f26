#include "policy/autoscale/history.h"

#include <math.h>

int64_t blis_scale_window_start_us(int64_t now_us, double window_s) {
  return now_us - llround(window_s * 1e6);
}

static void forget(blis_scale_history *history, int64_t before_us) {
  size_t count = history->count;
  size_t first = 0;
  while (first < count && history->items[first].time_us <= before_us) {
    first++;
  }
  if (first <= count / 2) {
    return;
  }
  for (size_t i = first; i < count; i++) {
    history->items[i - first] = history->items[i];
  }
  history->count -= first;
}

blis_status blis_scale_history_add(blis_scale_history *history, const blis_alloc *alloc,
                                   int64_t now_us, double window_s, double value) {
  forget(history, blis_scale_window_start_us(now_us, window_s));
  const blis_scale_point point = {now_us, value};
  return blis_array_push(alloc, history, point);
}
