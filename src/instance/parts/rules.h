/*
 * rules.h - blis_engine_rules applied to a single request; shared by the engines, so that their
 * results cannot differ. O(1).
 */
#ifndef BLIS_INSTANCE_PARTS_RULES_H
#define BLIS_INSTANCE_PARTS_RULES_H

#include <stdint.h>

#include "base/invariant.h"
#include "instance/config/instance_config.h"
#include "instance/config/instance_events.h"
#include "instance/config/instance_stats.h"

/* Returns how many blocks of the next prefill may come from the cache. */
uint32_t blis__findable_blocks(const blis_instance_config *config,
                               const blis_live_request *request);

/*
 * Returns how many of the next `tokens` prefill tokens, after `done` tokens, the request computes
 * in a step. The result is `tokens`, unless states are cached where steps end. In that case, a
 * prefill step must end at a block border of the prefix cache. This includes the last border; only
 * the tokens after the last border may end elsewhere. 0 = no tokens until a later step has a larger
 * budget. Source: vLLM (mamba_cache_mode "align"), late 2026.
 */
int64_t blis__aligned_chunk(const blis_instance_config *config, const blis_live_request *request,
                            int64_t done, int64_t tokens);

/*
 * Returns true for a request with an empty prompt if a cache of KV groups lacks the blocks for its
 * first output token. Such a request stores nothing at admission. Without this rule, it would be
 * admitted and preempted in every step while requests that do not run hold the blocks.
 */
bool blis__lacks_first_blocks(const blis_instance_config *config, const blis_live_request *request,
                              int64_t free_blocks);

/*
 * Returns true for a request that starts with one token of its prompt, see defects.starts_by_token.
 */
static inline bool blis__starts_by_a_token(const blis_instance_config *config, bool was_reserved) {
  return was_reserved && config->defects.starts_by_token;
}

/*
 * Returns whether a request that has the KV of its prompt proceeds without a block for its next
 * token. A prompt may arrive at an instance that could not have computed it. The next token is then
 * the last one on that instance. The request proceeds without the block, because its prompt could
 * not be recomputed if it released its blocks.
 */
static inline bool blis__goes_without_block(const blis_instance_config *config,
                                            const blis_live_request *request) {
  int64_t limit = config->max_model_len_tokens;
  return limit > 0 && request->progress_tokens >= limit;
}

/*
 * Records that the request enters a batch again, or for the first time here after a batch of
 * another instance.
 */
void blis__note_readmission(const blis_instance_config *config, const blis_instance_events *events,
                            blis_live_request *request, int64_t now_us);

/* Returns the delay of a first token to the client, with rules.schedules_ahead. */
int64_t blis__delivery_us(const blis_instance_config *config, int64_t step_us);

/*
 * Records that the request enters the batch. step_us is the duration of the step that ends now; 0 =
 * the engine was idle.
 */
static inline void blis__note_admission(const blis_instance_config *config,
                                        const blis_instance_events *events,
                                        blis_live_request *request, int64_t now_us,
                                        int64_t step_us) {
  BLIS_ASSERT(request->state == BLIS_REQUEST_QUEUED);
  BLIS_ASSERT(now_us >= request->arrival_us);
  request->state = BLIS_REQUEST_RUNNING;
  if (request->scheduling_delay_us < 0) {
    request->scheduling_delay_us = now_us - request->arrival_us;
  } else {
    blis__note_readmission(config, events, request, now_us);
  }
  if (!request->has_first_token) {
    request->delivery_us = config->rules.schedules_ahead ? blis__delivery_us(config, step_us) : 0;
  }
}

/*
 * Updates the cache counters for an admission in which cached_blocks blocks were found, and records
 * whether the request had a hit.
 */
void blis__count_prompt_blocks(const blis_instance_config *config, blis_live_request *request,
                               int64_t cached_blocks, blis_instance_stats *stats);

/* Records that the request is preempted after it has computed progress_tokens. */
void blis__note_preemption(const blis_instance_config *config, const blis_instance_events *events,
                           blis_live_request *request, int64_t progress_tokens, int64_t now_us);

/* Records the first token of the request, which the engine computes at token_us. */
void blis__note_first_token(blis_live_request *request, int64_t token_us);

/* Returns when a request leaves that is completed in a step that ends at step_end_us. */
int64_t blis__leaves_at_us(const blis_instance_config *config, const blis_live_request *request,
                           int64_t step_end_us);

#endif
