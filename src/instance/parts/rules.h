/*
 * rules.h - blis_engine_rules applied to a single request; shared by the
 * engines, so that they cannot differ. O(1).
 */
#ifndef BLIS_INSTANCE_PARTS_RULES_H
#define BLIS_INSTANCE_PARTS_RULES_H

#include <stdint.h>

#include "base/invariant.h"
#include "instance/config/instance_config.h"
#include "instance/config/instance_events.h"
#include "instance/config/instance_stats.h"

/* How many blocks of its next prefill may be taken from the cache. */
uint32_t blis__findable_blocks(const blis_instance_config *config,
                               const blis_live_request *request);

/*
 * How many of tokens more prefill tokens, after done tokens, the request computes in
 * a step: all of them, unless states are kept where steps end. In that case a step
 * of a prefill ends at a border of the prefix cache, the last border included; only
 * the tokens after the last border end elsewhere. 0 = none, until a later step has
 * a larger budget. Source: vLLM (mamba_cache_mode "align"), late 2026.
 */
int64_t blis__aligned_chunk(const blis_instance_config *config, const blis_live_request *request,
                            int64_t done, int64_t tokens);

/*
 * True for a request with an empty prompt for which a cache of KV groups lacks the blocks of its
 * first output token. The request stores nothing when it is admitted, so without this rule it would
 * be admitted and preempted in every step while requests that do not run hold the blocks.
 */
bool blis__lacks_first_blocks(const blis_instance_config *config, const blis_live_request *request,
                              int64_t free_blocks);

/* True for a request that starts with one token of its prompt, see defects.starts_by_token. */
static inline bool blis__starts_by_a_token(const blis_instance_config *config, bool was_reserved) {
  return was_reserved && config->defects.starts_by_token;
}

/*
 * For a request with the KV of its prompt that lacks a block for its next token.
 * Prompts may arrive at instances that would not have served them; the token would
 * be the last one there. The request proceeds without the block, because its prompt
 * could not be computed again if it released its blocks.
 */
static inline bool blis__goes_without_block(const blis_instance_config *config,
                                            const blis_live_request *request) {
  int64_t limit = config->max_model_len_tokens;
  return limit > 0 && request->progress_tokens >= limit;
}

/* The request enters a batch once more, or after it has entered a batch of another instance. */
void blis__note_readmission(const blis_instance_config *config, const blis_instance_events *events,
                            blis_live_request *request, int64_t now_us);

/* Time from a first token to the client, with rules.schedules_ahead. */
int64_t blis__delivery_us(const blis_instance_config *config, int64_t step_us);

/*
 * The request enters the batch. step_us is the duration of the step that ends now,
 * 0 = the engine was idle.
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
 * The same for the counters of the cache, and whether it had a hit;
 * cached_blocks have been found.
 */
void blis__count_prompt_blocks(const blis_instance_config *config, blis_live_request *request,
                               int64_t cached_blocks, blis_instance_stats *stats);

/* It is preempted, with progress_tokens computed. */
void blis__note_preemption(const blis_instance_config *config, const blis_instance_events *events,
                           blis_live_request *request, int64_t progress_tokens, int64_t now_us);

/* It gets its first token, which the engine has at token_us. */
void blis__note_first_token(blis_live_request *request, int64_t token_us);

/* It is completed, in a step that ends at step_end_us: when it leaves. */
int64_t blis__leaves_at_us(const blis_instance_config *config, const blis_live_request *request,
                           int64_t step_end_us);

#endif
