/*
 * profile.h - variants of policies: different defaults of parameters, and rules.
 *
 * Each profile is a constant in a separate module; all zero is the default profile. Policies read
 * their parameters and never name a profile.
 */
#ifndef BLIS_POLICY_CONTRACT_PROFILE_H
#define BLIS_POLICY_CONTRACT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Value of a default that stands for the block size of the KV cache. */
#define BLIS_DEFAULT_KV_BLOCK_SIZE (-1.0)

/* The default of a parameter that is not set. */
typedef struct blis_policy_default {
  int kind; /* a blis_policy_kind */
  const char *policy;
  const char *parameter;
  double number; /* for a choice, the index of the word */
} blis_policy_default;

typedef struct blis_policy_profile {
  const blis_policy_default *defaults;
  size_t default_count;
  const char *weighted_scorers; /* scorers of router "weighted"; NULL = the router's own list */
  bool has_random_ties;         /* whether routers break ties at random if "tie" is not set */
  bool counts_priorities_down;  /* scripts see lower priorities as more urgent */
} blis_policy_profile;

#endif
