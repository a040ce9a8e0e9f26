/*
 * flow_claims.h - which of the programs that wait is served next with
 * least-service: the one with the highest
 *
 *   service_weight (1 - norm(service)) + wait_weight norm(wait of the head),
 *
 * norm being min-max over all of them (llm-d-router, program-aware-fairness);
 * of equal ones the one with the least service, then the first by name.
 *
 * Every service and every wait moves all scores, so that nothing can be kept in
 * their order. But one that has had more service and waited less than another
 * does not win. So claims are kept by service, and a choice goes along them and
 * looks at those alone which have waited longer than all before, up to the one
 * that has waited longest. They are in groups of 32 at most, which are passed
 * over where nobody has. A choice costs O(n / 16) and little more, a change
 * O(log n + 32).
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
  /* By service, too. Two that are neighbours have more claims than half of what
     fits into one. */
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
