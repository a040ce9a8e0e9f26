/*
 * serving.h - what a serving engine (vLLM, SGLang) decides in the stepwise engine: who computes how
 * much in a step, and how KV is stored.
 *
 * All serving engines share events, steps, step times, records, and counters. A serving engine is a
 * set of functions with a state of its own, blis__stepwise.serving_state. instance.c selects the
 * serving engine.
 */
#ifndef BLIS_INSTANCE_STEPWISE_SERVING_H
#define BLIS_INSTANCE_STEPWISE_SERVING_H

#include <stdbool.h>

#include "base/error.h"
#include "instance/parts/engine.h"
#include "instance/stepwise/sequence.h"
#include "kv/block_journal.h"
#include "kv/kv_cache.h"

typedef struct blis__stepwise blis__stepwise;

struct blis__serving_ops {
  const char *name;
  /* KV can arrive from other instances and from lower tiers (remote_kv.h, kv_source.h). */
  bool moves_kv;
  /* Sets serving_state. All other parts of the engine are already complete. */
  blis_status (*init)(blis__stepwise *engine, blis_error *error);
  /* Frees the state; also called after a failed init. */
  void (*deinit)(blis__stepwise *engine);
  /*
   * Forms the batch of a step: sets new_tokens and computed_tokens of all requests in the batch,
   * and stores KV for them. Requests may join the batch or go back to the queue.
   */
  blis_status (*form)(blis__stepwise *engine, blis_error *error);
  /* Releases the KV of a request that leaves the engine and is in neither the queue nor the batch.
     Returns BLIS_OK or BLIS_ERR_NOMEM. */
  blis_status (*release)(blis__stepwise *engine, blis__sequence *sequence);
  /* Called after a step if no request is left; NULL = nothing to do. */
  void (*rest)(blis__stepwise *engine);
  /* Gets the state and counters of the cache. References are those of the batch, the queue, and
     parked requests. */
  void (*get_kv)(const blis__stepwise *engine, blis_kv_cache_stats *stats);
  /* See the functions for cached blocks and marks in instance.h. */
  uint32_t (*cached_blocks)(const blis__stepwise *engine, const blis_block_chain *chain);
  uint32_t (*cached_blocks_at_mark)(const blis__stepwise *engine, const blis_block_chain *chain);
  void (*set_journal)(blis__stepwise *engine, blis_block_journal *journal);
  blis_status (*forget)(blis__stepwise *engine);
  bool (*check)(const blis__stepwise *engine);
};

/* Rejects options that only vLLM supports, for another backend. */
BLIS_MUSTUSE blis_status blis__serving_check(const blis_instance_config *config,
                                             const char *backend, blis_error *error);

/* The functions of the same names for serving engines that store KV in blocks (stepwise_kv.c). */
BLIS_MUSTUSE blis_status blis__kv_serving_init(blis__stepwise *engine, blis_error *error);
void blis__kv_serving_deinit(blis__stepwise *engine);
BLIS_MUSTUSE blis_status blis__kv_serving_release(blis__stepwise *engine, blis__sequence *sequence);
void blis__kv_serving_get_kv(const blis__stepwise *engine, blis_kv_cache_stats *stats);
uint32_t blis__kv_serving_cached_blocks(const blis__stepwise *engine,
                                        const blis_block_chain *chain);
uint32_t blis__kv_serving_cached_blocks_at_mark(const blis__stepwise *engine,
                                                const blis_block_chain *chain);
void blis__kv_serving_set_journal(blis__stepwise *engine, blis_block_journal *journal);
BLIS_MUSTUSE blis_status blis__kv_serving_forget(blis__stepwise *engine);
bool blis__kv_serving_check(const blis__stepwise *engine);

/* The scheduler of vLLM and of BLIS (Go), with KV in blocks (vllm.c, batch.c, stepwise_kv.c). */
extern const blis__serving_ops blis__serving_vllm;

#endif
