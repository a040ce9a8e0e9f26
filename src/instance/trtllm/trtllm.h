/*
 * trtllm.h - TensorRT-LLM as a serving engine: which requests fit the KV cache, and which of these
 * fit a step.
 *
 * Follows the schedulers of TensorRT-LLM (pyexecutor/scheduler/scheduler.py, 5f480b7). A step has
 * two stages over all requests in order of arrival, those that run first. The capacity scheduler
 * reserves blocks: GUARANTEED_NO_EVICT those of the prompt and the largest output, so that nothing
 * is ever preempted; MAX_UTILIZATION those of the next steps, and the last request pauses when they
 * do not fit; STATIC_BATCH as the first, for new requests when none runs. The first request that
 * does not fit ends the stage. The micro-batch scheduler then fills max_batched_tokens: a decode
 * takes one token, and a context its whole prompt, or a chunk of whole blocks.
 *
 * Differences: cached blocks of a prompt do not count for the tokens of a step. Without chunks, a
 * prompt that is longer than a step is rejected ("max-num-tokens") when its turn comes, also after
 * a pause. The prefix cache is that of vLLM, without partial blocks, priorities, and a host tier.
 *
 * Main invariant: with GUARANTEED_NO_EVICT and STATIC_BATCH, free blocks >= blocks that running
 * requests still need. A step costs O(requests that run and that are tried).
 */
#ifndef BLIS_INSTANCE_TRTLLM_TRTLLM_H
#define BLIS_INSTANCE_TRTLLM_TRTLLM_H

#include "instance/stepwise/stepwise.h"

/* The serving engine of an instance with config.trtllm. */
extern const blis__serving_ops blis__serving_trtllm;

/* Checks config.trtllm and what it cannot be combined with. */
BLIS_MUSTUSE blis_status blis__trtllm_check(const blis_instance_config *config, blis_error *error);

/* The maximum sequence length with which every request can run alone: that of config, or less. */
int64_t blis__trtllm_longest(const blis_instance_config *config);

#endif
