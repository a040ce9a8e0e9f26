/*
 * flow_claims.h - selects the waiting program that least-service serves next: the program with the
 * highest score.
 *
 *   service_weight (1 - norm(service)) + wait_weight norm(wait of the head),
 *
 * norm is min-max normalization over all waiting programs (llm-d-router, program-aware-fairness).
 * Ties are broken by the least service, then by name.
 *
 * A change of any service or wait changes all scores, so the order of scores cannot be maintained.
 * However, a program never has the highest score if another has less service and has waited longer.
 * Claims are therefore sorted by service. A choice examines, in this order, only the claims that
 * have waited longer than all previous claims. Groups of at most 32 claims are skipped if none of
 * their claims has waited longer. A choice costs about O(n / 16), a change O(log n + 32).
 */
#ifndef BLIS_POLICY_FLOW_FLOW_CLAIMS_H
#define BLIS_POLICY_FLOW_FLOW_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"

typedef struct blis_flow_claim {
  double service;     /* decayed to a reference time, which is the same for all */
  int64_t enqueue_us; /* enqueue time of the head */
  const char *name;   /* unique name of the program */
  void *owner;
} blis_flow_claim;

enum { BLIS__CLAIM_GROUP_MAX = 32 };

typedef struct blis__claim_group {
  size_t count;     /* at least 1 */
  int64_t first_us; /* enqueue time of the longest wait */
  int64_t last_us;
  bool is_known;                                /* false: the next two members must be recomputed */
  blis_flow_claim items[BLIS__CLAIM_GROUP_MAX]; /* sorted by service, then name */
} blis__claim_group;

typedef struct blis_flow_claims {
  size_t count;
  /* Groups are also sorted by service. Two adjacent groups together contain more than half as
     many claims as a group can hold. */
  BLIS_ARRAY(blis__claim_group) groups;
} blis_flow_claims; /* zeroed = empty */

void blis_flow_claims_deinit(blis_flow_claims *claims, const blis_alloc *alloc);

/* Names and owners are borrowed. BLIS_ERR_NOMEM changes nothing. */
BLIS_MUSTUSE blis_status blis_flow_claims_add(blis_flow_claims *claims, const blis_alloc *alloc,
                                              const blis_flow_claim *claim);
/* Removes a claim that is present, with unchanged values. */
void blis_flow_claims_remove(blis_flow_claims *claims, const blis_flow_claim *claim);
/* Replaces service and enqueue_us of a claim. */
void blis_flow_claims_change(blis_flow_claims *claims, blis_flow_claim *claim, double service,
                             int64_t enqueue_us);

/* Returns the owner of the claim to serve. Requires at least one claim. */
void *blis_flow_claims_pick(blis_flow_claims *claims, double service_weight, double wait_weight,
                            int64_t now_us);

#endif
