/*
 * arrival.h - the handling of a request that reaches the wait queue.
 *
 * The guards of BLIS (Go, inference-sim f90a1e3a), shared by all engines. One is
 * added: a request whose own tokens need more blocks than the cache has would evict
 * itself forever, and is also unservable.
 */
#ifndef BLIS_INSTANCE_PARTS_ARRIVAL_H
#define BLIS_INSTANCE_PARTS_ARRIVAL_H

#include <stdint.h>

#include "instance/config/instance_config.h"

typedef enum blis__verdict {
  BLIS__VERDICT_SERVE,
  BLIS__VERDICT_LATE,      /* its deadline has passed */
  BLIS__VERDICT_UNSERVABLE /* can never fit */
} blis__verdict;

blis__verdict blis__judge_arrival(const blis_instance_config *config,
                                  const blis_live_request *request, int64_t now_us);

/* Resets the engine's part of a request to its state on arrival. */
void blis__reset_request(blis_live_request *request);

/* Maximum number of KV blocks that a sequence holds at once until it has stored tokens tokens. */
int64_t blis__peak_blocks(const blis_instance_config *config, int64_t tokens);

/*
 * Blocks that request must hold at once to get through its last step, without
 * a limit by the maximum model length.
 */
int64_t blis__needed_blocks(const blis_instance_config *config, const blis_live_request *request);

#endif
