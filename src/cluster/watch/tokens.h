/*
 * tokens.h - a receiver of every output token, for programs that stream tokens during a run.
 *
 * A run with a receiver uses the stepwise engine, which computes every step; the results are the
 * same. A run without a receiver has no overhead.
 */
#ifndef BLIS_CLUSTER_WATCH_TOKENS_H
#define BLIS_CLUSTER_WATCH_TOKENS_H

#include "cluster/cluster.h"

typedef struct blis_token {
  int64_t request; /* number of its request */
  int64_t number;  /* from 1; starts again at 1 if a preemption restarts the output */
  int64_t at_us;   /* time at which the client receives it */
  uint32_t instance;
} blis_token;

/*
 * The options of BLIS_FEATURE_TOKENS; copied. Both functions must be set. A token is reported when
 * its step takes effect, which is at or before at_us. The tokens of a request are reported in
 * order. Tokens of different instances are not in time order, but when blis_cluster_run_until
 * returns, all tokens up to its limit have been reported. A failure stops the run.
 */
typedef struct blis_token_sink {
  void *ud;
  blis_status (*token)(void *ud, const blis_token *token, blis_error *error);
  /*
   * Called when a request has ended, after all of its tokens. Not called for requests that are
   * unfinished at the end of the run.
   */
  blis_status (*ended)(void *ud, const blis_request_end *end, blis_error *error);
} blis_token_sink;

#endif
