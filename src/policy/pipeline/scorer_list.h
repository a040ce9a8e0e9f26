/*
 * scorer_list.h - "prefix-affinity:3,queue-depth:2": built-in scorers and their weights as one
 * string.
 *
 * Parts are separated by commas. Spaces around names and numbers are ignored. Weights are decimal
 * numbers with an optional exponent.
 */
#ifndef BLIS_POLICY_PIPELINE_SCORER_LIST_H
#define BLIS_POLICY_PIPELINE_SCORER_LIST_H

#include "policy/contract/entry.h"

enum { BLIS_SCORER_LIST_MAX = 32 };

/* Contains each scorer at most once. */
typedef struct blis_scorer_list {
  size_t count;
  const blis_policy_entry *entries[BLIS_SCORER_LIST_MAX];
  double weights[BLIS_SCORER_LIST_MAX];
} blis_scorer_list;

/*
 * Parses a list. A string of spaces is an empty list. The message of BLIS_ERR_INVALID starts with
 * place (a flag or a key) and names the invalid part and the allowed values.
 */
BLIS_MUSTUSE blis_status blis_scorer_list_parse(blis_scorer_list *list, const char *text,
                                                const char *place, blis_error *error);

/*
 * Creates a weighted router from a nonempty list. All scorers have their default parameters; params
 * is passed to blis_weighted_new.
 */
BLIS_MUSTUSE blis_status blis_scorer_list_router(const blis_alloc *alloc,
                                                 const blis_scorer_list *list,
                                                 const blis_params *params,
                                                 const blis_policy_context *context,
                                                 blis_router *router, blis_error *error);

#endif
