/*
 * hotspot_guard.h - prevents requests with a shared prefix from overloading the few
 * instances that cache it (LMetric, arXiv 2603.15202).
 *
 * Requests with the same first block are a class. Let x be its share of the last
 * requests and x' that of all others, M the candidates that hold the prefix and M'
 * the rest. M is excluded while x / x' > |M| / |M'|, after 2 |M| consecutive
 * requests of the class had their best score in M. The paper does not define the
 * period of the shares; here it is a number of recent requests.
 *
 * O(candidates) per request; memory for the requests of the window.
 */
#ifndef BLIS_POLICY_B3_HOTSPOT_GUARD_H
#define BLIS_POLICY_B3_HOTSPOT_GUARD_H

#include "base/array.h"
#include "base/containers/map.h"
#include "policy/contract/view.h"

typedef struct blis__hotspot_guard {
  blis_alloc alloc;
  blis_map classes;            /* requests in the window, and streak in the upper half */
  BLIS_ARRAY(uint64_t) window; /* classes of the last requests; a ring */
  size_t limit;                /* requests in it */
  size_t oldest;               /* once it is full */
} blis__hotspot_guard;

/* window >= 1 requests. */
void blis__hotspot_guard_init(blis__hotspot_guard *guard, const blis_alloc *alloc, size_t window);
void blis__hotspot_guard_deinit(blis__hotspot_guard *guard);

/*
 * Records a request of a class (0 = none) and sets the scores of hot candidates to
 * -INFINITY where the guard applies; the highest score is the best. blocks contains
 * the number of matching blocks by instance number. BLIS_ERR_NOMEM leaves the guard
 * fit only for deinit.
 */
BLIS_MUSTUSE blis_status blis__hotspot_guard_apply(blis__hotspot_guard *guard, uint64_t class,
                                                   const blis_routing_view *view,
                                                   const uint32_t *blocks, double *scores);

#endif
