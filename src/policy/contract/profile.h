/*
 * profile.h - variants of policies: other defaults of parameters, and rules.
 *
 * A constant per profile, in a separate module; all zero is the default profile.
 * Policies read their parameters and do not name a profile.
 */
#ifndef BLIS_POLICY_CONTRACT_PROFILE_H
#define BLIS_POLICY_CONTRACT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* As the value of a default: the block size of the KV cache. */
#define BLIS_DEFAULT_KV_BLOCK_SIZE (-1.0)

/* The default of a parameter that is not set. */
typedef struct blis_policy_default {
  int kind; /* a blis_policy_kind */
  const char *policy;
  const char *parameter;
  double number; /* of a choice, the index of the word */
} blis_policy_default;

typedef struct blis_policy_profile {
  const blis_policy_default *defaults;
  size_t default_count;
  const char *weighted_scorers; /* of router "weighted"; NULL = its own list */
  bool has_random_ties;         /* of routers, if "tie" is not set */
  bool counts_priorities_down;  /* scripts see lower priorities as more urgent */
} blis_policy_profile;

#endif
