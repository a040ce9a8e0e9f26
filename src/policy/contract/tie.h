/*
 * tie.h - the choice among equally good candidates.
 *
 * At low load most scores are equal, so this rule decides most requests. Every policy defines its
 * own rule. Values tie if they are equal as doubles.
 */
#ifndef BLIS_POLICY_CONTRACT_TIE_H
#define BLIS_POLICY_CONTRACT_TIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "policy/contract/view.h"

typedef enum blis_tie_rule {
  BLIS_TIE_LOWEST_ID, /* smallest instance id in byte order */
  BLIS_TIE_RANDOM,    /* uniform; draws one random number, and only for a tie */
  BLIS_TIE_FIRST,     /* first in candidate order */
  BLIS_TIE_LAST,
  BLIS_TIE_ROTATE, /* (number of previous ties mod number of tied candidates)-th in candidate
                      order */
  BLIS_TIE_RULE_COUNT
} blis_tie_rule;

/* The names of the rules, in the order of the enum, for a parameter of kind choice. */
#define BLIS_TIE_CHOICES "lowest-id|random|first|last|rotate"

/* The same names with a different default. */
#define BLIS_TIE_CHOICES_FIRST "first|lowest-id|random|last|rotate"
#define BLIS_TIE_CHOICES_RANDOM "random|lowest-id|first|last|rotate"

/* Parameter "tie" of routers that break ties at random in profile go-blis. */
#define BLIS__TIE_PARAM BLIS__CHOICE("tie", BLIS_TIE_CHOICES, "tie break (profile go-blis: random)")

/* Parameter "tie" of routers that take the first of equally good candidates. */
#define BLIS__TIE_FIRST_PARAM BLIS__CHOICE("tie", BLIS_TIE_CHOICES_FIRST, "tie break")

/*
 * Returns the rule that a word names. The word ends at the end of the string or at a '|'. Returns
 * BLIS_TIE_RULE_COUNT if the word is not a rule.
 */
blis_tie_rule blis_tie_rule_of(const char *word);

/* Part of the policy's state. The random stream takes 5 KB. */
typedef struct blis_tie {
  blis_tie_rule rule;
  uint64_t rotation;
  blis_random random;
} blis_tie;

/* Starts a policy's own stream, "policy/<name>"; name has at most 56 characters. */
void blis_policy_random_init(blis_random *random, int64_t master_seed, const char *name);

/* Initializes a tie rule. stream is the name of the random stream under master_seed. */
void blis_tie_init(blis_tie *tie, blis_tie_rule rule, int64_t master_seed, const char *stream);

/* Like blis_tie_init, with the stream "policy/<policy>". */
void blis_tie_init_of(blis_tie *tie, blis_tie_rule rule, int64_t master_seed, const char *policy);

/*
 * Breaks a tie of tied >= 1 equally good candidates. Returns true to choose the *n-th candidate in
 * candidate order, from 0. Returns false to choose the candidate with the lowest id.
 */
bool blis_tie_draw(blis_tie *tie, size_t tied, size_t *n);

/* Returns the candidate with the largest or smallest of values[0 .. view->count). */
size_t blis_tie_pick_max(blis_tie *tie, const double *values, const blis_routing_view *view);
size_t blis_tie_pick_min(blis_tie *tie, const double *values, const blis_routing_view *view);

/* Like blis_tie_pick_min, for values that are maintained in a tree. */
size_t blis_tie_pick_least(blis_tie *tie, const blis_least_tree *values);

#endif
