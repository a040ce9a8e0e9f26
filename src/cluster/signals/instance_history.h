/* instance_history.h - an instance as seen by a gateway, from the requests that it sends and
 * that return: tokens in flight, recent latencies, and busy time.
 *
 * An engine is busy while it has requests. Every operation is O(1). */
#ifndef BLIS_CLUSTER_SIGNALS_INSTANCE_HISTORY_H
#define BLIS_CLUSTER_SIGNALS_INSTANCE_HISTORY_H

#include <stdint.h>

/* Recent latencies are moving means: each new value has this share. */
#define BLIS__RECENT_SHARE (1.0 / 16)

/* Seconds that a share of busy time is about. */
enum { BLIS__BUSY_WINDOW_S = 30 };

/* Initially all zero. */
typedef struct blis__instance_history {
  int64_t requests;      /* requests in flight */
  double recent_ttft_us; /* 0 = none yet */
  double recent_tpot_us; /* 0 = none yet */
  int64_t served;        /* completed */
  int64_t busy_from_us;  /* of the time that is not in the seconds yet */
  int64_t last_second;   /* the newest of these, which go round */
  int64_t busy_us[BLIS__BUSY_WINDOW_S];
} blis__instance_history;

void blis__history_join(blis__instance_history *history, int64_t now_us);

/* A request leaves at at_us, which can be in the future: the end of its last step. */
void blis__history_leave(blis__instance_history *history, int64_t at_us);

void blis__history_first_token(blis__instance_history *history, int64_t ttft_us);

/* Its tokens came itl_us apart on average; < 0 = it had one token. */
void blis__history_completed(blis__instance_history *history, double itl_us);

/* Share of the last 30 s, by whole seconds, in which it had requests. */
double blis__history_utilization(blis__instance_history *history, int64_t now_us);

#endif
