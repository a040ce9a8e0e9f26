/*
 * scorer_list.h - "prefix-affinity:3,queue-depth:2": built-in scorers and
 * their weights as one text.
 *
 * Parts are separated by commas, spaces around names and numbers are ignored,
 * weights are decimal numbers with an optional exponent.
 */
#ifndef BLIS_POLICY_PIPELINE_SCORER_LIST_H
#define BLIS_POLICY_PIPELINE_SCORER_LIST_H

#include "policy/contract/entry.h"

enum { BLIS_SCORER_LIST_MAX = 32 };

/* Each scorer is there at most once. */
typedef struct blis_scorer_list {
  size_t count;
  const blis_policy_entry *entries[BLIS_SCORER_LIST_MAX];
  double weights[BLIS_SCORER_LIST_MAX];
} blis_scorer_list;

/*
 * Parses a list; only spaces make an empty list. place (a flag, a key) starts the
 * message of BLIS_ERR_INVALID, which names the wrong part and the allowed values.
 */
BLIS_MUSTUSE blis_status blis_scorer_list_parse(blis_scorer_list *list, const char *text,
                                                const char *place, blis_error *error);

/*
 * A weighted router of a list with scorers, all with their default parameters;
 * params has the parameters of blis_weighted_new.
 */
BLIS_MUSTUSE blis_status blis_scorer_list_router(const blis_alloc *alloc,
                                                 const blis_scorer_list *list,
                                                 const blis_params *params,
                                                 const blis_policy_context *context,
                                                 blis_router *router, blis_error *error);

#endif
