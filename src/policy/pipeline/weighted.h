/*
 * weighted.h - the pipeline filters -> scorers -> picker: the router that adds up the weighted
 * scores of the candidates that pass its filters.
 *
 * The formula is composite = sum of weight / (sum of weights) * score, in list order, each score
 * clamped to [0, 1]; a NaN stops the run and names its scorer. Then every filter and scorer with a
 * memory observes the decision, in list order. Cost: one pass over the candidates per scorer and
 * one for the choice, and far less if a search can find the best candidate
 * (policy/pipeline/weighted_search.h).
 *
 * Parameters: picker, the name or alias of any picker in policy/pickers/pickers.c; and tie,
 * temperature, and exploration, if the picker has them.
 */
#ifndef BLIS_POLICY_PIPELINE_WEIGHTED_H
#define BLIS_POLICY_PIPELINE_WEIGHTED_H

#include "policy/contract/entry.h"

typedef struct blis_weighted_item {
  blis_scorer scorer;
  double weight; /* finite and > 0; only ratios matter */
} blis_weighted_item;

/* The parts of a weighted router; arrays may be NULL when empty. */
typedef struct blis_weighted_parts {
  blis_filter *filters;
  size_t filter_count;
  blis_weighted_item *items;
  size_t count;        /* >= 1 */
  blis_picker *picker; /* NULL = chosen by the parameters */
} blis_weighted_parts;

enum { BLIS__WEIGHTED_PARAM_COUNT = 4 };
extern const blis_param_spec blis__weighted_params[BLIS__WEIGHTED_PARAM_COUNT];

/*
 * Takes ownership of the filters, scorers, and picker of parts, even on failure. Checks params
 * (NULL = all defaults). The message of BLIS_ERR_INVALID names the invalid parameter or weight, or
 * the duplicate scorer. The caller owns *router.
 */
BLIS_MUSTUSE blis_status blis_weighted_new(const blis_alloc *alloc,
                                           const blis_weighted_parts *parts,
                                           const blis_params *params,
                                           const blis_policy_context *context, blis_router *router,
                                           blis_error *error);

#endif
