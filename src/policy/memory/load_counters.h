/*
 * load_counters.h - the load of instances, computed by a router from its own
 * decisions and their outcomes.
 *
 * Counters rise at the decision, and every request subtracts its part at its end,
 * whatever the end: with no request in flight all are zero. The moments are our
 * interpretation of "B3 Routing Policies - Pseudocode", which only states that
 * counters change when requests start and finish. O(1) per event; the ticket of the
 * request stores its part.
 */
#ifndef BLIS_POLICY_MEMORY_LOAD_COUNTERS_H
#define BLIS_POLICY_MEMORY_LOAD_COUNTERS_H

#include "base/alloc.h"
#include "base/array.h"
#include "policy/contract/view.h"

typedef struct blis__load {
  int64_t requests;               /* in flight */
  int64_t decoding;               /* requests after their first token, including preempted ones */
  int64_t pending_prefill_tokens; /* of requests before their first token */
  int64_t ongoing_tokens;         /* prompts of requests in flight */
  int64_t decode_tokens;          /* prompts of decoding requests */
} blis__load;

/* items by instance number; all zero is ready for use. */
typedef BLIS_ARRAY(blis__load) blis__load_counters;

/* Items for every candidate of the view. BLIS_ERR_NOMEM or BLIS_OK. */
BLIS_MUSTUSE blis_status blis__load_counters_reserve(blis__load_counters *counters,
                                                     const blis_alloc *alloc,
                                                     const blis_routing_view *view);

/*
 * A request with this much prefill to do, of a prompt, goes to the instance.
 */
void blis__load_counters_add(blis__load_counters *counters, blis_ticket *ticket, uint32_t instance,
                             int64_t prefill_tokens, int64_t prompt_tokens);

/* Any number of times per request: a preempted one gets another. */
void blis__load_counters_first_token(blis__load_counters *counters, blis_ticket *ticket,
                                     uint32_t instance);

void blis__load_counters_ended(blis__load_counters *counters, blis_ticket *ticket,
                               uint32_t instance);

#endif
