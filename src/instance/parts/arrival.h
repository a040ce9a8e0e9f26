/*
 * arrival.h - the handling of a request that reaches the wait queue.
 *
 * The checks of BLIS (Go, inference-sim f90a1e3a), shared by all engines. One check is added: a
 * request whose own tokens need more blocks than the cache has would preempt itself forever, and is
 * therefore also unservable.
 */
#ifndef BLIS_INSTANCE_PARTS_ARRIVAL_H
#define BLIS_INSTANCE_PARTS_ARRIVAL_H

#include <stdint.h>

#include "instance/config/instance_config.h"

typedef enum blis__verdict {
  BLIS__VERDICT_SERVE,
  BLIS__VERDICT_LATE,      /* its deadline has passed */
  BLIS__VERDICT_UNSERVABLE /* it can never fit */
} blis__verdict;

blis__verdict blis__judge_arrival(const blis_instance_config *config,
                                  const blis_live_request *request, int64_t now_us);

/* Resets the engine's part of a request to its state on arrival. */
void blis__reset_request(blis_live_request *request);

/*
 * Returns the maximum number of KV blocks that a sequence holds at the same time until it has
 * stored `tokens` tokens.
 */
int64_t blis__peak_blocks(const blis_instance_config *config, int64_t tokens);

/*
 * Returns the number of blocks that request must hold to complete its last step, without the limit
 * of the maximum model length.
 */
int64_t blis__needed_blocks(const blis_instance_config *config, const blis_live_request *request);

#endif
