/*
 * kv_source.h - KV in tiers below the cache of an instance, which can be loaded
 * instead of being computed again.
 *
 * Before a request is admitted, the instance determines the cached part of its
 * prefill, and queries its source (kv_source of the configuration) for the blocks
 * after that part. If the source has more blocks, the instance reserves blocks for
 * them, removes the request from its queue, and starts the load. Other requests may
 * pass during the load. blis_instance_loaded reports that the content has arrived:
 * the request waits again, now with its KV (remote_kv.h), and computes the rest.
 * While it lacks only blocks for that, no other request is admitted. If there are
 * too few free blocks for the load, the request blocks the queue, as any other
 * does. After each preemption, the source is queried again.
 *
 * A request that waits for its KV counts as queued. cancel reports requests that
 * leave before the load ends: they time out, or are evicted.
 *
 * Cost: a query per admission, and per attempt of the head of the queue. Without a
 * source, a comparison per admission.
 */
#ifndef BLIS_INSTANCE_REQUEST_KV_SOURCE_H
#define BLIS_INSTANCE_REQUEST_KV_SOURCE_H

#include "base/error.h"
#include "instance/request/live_request.h"

struct blis_instance;

/* Blocks of a request's prefill: those from first to before end. */
typedef struct blis_kv_stretch {
  uint32_t first; /* number of cached blocks */
  uint32_t end;   /* and the source has the blocks between */
} blis_kv_stretch;

typedef struct blis_kv_source {
  void *ud;
  /* The request's first stretch->first blocks are in the cache. Sets *end to the block up to
     which the source offers to load, at most the end of its data; at most first = no offer. Must
     not change state, because it can be called again for the request. */
  blis_status (*offer)(void *ud, const blis_live_request *request, blis_kv_stretch *stretch,
                       int64_t now_us, blis_error *error);
  /* Loads the last offer, for which blocks are reserved. loaded() or cancel() follows, but not
     within this call. */
  blis_status (*bring)(void *ud, blis_live_request *request, const blis_kv_stretch *stretch,
                       int64_t now_us, blis_error *error);
  /* A request that waits for a load no longer needs it. */
  void (*cancel)(void *ud, blis_live_request *request);
  /* A request is admitted for the first time on this instance, with cached_tokens tokens of its
     prompt cached or loaded (was_brought). NULL = not wanted. */
  void (*admitted)(void *ud, const blis_live_request *request, int64_t cached_tokens);
  /* A block of the cache was evicted. NULL = not wanted. If set, every step is computed
     individually, with either engine. */
  void (*evicted)(void *ud, blis_block_id id);
} blis_kv_source;

/*
 * Reports that the load for the request ended at now_us, up to before block end of
 * its prefill, and at most as far as requested. If end is lower than requested, the
 * rest was lost in transfer and is computed.
 */
BLIS_MUSTUSE blis_status blis_instance_loaded(struct blis_instance *instance,
                                              blis_live_request *request, uint32_t end,
                                              int64_t now_us, blis_error *error);

#endif
