/*
 * sequence.h - the stepwise engine's data about a request: its KV blocks, its inter-token
 * latencies, and its next event.
 *
 * Sequences are recycled together with the memory of their lists. A run therefore allocates memory
 * for the maximum number of concurrent requests, not for every request.
 */
#ifndef BLIS_INSTANCE_STEPWISE_SEQUENCE_H
#define BLIS_INSTANCE_STEPWISE_SEQUENCE_H

#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/containers/event_queue.h"
#include "base/error.h"
#include "instance/parts/wait_queue.h"
#include "instance/request/live_request.h"
#include "kv/block_pool.h"
#include "kv/group_cache.h"

/* KV in a radix tree, and pages that belong only to the sequence. */
typedef struct blis__tree_kv {
  uint32_t node;      /* last node of the path that it locks in the tree */
  int64_t tree_pages; /* pages of this path */
  int64_t own_pages;  /* own pages after this path */
  bool joins;         /* in a prefill batch */
  bool runs;          /* in the decode batch */
} blis__tree_kv;

typedef struct blis__sequence {
  /* Queue entry and request; the first member, so that it converts to the sequence. */
  blis__waiting place;
  blis_block_list blocks;     /* its KV blocks; empty while waiting */
  blis_group_holder groups;   /* with a KV layout, in place of blocks */
  blis__tree_kv tree;         /* used instead of blocks if KV is in a radix tree */
  BLIS_ARRAY(int64_t) itl_us; /* latencies since the last preemption that restarted it */
  int64_t itl_zeros;          /* number of latencies of 0: further tokens of the same step */
  int64_t told_tokens;        /* tokens of the last step, reported when they leave */
  blis_block_list ahead;      /* blocks for drafts, until the next step */
  BLIS_ARRAY(double) rates;   /* its own acceptance rates; empty = default rates */
  int64_t drafted_tokens;     /* drafts in this step */
  int64_t ahead_tokens;       /* drafts that this step verifies and rejects */
  int64_t token_end_us;       /* end of the step that computed its last token */
  /* The last event scheduled for it: arrival, entry into the queue, or timeout. BLIS_EVENT_NONE or
     stale if none is pending. */
  blis_event_handle event;
  int64_t furthest_tokens; /* maximum progress so far; -1 = none */
  /* The next members are for KV transfers (remote_kv.h). */
  int64_t queued_us; /* when it reaches the queue, without the delay of rules.looks_ahead */
  bool has_waited;   /* it has waited for a later step, see rules.looks_ahead */
  bool is_parked;    /* it it has blocks, and is neither in the queue nor in the batch */
  bool has_kv;       /* it it waits, and its blocks contain its computed KV */
  bool was_reserved;
  bool is_loading;         /* it is parked until its KV is loaded (kv_source.h) */
  uint32_t awaited_blocks; /* blocks of its prefill that are loaded, including hits */
  uint32_t loaded_blocks;  /* blocks that count as hits at its admission */
  int64_t first_itl_us;    /* first latency since the last preemption that restarted it */
} blis__sequence;

/* All sequences of an engine. Zero it before the first use. */
typedef struct blis__sequences {
  BLIS_ARRAY(blis__sequence *) all;
  BLIS_ARRAY(blis__sequence *) spare;
} blis__sequences;

/* Takes a sequence for request. request->engine points to it. */
BLIS_MUSTUSE blis_status blis__sequences_take(const blis_alloc *alloc, blis__sequences *sequences,
                                              blis_live_request *request,
                                              blis__sequence **sequence);

/* Separates request and sequence; the sequence must hold no blocks. */
void blis__sequences_give(blis__sequences *sequences, blis__sequence *sequence);

/* Frees all sequences, in use or not. */
void blis__sequences_deinit(const blis_alloc *alloc, blis__sequences *sequences);

static inline blis__sequence *blis__sequence_at(blis__waiting *place) {
  return (blis__sequence *)place;
}

#endif
