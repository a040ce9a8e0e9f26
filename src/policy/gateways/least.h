/*
 * least.h - the choice of the candidate with the least of a formula, and the inputs
 * of such formulas.
 *
 * A policy of this form consists of its formula and a blis__least in its rule
 * (policy/gateways/gateway.h).
 */
#ifndef BLIS_POLICY_GATEWAYS_LEAST_H
#define BLIS_POLICY_GATEWAYS_LEAST_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/contract/view.h"

/* A number of candidate i; never NaN. */
typedef double blis__figure(const blis_question *q, size_t i);

enum { BLIS__LEAST_MAX = 3 };

typedef struct blis__least {
  /* Each decides among candidates that are equal by the earlier ones. */
  blis__figure *by[BLIS__LEAST_MAX];
  bool takes_last; /* of those equal by all; otherwise the first */
} blis__least;

/* The candidate that it takes. O(candidates). */
size_t blis__least_of(const blis_question *q, const blis__least *least);

static inline double blis__column_at(const blis_question *q, blis_signal signal, size_t i) {
  return q->view->columns[signal][i];
}

/* Inputs that are a signal. */
double blis__in_flight(const blis_question *q, size_t i);
double blis__kv_utilization(const blis_question *q, size_t i);
/* 0 - cached tokens: least where most is cached. */
double blis__cached_negated(const blis_question *q, size_t i);

#endif
