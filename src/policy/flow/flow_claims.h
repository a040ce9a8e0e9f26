/*
 * flow_claims.h - the waiting program that least-service serves next: the program
 * with the highest score.
 *
 *   service_weight (1 - norm(service)) + wait_weight norm(wait of the head),
 *
 * norm is min-max over all waiting programs (llm-d-router, program-aware-fairness).
 * Ties are broken by the least service, then by name.
 *
 * Every service and every wait moves all scores, so the score order cannot be
 * maintained. However, a program with more service and a shorter wait than another
 * never wins. Claims are therefore sorted by service. A choice examines, in this
 * order, only the claims that have waited longer than all previous claims. Groups
 * of at most 32 claims are skipped if none of their claims has waited longer. A
 * choice costs about O(n / 16), a change O(log n + 32).
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
  double service;     /* of any time, the same for all */
  int64_t enqueue_us; /* of the head */
  const char *name;   /* of the program; no two have the same */
  void *owner;
} blis_flow_claim;

enum { BLIS__CLAIM_GROUP_MAX = 32 };

typedef struct blis__claim_group {
  size_t count;     /* 1 at least */
  int64_t first_us; /* the longest wait */
  int64_t last_us;
  bool is_known;                                /* false: these two must be recomputed */
  blis_flow_claim items[BLIS__CLAIM_GROUP_MAX]; /* by service, then name */
} blis__claim_group;

typedef struct blis_flow_claims {
  size_t count;
  /* Sorted by service as well. Two neighbors together contain more claims than half the capacity
     of a group. */
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

/* Whose it is; there is one at least. */
void *blis_flow_claims_pick(blis_flow_claims *claims, double service_weight, double wait_weight,
                            int64_t now_us);

#endif
