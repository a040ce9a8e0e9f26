/*
 * speculation.h - speculative decoding of one engine: how many tokens a sequence
 * drafts in a step, how many of them are accepted, and the time of drafting.
 *
 * Each decoding sequence drafts up to k tokens; the step verifies them and one
 * more. Draft i is accepted with the conditional probability p_i, given that all
 * earlier drafts are. The first rejected draft ends the burst, which includes its
 * correction: accepted + 1 tokens. Acceptance follows from the seed, the request,
 * and the place of the token in the output, so it does not depend on batches,
 * preemptions, or the engine. O(k).
 *
 * Rates: vLLM, features/speculative_decoding (v0.32); Dynamo, nextn.
 */
#ifndef BLIS_INSTANCE_PARTS_SPECULATION_H
#define BLIS_INSTANCE_PARTS_SPECULATION_H

#include "instance/config/instance_config.h"
#include "instance/config/instance_stats.h"

typedef struct blis__burst {
  int64_t drafted; /* 0 = the step is an ordinary one */
  int64_t tokens;  /* that come of it, 1 to drafted + 1 */
} blis__burst;

/* BLIS_ERR_INVALID names the value that is out of range. */
BLIS_MUSTUSE blis_status blis__speculation_check(const blis_speculation_config *config,
                                                 blis_error *error);

/*
 * Returns the result of one step for a decoding request of this instance with these
 * acceptance rates. The step may compute up to budget_tokens (>= 1) for it, in a
 * batch of that size.
 */
blis__burst blis__speculate(const blis_instance_config *config, const blis_live_request *request,
                            const double *rates, int64_t batch_size, int64_t budget_tokens);

/* Counts a step in which request drafted, accepted, and emitted these numbers of tokens. */
void blis__count_drafts(blis_draft_stats *stats, blis_live_request *request, int64_t drafted,
                        int64_t accepted);

/* How long count sequences draft, at most drafted tokens each. */
int64_t blis__draft_us(const blis_speculation_config *config, int64_t count, int64_t drafted);

#endif
