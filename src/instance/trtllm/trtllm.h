/*
 * trtllm.h - TensorRT-LLM as a serving engine: chooses the requests that fit in the KV cache, and
 * those of them that fit in a step.
 *
 * Follows the schedulers of TensorRT-LLM (pyexecutor/scheduler/scheduler.py, 5f480b7). A step has
 * two stages over all requests in order of arrival, with running requests first. The capacity
 * scheduler reserves blocks: GUARANTEED_NO_EVICT reserves the blocks of the prompt and the maximum
 * output, so that nothing is ever preempted. MAX_UTILIZATION reserves those of the next steps, and
 * pauses the last request when they do not fit. STATIC_BATCH is like GUARANTEED_NO_EVICT but admits
 * new requests only when no request is running. The first request that does not fit ends the stage.
 * The micro-batch scheduler then fills max_batched_tokens: a decode takes one token, and a context
 * takes its whole prompt or a chunk of whole blocks.
 *
 * Differences: cached blocks of a prompt do not count toward the tokens of a step. Without chunks,
 * a prompt that is longer than a step is rejected ("max-num-tokens") when it is its turn, even
 * after a pause. The prefix cache is that of vLLM, without partial blocks, priorities, and a host
 * tier.
 *
 * Main invariant: with GUARANTEED_NO_EVICT and STATIC_BATCH, free blocks >= blocks that running
 * requests still need. A step costs O(running requests + tried requests).
 */
#ifndef BLIS_INSTANCE_TRTLLM_TRTLLM_H
#define BLIS_INSTANCE_TRTLLM_TRTLLM_H

#include "instance/stepwise/stepwise.h"

/* The serving engine of an instance with config.trtllm. */
extern const blis__serving_ops blis__serving_trtllm;

/* Checks config.trtllm, and rejects options that it cannot be combined with. */
BLIS_MUSTUSE blis_status blis__trtllm_check(const blis_instance_config *config, blis_error *error);

/*
 * Returns the maximum sequence length at which every request can run alone. It does not exceed that
 * of the configuration.
 */
int64_t blis__trtllm_longest(const blis_instance_config *config);

#endif
