/*
 * b3.h - shared parts of the cache-aware policies of "B3 Routing Policies - Pseudocode". The parts
 * are the router's index of sent prompts, its load counters, and the score of LMetric (arXiv
 * 2603.15202).
 *
 * Score of a candidate:
 *
 *   score = (pending prefill tokens + max(0, prompt - cached)) *
 *           (requests + bs_offset)
 *
 * A decision calls blis__b3_score, then blis__b3_take for the chosen candidate. blis__b3 is the
 * first member of the state of each policy, so that blis__b3_first_token and blis__b3_ended can be
 * their operations.
 */
#ifndef BLIS_POLICY_B3_B3_H
#define BLIS_POLICY_B3_B3_H

#include "policy/contract/entry.h"
#include "policy/memory/load_counters.h"
#include "policy/memory/prefix_index.h"

typedef struct blis__b3 {
  blis_alloc alloc;
  blis_prefix_index *index;
  uint32_t block_size_tokens;
  blis__load_counters counters;
  BLIS_ARRAY(uint32_t) blocks; /* matched blocks by instance number */
  BLIS_ARRAY(double) scores;   /* negated, so the highest score is best */
} blis__b3;

/* Parameters of every policy that uses this module, at the start of its list. */
#define BLIS__B3_PARAMS                                                                            \
  BLIS__BLOCK_SIZE_PARAM(512, "block size of the router's index",                                  \
                         BLIS__INTO(blis__b3, block_size_tokens)),                                 \
      BLIS__INTEGER("cache_capacity", 0, 1 << 30, 0, "blocks",                                     \
                    "index size per instance; 0 = as many tokens as the KV cache")

/* Call it in init, when the parameters are set. Returns BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__b3_init(blis__b3 *self, const blis_policy_setup *setup);
void blis__b3_deinit(blis__b3 *self);

/*
 * Looks up the prompt and fills scores. Returns BLIS_OK or BLIS_ERR_NOMEM. The functions below
 * refer to the view and request that were scored last.
 */
BLIS_MUSTUSE blis_status blis__b3_score(blis__b3 *self, const blis_routing_request *request,
                                        const blis_routing_view *view, double bs_offset);

/* Returns the number of prompt tokens that the router predicts to be cached on an instance. */
static inline int64_t blis__b3_cached_tokens(const blis__b3 *self,
                                             const blis_routing_request *request,
                                             uint32_t instance) {
  int64_t cached = (int64_t)self->blocks.items[instance] * (int64_t)self->block_size_tokens;
  return cached < request->prompt_tokens ? cached : request->prompt_tokens;
}

/* Records that the candidate gets the request. Returns BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__b3_take(blis__b3 *self, const blis_routing_request *request,
                                       const blis_routing_view *view, size_t chosen,
                                       blis_decision *decision);

/* Router operations for a state whose first member is a blis__b3. */
void blis__b3_first_token(void *state, blis_ticket *ticket, uint32_t instance,
                          const blis_request_times *times);
void blis__b3_ended(void *state, blis_ticket *ticket, uint32_t instance,
                    const blis_request_times *times);

#endif
