/*
 * permits.h - permits for requests, counted by model and role. A request takes a permit when it is
 * routed, and returns the permit when it has ended on its instance and its client has the last
 * token.
 *
 * The roles are prefill, decode, and both.
 */
#ifndef BLIS_POLICY_COGNITORA_PERMITS_H
#define BLIS_POLICY_COGNITORA_PERMITS_H

#include "base/alloc.h"
#include "base/array.h"
#include "policy/contract/held.h"
#include "policy/contract/view.h"

typedef struct blis__permits {
  double limit;              /* permits per model and role; 0 = no limit */
  BLIS_ARRAY(int64_t) taken; /* permits in use, by model and role */
  blis_held held;            /* permits of requests whose clients wait for the last token */
} blis__permits;

void blis__permits_deinit(blis__permits *permits, const blis_alloc *alloc);

/* Takes a permit and stores it in the request's ticket. Returns BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__permits_take(blis__permits *permits, const blis_alloc *alloc,
                                            const blis_routing_request *request, int64_t now_us,
                                            bool *is_taken);

/* Returns the permit in the ticket, if any, at end_us. */
void blis__permits_give(blis__permits *permits, const blis_alloc *alloc, blis_ticket *ticket,
                        int64_t now_us, int64_t end_us);

#endif
