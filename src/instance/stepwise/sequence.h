/*
 * sequence.h - the stepwise engine's own data about a request: its KV blocks,
 * its inter-token latencies, its next event.
 *
 * Sequences are recycled with the memory of their lists, so a run allocates
 * for the requests alive at the same time, not for every request.
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

/* KV in a radix tree, and pages that only the sequence has. */
typedef struct blis__tree_kv {
  uint32_t node;      /* locked end of its part in the tree */
  int64_t tree_pages; /* of this part */
  int64_t own_pages;  /* after it */
  bool joins;         /* in a batch of prompts, */
  bool runs;          /* or in the batch of decodes */
} blis__tree_kv;

typedef struct blis__sequence {
  blis__waiting place;        /* and the request; first, so that it leads to this */
  blis_block_list blocks;     /* of the sequence; empty while waiting */
  blis_group_holder groups;   /* with a KV layout, in place of blocks */
  blis__tree_kv tree;         /* with a radix tree, in place of blocks */
  BLIS_ARRAY(int64_t) itl_us; /* since the last preemption that restarts it */
  int64_t itl_zeros;          /* and as many of 0, of tokens that come with another */
  int64_t told_tokens;        /* of the last step, reported when they leave */
  blis_block_list ahead;      /* for drafts, until the next step */
  BLIS_ARRAY(double) rates;   /* its own acceptance rates; empty = none */
  int64_t drafted_tokens;     /* in this step; */
  int64_t ahead_tokens;       /* drafts that it verifies and rejects */
  int64_t token_end_us;       /* end of the step that computed its last token */
  /* The last event scheduled about it: its arrival, its place in the queue,
     its timeout. BLIS_EVENT_NONE or past when none is pending. */
  blis_event_handle event;
  int64_t furthest_tokens; /* highest progress ever; -1 = none */
  /* Where KV moves (remote_kv.h). */
  int64_t queued_us; /* when it reaches the queue, except with rules.looks_ahead */
  bool has_waited;   /* for the step after the next, see rules.looks_ahead */
  bool is_parked;    /* has blocks, and is neither in the queue nor in the batch */
  bool has_kv;       /* waits, and its blocks contain its computed KV */
  bool was_reserved;
  bool is_loading;         /* parked, until its KV is brought (kv_source.h) */
  uint32_t awaited_blocks; /* of its prefill that are loaded, hits included */
  uint32_t loaded_blocks;  /* that count as hits when it is admitted */
  int64_t first_itl_us;    /* since the last preemption that restarts it */
} blis__sequence;

/* All sequences of an engine. Zero it first. */
typedef struct blis__sequences {
  BLIS_ARRAY(blis__sequence *) all;
  BLIS_ARRAY(blis__sequence *) spare;
} blis__sequences;

/* A sequence for request, which leads back to it by its member engine. */
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
