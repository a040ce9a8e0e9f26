/*
 * pieces.h - the built-in pieces of a pipeline (filters, scorers, and pickers), by name.
 */
#ifndef BLIS_POLICY_PIPELINE_PIECES_H
#define BLIS_POLICY_PIPELINE_PIECES_H

#include "policy/contract/entry.h"

extern const blis_policy_list blis__filters;
extern const blis_policy_list blis__scorers;
extern const blis_policy_list blis__pickers;

/* blis_filter_create, blis_scorer_create, blis_picker_create; see entry.h. */
BLIS__DECLARE_POLICY_CREATE(filter)
BLIS__DECLARE_POLICY_CREATE(scorer)
BLIS__DECLARE_POLICY_CREATE(picker)

#endif
