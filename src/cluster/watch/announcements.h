/*
 * announcements.h - a receiver of the contents of prefix caches, for programs that publish them
 * during a run.
 *
 * A run with a receiver uses the stepwise engine; the results are the same. A run without a
 * receiver has no overhead.
 */
#ifndef BLIS_CLUSTER_WATCH_ANNOUNCEMENTS_H
#define BLIS_CLUSTER_WATCH_ANNOUNCEMENTS_H

#include "base/containers/block_chain.h"
#include "cluster/cluster.h"

/* A request that joins an instance, and the identities of its blocks there. */
typedef struct blis_named_blocks {
  int64_t request; /* number of the request */
  const blis_block_chain *chain;
  uint32_t block_tokens;
} blis_named_blocks;

/* The options of BLIS_FEATURE_ANNOUNCEMENTS; copied. All functions must be set. A failure stops the
 * run. */
typedef struct blis_block_sink {
  void *ud;
  /* Called before the changes of the request's blocks. A request that is sent again joins again. */
  blis_status (*named)(void *ud, const blis_named_blocks *named, blis_error *error);
  /* Report that a prefix cache now contains a block, or no longer contains it. Calls are in order
     for each instance. A block that belongs to several KV groups has one identity per group
     (kv/layout.h). */
  void (*stored)(void *ud, uint32_t instance, blis_block_id id);
  void (*removed)(void *ud, uint32_t instance, blis_block_id id);
} blis_block_sink;

#endif
