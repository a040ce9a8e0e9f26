/*
 * hotspot_guard.h - prevents requests with a shared prefix from overloading the few
 * instances that cache it (LMetric, arXiv 2603.15202).
 *
 * Requests with the same first block are a class. Let x be the fraction of recent requests that
 * belong to the class, and x' the fraction of all others. Let M be the candidates that hold the
 * prefix, and M' the other candidates. M is excluded while x / x' > |M| / |M'|, after 2 |M|
 * consecutive requests of the class had their best score in M. The paper does not define the period
 * of the fractions; this module uses a number of recent requests.
 *
 * Cost: O(candidates) per request, and memory for the requests in the window.
 */
#ifndef BLIS_POLICY_B3_HOTSPOT_GUARD_H
#define BLIS_POLICY_B3_HOTSPOT_GUARD_H

#include "base/array.h"
#include "base/containers/map.h"
#include "policy/contract/view.h"

typedef struct blis__hotspot_guard {
  blis_alloc alloc;
  blis_map classes;            /* lower half: requests in the window; upper half: streak */
  BLIS_ARRAY(uint64_t) window; /* classes of the last requests; a ring */
  size_t limit;                /* maximum number of requests in the window */
  size_t oldest;               /* position of the oldest request, once the window is full */
} blis__hotspot_guard;

/* Requires window >= 1 requests. */
void blis__hotspot_guard_init(blis__hotspot_guard *guard, const blis_alloc *alloc, size_t window);
void blis__hotspot_guard_deinit(blis__hotspot_guard *guard);

/*
 * Records a request of a class (0 = none) and sets the scores of hot candidates to -INFINITY if the
 * guard applies. The highest score is best. blocks contains the number of matching blocks by
 * instance number. After BLIS_ERR_NOMEM the guard can only be deinitialized.
 */
BLIS_MUSTUSE blis_status blis__hotspot_guard_apply(blis__hotspot_guard *guard, uint64_t class,
                                                   const blis_routing_view *view,
                                                   const uint32_t *blocks, double *scores);

#endif
