/* instance_history.h - the state of an instance that a gateway can observe from requests and
 * responses: tokens in flight, recent latencies, and busy time.
 *
 * An engine counts as busy while it has requests. Every operation is O(1). */
#ifndef BLIS_CLUSTER_SIGNALS_INSTANCE_HISTORY_H
#define BLIS_CLUSTER_SIGNALS_INSTANCE_HISTORY_H

#include <stdint.h>

/* Weight of a new value in the moving means of recent latencies. */
#define BLIS__RECENT_SHARE (1.0 / 16)

/* Window for the busy fraction, in seconds. */
enum { BLIS__BUSY_WINDOW_S = 30 };

/* Initially all zero. */
typedef struct blis__instance_history {
  int64_t requests;      /* requests in flight */
  double recent_ttft_us; /* 0 = none yet */
  double recent_tpot_us; /* 0 = none yet */
  int64_t served;        /* completed requests */
  int64_t busy_from_us;  /* start of the busy time that is not in busy_us yet */
  int64_t last_second;   /* the newest second in busy_us, which is a ring buffer */
  int64_t busy_us[BLIS__BUSY_WINDOW_S];
} blis__instance_history;

void blis__history_join(blis__instance_history *history, int64_t now_us);

/* Records that a request leaves at at_us, the end of its last step, which may be in the future. */
void blis__history_leave(blis__instance_history *history, int64_t at_us);

void blis__history_first_token(blis__instance_history *history, int64_t ttft_us);

/* Records a completed request with this mean inter-token latency; < 0 = it had only one token. */
void blis__history_completed(blis__instance_history *history, double itl_us);

/*
 * Returns the fraction of the last 30 s, in whole seconds, during which the instance had requests.
 */
double blis__history_utilization(blis__instance_history *history, int64_t now_us);

#endif
