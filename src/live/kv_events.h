/*
 * kv_events.h - reports changes of prefix caches as batches of events in the format of vLLM
 * (vllm/distributed/kv_events.py), for routers that track the caches of instances.
 *
 * Each instance has separate batches, numbered from 0. A batch is a MessagePack array: Unix time,
 * events, data-parallel rank (0). Events are arrays that start with their name, or maps with the
 * name under "type" (vLLM since its pull request 42892):
 *
 *   BlockStored       block_hashes, parent_block_hash, token_ids, block_size, lora_id, medium,
 *                     lora_name, extra_keys (only of prompts with a cache_salt)
 *   BlockRemoved      block_hashes, medium
 *   AllBlocksCleared
 *
 * Consecutive blocks of a prompt share an event. When the last block of a cache is removed,
 * AllBlocksCleared replaces the events of the batch. The batch of a step is published when the step
 * ends. Blocks with unknown tokens (kv_book.h) are omitted.
 */
#ifndef BLIS_LIVE_KV_EVENTS_H
#define BLIS_LIVE_KV_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "live/kv_book.h"

typedef struct blis_live_kv_events blis_live_kv_events;

typedef struct blis_live_kv_publisher {
  void *ud;
  /* Called when a batch is due; the payload is valid during the call. NULL = batches are
     dropped. */
  void (*publish)(void *ud, uint32_t instance, uint64_t sequence, blis_slice payload);
  double started_s; /* Unix time at simulated time 0 */
} blis_live_kv_publisher;

/* Creates the events, as maps or arrays. Copies *alloc; borrows the book. NULL = out of memory. */
blis_live_kv_events *blis_live_kv_events_new(const blis_alloc *alloc, blis_live_kv_book *book,
                                             bool has_maps);

/* NULL is allowed. */
void blis_live_kv_events_free(blis_live_kv_events *events);

/* Sets the publisher. Call it before the first batch is due. Copies *publisher. */
void blis_live_kv_events_open(blis_live_kv_events *events, const blis_live_kv_publisher *publisher);

/* Record that the cache of an instance now contains a block, or no longer does.
   blis_live_kv_events_run reports out-of-memory failures. */
void blis_live_kv_events_stored(blis_live_kv_events *events, uint32_t instance, blis_block_id id);
void blis_live_kv_events_removed(blis_live_kv_events *events, uint32_t instance, blis_block_id id);

/* Assigns the changes since the last call to a step of an instance that ends at this time. */
BLIS_MUSTUSE blis_status blis_live_kv_events_end_step(blis_live_kv_events *events,
                                                      uint32_t instance, int64_t end_us);

/* Publishes the batches that are due by now_us, and the changes since the last step. Returns
   BLIS_ERR_NOMEM on failure. */
BLIS_MUSTUSE blis_status blis_live_kv_events_run(blis_live_kv_events *events, int64_t now_us);

/* Returns the time when the next batch is due; BLIS_TIME_NEVER_US = no batch is waiting. */
int64_t blis_live_kv_events_next_us(const blis_live_kv_events *events);

/* Returns the number of blocks with known content in the cache of an instance. */
int64_t blis_live_kv_events_cached(const blis_live_kv_events *events, uint32_t instance);

#endif
