/*
 * scorer.h - rates every candidate for one request, from 0 (worst) to 1 (best).
 *
 * Scorers are combined by the weighted router (policy/pipeline/weighted.h), which clamps their
 * values and rejects NaN. Built-in scorers and Lua functions have the same interface.
 */
#ifndef BLIS_POLICY_CONTRACT_SCORER_H
#define BLIS_POLICY_CONTRACT_SCORER_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

/*
 * Rules that compute a score from 0 to 1 from one signal with values v >= 0. No score increases
 * with v.
 */
typedef enum blis_score_rule {
  BLIS_SCORE_LEAST,      /* (max - v) / (max - min); 1 if all are equal */
  BLIS_SCORE_IDLE,       /* (max - v) / max * factor; 1 for v <= threshold */
  BLIS_SCORE_REST,       /* 1 - v; 0 for v >= 1 */
  BLIS_SCORE_RECIPROCAL, /* 1 / (1 + v) */
  BLIS_SCORE_BELOW,      /* factor * (1 - min(v, threshold) / threshold) */
} blis_score_rule;

typedef struct blis_score_form {
  blis_score_rule rule;
  blis_signal signal; /* not a signal of a request; min and max are over candidates */
  double threshold;   /* >= 0 */
  double factor;      /* 0 to 1 */
} blis_score_form;

typedef struct blis_scorer_ops {
  /* Writes scores[0 .. view->count). */
  blis_status (*score)(const blis_question *q, double *scores);
  /*
   * Returns the rule that score() applies to every candidate. NULL if score() is not such a rule.
   * The result never changes.
   */
  blis_score_form (*form)(const void *state);
  /*
   * Like score(), for a view of all instances and a scorer whose score is 0 for all but a few
   * candidates. All scores are 0 before the call. It writes the scores above 0 and lists their
   * indices in few[0 .. *count), which has capacity for all. NULL if unsupported.
   */
  blis_status (*score_few)(const blis_question *q, double *scores, uint32_t *few, size_t *count);
  /* Called after every decision, for scorers with a memory; NULL if not needed. */
  blis_status (*observe)(const blis_question *q, size_t chosen);
  /*
   * Returns the leading prompt tokens that the scorer predicted to be cached on a candidate of the
   * last scored view. NULL if the scores do not depend on cached tokens.
   */
  int64_t (*believed_tokens)(const void *state, const blis_routing_view *view, size_t candidate);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_scorer_ops;

typedef struct blis_scorer {
  const blis_scorer_ops *ops;
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  blis_signal_set needs; /* columns that it reads; view->column can add others */
  const char *name;      /* static or owned by state */
} blis_scorer;

/* Idempotent; an all-zero scorer is allowed. */
void blis_scorer_free(blis_scorer *scorer);

#endif
