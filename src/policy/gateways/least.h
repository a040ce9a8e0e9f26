/*
 * least.h - selects the candidate with the lowest value of a formula, and provides inputs of such
 * formulas.
 *
 * A policy of this form consists of its formula and a blis__least in its rule
 * (policy/gateways/gateway.h).
 */
#ifndef BLIS_POLICY_GATEWAYS_LEAST_H
#define BLIS_POLICY_GATEWAYS_LEAST_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/contract/view.h"

/* Returns a value of candidate i; never NaN. */
typedef double blis__figure(const blis_question *q, size_t i);

enum { BLIS__LEAST_MAX = 3 };

typedef struct blis__least {
  /* Formulas in order: each one breaks the ties of the previous ones. */
  blis__figure *by[BLIS__LEAST_MAX];
  bool takes_last; /* takes the last of the candidates that are equal by all formulas; otherwise
                      the first */
} blis__least;

/* Returns the selected candidate. O(candidates). */
size_t blis__least_of(const blis_question *q, const blis__least *least);

static inline double blis__column_at(const blis_question *q, blis_signal signal, size_t i) {
  return q->view->columns[signal][i];
}

/* Inputs that are signals. */
double blis__in_flight(const blis_question *q, size_t i);
double blis__kv_utilization(const blis_question *q, size_t i);
/* Negated cached tokens, so the lowest value is the candidate with the most cached tokens. */
double blis__cached_negated(const blis_question *q, size_t i);

#endif
