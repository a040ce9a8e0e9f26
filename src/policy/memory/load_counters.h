/*
 * load_counters.h - the load of instances, computed by a router from its own
 * decisions and their outcomes.
 *
 * Counters increase at the decision. When a request ends, for any reason, its contribution is
 * subtracted, so all counters are zero when no request is in flight. The times of these updates are
 * our interpretation of "B3 Routing Policies - Pseudocode", which only states that counters change
 * when requests start and finish. O(1) per event; the ticket of the request stores its
 * contribution.
 */
#ifndef BLIS_POLICY_MEMORY_LOAD_COUNTERS_H
#define BLIS_POLICY_MEMORY_LOAD_COUNTERS_H

#include "base/alloc.h"
#include "base/array.h"
#include "policy/contract/view.h"

typedef struct blis__load {
  int64_t requests;               /* requests in flight */
  int64_t decoding;               /* requests after their first token, including preempted ones */
  int64_t pending_prefill_tokens; /* prompt tokens to compute, of requests before their first
                                     token */
  int64_t ongoing_tokens;         /* prompts of requests in flight */
  int64_t decode_tokens;          /* prompts of decoding requests */
} blis__load;

/* Items by instance number; ready for use if zeroed. */
typedef BLIS_ARRAY(blis__load) blis__load_counters;

/* Adds items for every candidate of the view. Returns BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__load_counters_reserve(blis__load_counters *counters,
                                                     const blis_alloc *alloc,
                                                     const blis_routing_view *view);

/*
 * Records that a request with this prompt and this number of prefill tokens to compute is sent to
 * the instance.
 */
void blis__load_counters_add(blis__load_counters *counters, blis_ticket *ticket, uint32_t instance,
                             int64_t prefill_tokens, int64_t prompt_tokens);

/* Can be called several times per request, because a preempted request gets another first token. */
void blis__load_counters_first_token(blis__load_counters *counters, blis_ticket *ticket,
                                     uint32_t instance);

void blis__load_counters_ended(blis__load_counters *counters, blis_ticket *ticket,
                               uint32_t instance);

#endif
