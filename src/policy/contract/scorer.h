/*
 * scorer.h - rates every candidate for one request, 0 (worst) to 1 (best).
 *
 * Scorers are combined by the weighted router (policy/pipeline/weighted.h), which
 * clamps their values and refuses a NaN. Built-in scorers and Lua functions have
 * the same interface.
 */
#ifndef BLIS_POLICY_CONTRACT_SCORER_H
#define BLIS_POLICY_CONTRACT_SCORER_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

/*
 * Scores from 0 to 1 that follow from one signal, whose values v are >= 0; none
 * rises with v.
 */
typedef enum blis_score_rule {
  BLIS_SCORE_LEAST,      /* (max - v) / (max - min); 1 when equal */
  BLIS_SCORE_IDLE,       /* (max - v) / max * factor; 1 up to v = threshold */
  BLIS_SCORE_REST,       /* 1 - v; 0 from v = 1 on */
  BLIS_SCORE_RECIPROCAL, /* 1 / (1 + v) */
  BLIS_SCORE_BELOW,      /* factor * (1 - min(v, threshold) / threshold) */
} blis_score_rule;

typedef struct blis_score_form {
  blis_score_rule rule;
  blis_signal signal; /* no signal of a request; min and max over candidates */
  double threshold;   /* >= 0 */
  double factor;      /* 0 to 1 */
} blis_score_form;

typedef struct blis_scorer_ops {
  /* Writes scores[0 .. view->count). */
  blis_status (*score)(const blis_question *q, double *scores);
  /*
   * What score() says of every candidate, where it is such a rule; NULL when it
   * is not. The same at all times.
   */
  blis_score_form (*form)(const void *state);
  /*
   * Like score(), for a view of all instances and a scorer that gives 0 to all but
   * a few. All scores are 0 before the call. It writes the scores above 0 and lists
   * their places in few[0 .. *count), which has capacity for all. NULL if
   * unsupported.
   */
  blis_status (*score_few)(const blis_question *q, double *scores, uint32_t *few, size_t *count);
  /* After every decision, for scorers with a memory; NULL when not wanted. */
  blis_status (*observe)(const blis_question *q, size_t chosen);
  /*
   * Leading prompt tokens that it took to be cached at a candidate scored last;
   * NULL when its scores do not say.
   */
  int64_t (*believed_tokens)(const void *state, const blis_routing_view *view, size_t candidate);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_scorer_ops;

typedef struct blis_scorer {
  const blis_scorer_ops *ops;
  void *state;
  size_t state_size; /* freed after ops->free; 0 = that does it */
  blis_alloc alloc;
  blis_signal_set needs; /* columns it reads; more by view->column */
  const char *name;      /* static, or owned by state */
} blis_scorer;

/* Idempotent; an all-zero scorer is allowed. */
void blis_scorer_free(blis_scorer *scorer);

#endif
