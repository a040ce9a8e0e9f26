/*
 * flow_claims.h - which of the programs that wait is served next with
 * least-service: the one with the highest
 *
 *   service_weight (1 - norm(service)) + wait_weight norm(wait of the head),
 *
 * norm being min-max over all of them (llm-d-router, program-aware-fairness);
 * of equal ones the first.
 *
 * Every service and every wait moves all scores, so nothing can be kept in
 * order. But a group of claims cannot score more than its least service with
 * its longest wait would: groups that cannot win are not looked at. A choice
 * costs O(n / 16 + 16), a change O(1), and a claim that comes or goes O(n).
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
} blis_flow_claim;

typedef struct blis__claim_group {
  double least_service;
  double most_service;
  int64_t first_us; /* the longest wait */
  int64_t last_us;
  bool is_known; /* else it is to be worked out anew */
} blis__claim_group;

typedef struct blis_flow_claims {
  BLIS_ARRAY(blis_flow_claim) items;
  BLIS_ARRAY(blis__claim_group) groups; /* of 16 each */
} blis_flow_claims;                     /* zeroed = empty */

void blis_flow_claims_deinit(blis_flow_claims *claims, const blis_alloc *alloc);

/* A claim comes at a place, those from there on move up; it is to be set before
   the next choice. */
BLIS_MUSTUSE blis_status blis_flow_claims_insert(blis_flow_claims *claims,
                                                 const blis_alloc *alloc,
                                                 size_t place);
void blis_flow_claims_remove(blis_flow_claims *claims, size_t place);
void blis_flow_claims_set(blis_flow_claims *claims, size_t place,
                          const blis_flow_claim *claim);

/* There is one at least. */
size_t blis_flow_claims_pick(blis_flow_claims *claims, double service_weight,
                             double wait_weight, int64_t now_us);

#endif
