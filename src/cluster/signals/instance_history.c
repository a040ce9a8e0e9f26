#include "cluster/signals/instance_history.h"

#include <string.h>

#include "base/invariant.h"

#define SECOND_US INT64_C(1000000)

static int64_t *place_of(blis__instance_history *history, int64_t second) {
  return &history->busy_us[second % BLIS__BUSY_WINDOW_S];
}

/* Makes `second` the newest second and drops data older than the window. */
static void go_on_to(blis__instance_history *history, int64_t second) {
  if (second - history->last_second >= BLIS__BUSY_WINDOW_S) {
    memset(history->busy_us, 0, sizeof history->busy_us);
    history->last_second = second;
  }
  while (history->last_second < second) {
    *place_of(history, ++history->last_second) = 0;
  }
}

static void add_busy(blis__instance_history *history, int64_t from_us, int64_t to_us) {
  int64_t oldest_us = to_us - BLIS__BUSY_WINDOW_S * SECOND_US;
  from_us = from_us > oldest_us ? from_us : oldest_us;
  while (from_us < to_us) {
    int64_t second = from_us / SECOND_US;
    int64_t end_us = (second + 1) * SECOND_US;
    end_us = end_us < to_us ? end_us : to_us;
    go_on_to(history, second);
    *place_of(history, second) += end_us - from_us;
    from_us = end_us;
  }
}

/* Adds the busy time until now to the seconds. */
static void settle(blis__instance_history *history, int64_t now_us) {
  if (history->requests > 0 && now_us > history->busy_from_us) {
    add_busy(history, history->busy_from_us, now_us);
  }
  if (now_us > history->busy_from_us) {
    history->busy_from_us = now_us;
  }
}

void blis__history_join(blis__instance_history *history, int64_t now_us) {
  settle(history, now_us);
  history->requests++;
}

void blis__history_leave(blis__instance_history *history, int64_t at_us) {
  BLIS_ASSERT(history->requests > 0);
  settle(history, at_us);
  history->requests--;
}

static double moved(double mean, double value) {
  return mean == 0 ? value : mean + (value - mean) * BLIS__RECENT_SHARE;
}

void blis__history_first_token(blis__instance_history *history, int64_t ttft_us) {
  history->recent_ttft_us = moved(history->recent_ttft_us, (double)ttft_us);
}

void blis__history_completed(blis__instance_history *history, double itl_us) {
  history->served++;
  if (itl_us >= 0) {
    history->recent_tpot_us = moved(history->recent_tpot_us, itl_us);
  }
}

double blis__history_utilization(blis__instance_history *history, int64_t now_us) {
  settle(history, now_us);
  int64_t second = now_us / SECOND_US;
  if (second > history->last_second) {
    go_on_to(history, second);
  }
  int64_t busy_us = 0;
  for (int i = 0; i < BLIS__BUSY_WINDOW_S; i++) {
    busy_us += history->busy_us[i];
  }
  int64_t from_us = (second - BLIS__BUSY_WINDOW_S + 1) * SECOND_US;
  int64_t window_us = now_us - (from_us > 0 ? from_us : 0);
  double share = window_us > 0 ? (double)busy_us / (double)window_us : 0;
  return share < 1 ? share : 1; /* the last step may end later */
}
