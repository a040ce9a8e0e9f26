/*
 * kv_source.h - an interface to KV in tiers below an instance's cache, which can be loaded instead
 * of recomputed.
 *
 * Before it admits a request, the instance determines the cached part of the prefill, and queries
 * its source (kv_source of the configuration) for the blocks after that part. If the source has
 * more blocks, the instance reserves blocks for them, removes the request from its queue, and
 * starts the load. During the load, other requests may overtake it. blis_instance_loaded reports
 * that the content has arrived: the request waits again, now with its KV (remote_kv.h), and
 * computes the rest. While it lacks only blocks for the rest, no other request is admitted. If
 * there are too few free blocks for the load, the request blocks the queue, like any request that
 * lacks blocks. After each preemption, the source is queried again.
 *
 * A request that waits for its KV counts as queued. cancel reports a request that leaves before its
 * load ends because it times out or is evicted.
 *
 * Cost: one query per admission, and one per attempt to admit the head of the queue. Without a
 * source: one comparison per admission.
 */
#ifndef BLIS_INSTANCE_REQUEST_KV_SOURCE_H
#define BLIS_INSTANCE_REQUEST_KV_SOURCE_H

#include "base/error.h"
#include "instance/request/live_request.h"

struct blis_instance;

/* Blocks [first, end) of a request's prefill. */
typedef struct blis_kv_stretch {
  uint32_t first; /* number of cached blocks */
  uint32_t end;   /* the source has the blocks before this one */
} blis_kv_stretch;

typedef struct blis_kv_source {
  void *ud;
  /* The first stretch->first blocks of the request are in the cache. Sets stretch->end to the end
     of the blocks that the source offers to load. A value <= first means no offer. Must not change
     state, because it can be called again for the same request. */
  blis_status (*offer)(void *ud, const blis_live_request *request, blis_kv_stretch *stretch,
                       int64_t now_us, blis_error *error);
  /* Loads the last offer, for which blocks are reserved. blis_instance_loaded() or cancel()
     follows, but not within this call. */
  blis_status (*bring)(void *ud, blis_live_request *request, const blis_kv_stretch *stretch,
                       int64_t now_us, blis_error *error);
  /* Called when a request that waits for a load no longer needs it. */
  void (*cancel)(void *ud, blis_live_request *request);
  /* Called when a request is admitted for the first time on this instance. cached_tokens tokens of
     its prompt are cached or were loaded (was_brought). NULL = not needed. */
  void (*admitted)(void *ud, const blis_live_request *request, int64_t cached_tokens);
  /* Called when a block of the cache was evicted. NULL = not needed. If it is set, both engines
     compute every step individually. */
  void (*evicted)(void *ud, blis_block_id id);
} blis_kv_source;

/*
 * Reports that the load for the request ended at now_us, with all blocks before `end`. end is at
 * most the requested end. If it is lower, the rest was lost in transfer and is computed.
 */
BLIS_MUSTUSE blis_status blis_instance_loaded(struct blis_instance *instance,
                                              blis_live_request *request, uint32_t end,
                                              int64_t now_us, blis_error *error);

#endif
