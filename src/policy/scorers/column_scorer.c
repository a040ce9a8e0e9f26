#include "policy/scorers/column_scorer.h"

#include <string.h>

#include "base/containers/reduce.h"

typedef struct bounds {
  double lowest;
  double highest;
} bounds;

static bounds bounds_of(const double *values, size_t count) {
  return (bounds){blis_least_of(values, count), blis_greatest_of(values, count)};
}

blis__column_rule blis__column_rule_of(const blis_score_form *form, const double *values,
                                       size_t count) {
  bool needs_bounds = form->rule == BLIS_SCORE_LEAST || form->rule == BLIS_SCORE_IDLE;
  bounds b = needs_bounds ? bounds_of(values, count) : (bounds){0, 0};
  return (blis__column_rule){*form, b.lowest, b.highest};
}

/*
 * Computes the score for each value v, in a separate loop for each rule. Rules return 0 to 1, so no
 * clamping is needed.
 */
#define ADD_EACH(score)                                                                            \
  for (size_t i = 0; i < count; i++) {                                                             \
    double v = values[i];                                                                          \
    sums[i] += (score)*weight;                                                                     \
  }

static void add_least(const blis__column_rule *rule, const double *restrict values, size_t count,
                      double weight, double *restrict sums) {
  double highest = rule->greatest;
  double range = highest - rule->least;
  if (range == 0) {
    for (size_t i = 0; i < count; i++) {
      sums[i] += weight;
    }
    return;
  }
  ADD_EACH((highest - v) / range)
}

void blis__column_rule_add(const blis__column_rule *rule, const double *restrict values,
                           size_t count, double weight, double *restrict sums) {
  double threshold = rule->form.threshold;
  double factor = rule->form.factor;
  double highest = rule->greatest;
  switch (rule->form.rule) {
  case BLIS_SCORE_LEAST:
    add_least(rule, values, count, weight, sums);
    return;
  case BLIS_SCORE_IDLE:
    ADD_EACH(v <= threshold ? 1 : (highest - v) / highest * factor)
    return;
  case BLIS_SCORE_REST:
    ADD_EACH(1 - (v < 1 ? v : 1))
    return;
  case BLIS_SCORE_RECIPROCAL:
    ADD_EACH(1 / (1 + v))
    return;
  case BLIS_SCORE_BELOW:
    ADD_EACH(factor * (1 - (v < threshold ? v : threshold) / threshold))
    return;
  }
}

void blis__score_by_form(const blis_score_form *form, const blis_routing_view *view,
                         double *scores) {
  const double *values = view->columns[form->signal];
  blis__column_rule rule = blis__column_rule_of(form, values, view->count);
  memset(scores, 0, view->count * sizeof *scores);
  blis__column_rule_add(&rule, values, view->count, 1, scores);
}

static void fill(double *scores, size_t count, double value) {
  for (size_t i = 0; i < count; i++) {
    scores[i] = value;
  }
}

void blis__score_least(const double *values, size_t count, double *scores) {
  bounds b = bounds_of(values, count);
  if (b.lowest == b.highest) {
    fill(scores, count, 1);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    scores[i] = (b.highest - values[i]) / (b.highest - b.lowest);
  }
}

void blis__score_most(const double *values, size_t count, double *scores) {
  bounds b = bounds_of(values, count);
  if (b.lowest == b.highest) {
    fill(scores, count, 1);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    scores[i] = (values[i] - b.lowest) / (b.highest - b.lowest);
  }
}
