/*
 * kv_events.h - the changes of prefix caches as batches of events in the layout of vLLM
 * (vllm/distributed/kv_events.py), for routers that follow what instances have cached.
 *
 * Each instance has batches of its own, numbered from 0. A batch is an array in MessagePack: Unix
 * time, events, data-parallel rank (0). Events are arrays that start with their name, or maps with
 * the name under "type" (vLLM since its pull request 42892):
 *
 *   BlockStored       block_hashes, parent_block_hash, token_ids, block_size, lora_id, medium,
 *                     lora_name, extra_keys (only of prompts with a cache_salt)
 *   BlockRemoved      block_hashes, medium
 *   AllBlocksCleared
 *
 * Blocks that follow each other in a prompt share an event. When the last block of a cache is
 * removed, AllBlocksCleared replaces the events of the batch. The batch of a step is published when
 * the step ends. Blocks whose tokens are not known (kv_book.h) are omitted.
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
  /* A batch is due; the payload is valid during the call. NULL = batches are dropped. */
  void (*publish)(void *ud, uint32_t instance, uint64_t sequence, blis_slice payload);
  double started_s; /* Unix time of the simulated time 0 */
} blis_live_kv_publisher;

/* Events are maps or arrays. Copies *alloc; borrows the book. NULL = out of memory. */
blis_live_kv_events *blis_live_kv_events_new(const blis_alloc *alloc, blis_live_kv_book *book,
                                             bool has_maps);

/* NULL is allowed. */
void blis_live_kv_events_free(blis_live_kv_events *events);

/* Before the first batch is due. Copies *publisher. */
void blis_live_kv_events_open(blis_live_kv_events *events, const blis_live_kv_publisher *publisher);

/* The cache of an instance has the block from now on, or no longer. A lack of memory is reported by
   blis_live_kv_events_run. */
void blis_live_kv_events_stored(blis_live_kv_events *events, uint32_t instance, blis_block_id id);
void blis_live_kv_events_removed(blis_live_kv_events *events, uint32_t instance, blis_block_id id);

/* The changes since the last call belong to a step of an instance that ends then. */
BLIS_MUSTUSE blis_status blis_live_kv_events_end_step(blis_live_kv_events *events,
                                                      uint32_t instance, int64_t end_us);

/* Publishes what is due by now_us, and the changes since the last step. BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis_live_kv_events_run(blis_live_kv_events *events, int64_t now_us);

/* When the next batch is due; BLIS_TIME_NEVER_US = none is waiting. */
int64_t blis_live_kv_events_next_us(const blis_live_kv_events *events);

/* Blocks of known content in the cache of an instance. */
int64_t blis_live_kv_events_cached(const blis_live_kv_events *events, uint32_t instance);

#endif
