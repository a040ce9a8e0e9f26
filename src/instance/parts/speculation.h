/*
 * speculation.h - speculative decoding of one engine: how many tokens a sequence
 * drafts in a step, how many of them are accepted, and the time of drafting.
 *
 * Each decoding sequence drafts up to k tokens, and the step verifies these and computes one more.
 * Draft i is accepted with the conditional probability p_i, given that all earlier drafts are
 * accepted. The first rejected draft ends the burst. The burst includes the corrected token, so it
 * has accepted + 1 tokens. Acceptance is determined by the seed, the request, and the position of
 * the token in the output. It does not depend on batches, preemptions, or the engine. O(k).
 *
 * Rates: vLLM, features/speculative_decoding (v0.32); Dynamo, nextn.
 */
#ifndef BLIS_INSTANCE_PARTS_SPECULATION_H
#define BLIS_INSTANCE_PARTS_SPECULATION_H

#include "instance/config/instance_config.h"
#include "instance/config/instance_stats.h"

typedef struct blis__burst {
  int64_t drafted; /* 0 = an ordinary decode step */
  int64_t tokens;  /* emitted tokens, 1 to drafted + 1 */
} blis__burst;

/* BLIS_ERR_INVALID names the value that is out of range. */
BLIS_MUSTUSE blis_status blis__speculation_check(const blis_speculation_config *config,
                                                 blis_error *error);

/*
 * Returns the result of one step for a decoding request of this instance with these acceptance
 * rates. The step may compute up to budget_tokens (>= 1) for it, in a batch of batch_size requests.
 */
blis__burst blis__speculate(const blis_instance_config *config, const blis_live_request *request,
                            const double *rates, int64_t batch_size, int64_t budget_tokens);

/* Counts a step in which request drafted and accepted these numbers of tokens. */
void blis__count_drafts(blis_draft_stats *stats, blis_live_request *request, int64_t drafted,
                        int64_t accepted);

/* Returns how long it takes `count` sequences to draft, with at most `drafted` tokens each. */
int64_t blis__draft_us(const blis_speculation_config *config, int64_t count, int64_t drafted);

#endif
