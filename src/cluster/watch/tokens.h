/*
 * tokens.h - a receiver of every output token, for programs that hand out tokens while a run goes
 * on.
 *
 * A run with a receiver computes every step (the stepwise engine), with equal results. A run
 * without a receiver pays nothing.
 */
#ifndef BLIS_CLUSTER_WATCH_TOKENS_H
#define BLIS_CLUSTER_WATCH_TOKENS_H

#include "cluster/cluster.h"

typedef struct blis_token {
  int64_t request; /* number of its request */
  int64_t number;  /* from 1; from 1 again where a preemption starts the output anew */
  int64_t at_us;   /* when the client receives it */
  uint32_t instance;
} blis_token;

/*
 * The options of BLIS_FEATURE_TOKENS; copied. Both functions are set. A token is reported when its
 * step has its effects, which is at or before at_us. The tokens of a request come in order. Tokens
 * of different instances come in no order of time, but all up to the limit of
 * blis_cluster_run_until have come when it returns. A failure stops the run.
 */
typedef struct blis_token_sink {
  void *ud;
  blis_status (*token)(void *ud, const blis_token *token, blis_error *error);
  /* A request has ended, after all of its tokens; not for what is unfinished at the end. */
  blis_status (*ended)(void *ud, const blis_request_end *end, blis_error *error);
} blis_token_sink;

#endif
