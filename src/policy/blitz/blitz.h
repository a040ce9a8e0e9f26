/*
 * blitz.h - the engine metrics that the baseline policies of LMetric's authors use.
 *
 * Metrics of a candidate:
 *
 *   waiting      requests that have not started
 *   requests     waiting + running
 *   wait tokens  prompt tokens to be computed on the candidate, including this request
 *
 * Among equal lowest values, the first instance is chosen; among equal highest values, the last.
 */
#ifndef BLIS_POLICY_BLITZ_BLITZ_H
#define BLIS_POLICY_BLITZ_BLITZ_H

#include "policy/gateways/gateway.h"

static inline double blis__blitz_cached(const blis_question *q, size_t i) {
  return blis__column_at(q, BLIS_SIGNAL_CACHED_TOKENS, i);
}

static inline double blis__blitz_waiting(const blis_question *q, size_t i) {
  return blis__column_at(q, BLIS_SIGNAL_QUEUE_DEPTH, i) +
         blis__column_at(q, BLIS_SIGNAL_PENDING, i);
}

static inline double blis__blitz_requests(const blis_question *q, size_t i) {
  return blis__blitz_waiting(q, i) + blis__column_at(q, BLIS_SIGNAL_BATCH_SIZE, i);
}

static inline double blis__blitz_wait_tokens(const blis_question *q, size_t i) {
  return blis__column_at(q, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, i) +
         (double)q->request->prompt_tokens - blis__blitz_cached(q, i);
}

#define BLIS__BLITZ_NEEDS_COUNTS                                                                   \
  (BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING) |               \
   BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE))
#define BLIS__BLITZ_NEEDS_TOKENS                                                                   \
  (BLIS_SIGNAL_BIT(BLIS_SIGNAL_PENDING_PREFILL_TOKENS) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS))

#define BLIS__BLITZ_SOURCE "LMetric authors' blitz-router 1e3f21c5"

#endif
