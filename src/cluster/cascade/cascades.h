/*
 * cascades.h - the state of a cascade in a cluster: its chains of models, as IDs in the source's
 * string table, and the progress of its requests.
 */
#ifndef BLIS_CLUSTER_CASCADE_CASCADES_H
#define BLIS_CLUSTER_CASCADE_CASCADES_H

#include "base/arena.h"
#include "base/array.h"
#include "base/pool.h"
#include "policy/cascade/cascade.h"

/* A chain of model IDs, at a fixed address. */
typedef struct blis__chain {
  const uint32_t *models;
  uint32_t count; /* 0 = the request is not part of the cascade */
} blis__chain;

/* State of a request in the cascade. */
typedef struct blis__cascade_run {
  const blis__chain *chain;
  uint32_t slot;  /* index in the pool of requests */
  uint32_t stage; /* current position in the chain */
  uint32_t steps; /* number of models tried so far */
  uint32_t wanted_model;
  uint32_t wanted_output_tokens;
  bool shared_output; /* value of shares_output on arrival */
  int64_t start_us;   /* start of the current attempt */
  blis_cascade_answer answer;
  bool is_judged; /* the current attempt is judged, so the next three members are set */
  uint32_t next;
  blis_cascade_verdict verdict;
  blis_cascade_attempt attempt;
} blis__cascade_run;

typedef struct blis__cascades {
  blis_cascade policy;
  blis_arena arena;                         /* memory of the chains */
  blis_pool runs;                           /* blis__cascade_run */
  blis__chain *chains;                      /* chains of the policy, in order */
  BLIS_ARRAY(const blis__chain *) by_model; /* indexed by model ID */
  BLIS_ARRAY(const blis__chain *) by_text;  /* indexed by the ID of a request's own chain */
} blis__cascades;

#endif
