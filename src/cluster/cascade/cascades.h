/*
 * cascades.h - the state of a cascade in a cluster: its chains of models, as
 * ids in the source's string table, and the progress of the requests in it.
 */
#ifndef BLIS_CLUSTER_CASCADE_CASCADES_H
#define BLIS_CLUSTER_CASCADE_CASCADES_H

#include "base/arena.h"
#include "base/array.h"
#include "base/pool.h"
#include "policy/cascade/cascade.h"

/* Numbers of models; never moves. */
typedef struct blis__chain {
  const uint32_t *models;
  uint32_t count; /* 0: no part in the cascade */
} blis__chain;

/* State of a request that takes part. */
typedef struct blis__cascade_run {
  const blis__chain *chain;
  uint32_t slot;  /* in the pool */
  uint32_t stage; /* that is being asked */
  uint32_t steps; /* models asked so far */
  uint32_t wanted_model;
  uint32_t wanted_output_tokens;
  bool shared_output; /* its shares_output when it came */
  int64_t start_us;   /* of the attempt at hand */
  blis_cascade_answer answer;
  bool is_judged; /* the next four are about the attempt at hand */
  uint32_t next;
  blis_cascade_verdict verdict;
  blis_cascade_attempt attempt;
} blis__cascade_run;

typedef struct blis__cascades {
  blis_cascade policy;
  blis_arena arena;                         /* of the chains */
  blis_pool runs;                           /* blis__cascade_run */
  blis__chain *chains;                      /* chains of the policy, in its order */
  BLIS_ARRAY(const blis__chain *) by_model; /* by number of the model */
  BLIS_ARRAY(const blis__chain *) by_text;  /* by number of a request's own */
} blis__cascades;

#endif
