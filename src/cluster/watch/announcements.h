/*
 * announcements.h - a receiver of the blocks in the prefix caches, for programs that announce them
 * while a run goes on.
 *
 * A run with a receiver uses the stepwise engine, with equal results. A run without a receiver pays
 * nothing.
 */
#ifndef BLIS_CLUSTER_WATCH_ANNOUNCEMENTS_H
#define BLIS_CLUSTER_WATCH_ANNOUNCEMENTS_H

#include "base/containers/block_chain.h"
#include "cluster/cluster.h"

/* A request joins an instance, where its blocks have these identities. */
typedef struct blis_named_blocks {
  int64_t request; /* its number */
  const blis_block_chain *chain;
  uint32_t block_tokens;
} blis_named_blocks;

/* The options of BLIS_FEATURE_ANNOUNCEMENTS; copied. All functions are set. A failure stops the
 * run.
 */
typedef struct blis_block_sink {
  void *ud;
  /* Comes before the changes of the blocks. A request that is sent again joins again. */
  blis_status (*named)(void *ud, const blis_named_blocks *named, blis_error *error);
  /* A prefix cache contains the block from now on, or no longer: in order, for each instance. A
     block of several KV groups has an identity in each (kv/layout.h). */
  void (*stored)(void *ud, uint32_t instance, blis_block_id id);
  void (*removed)(void *ud, uint32_t instance, blis_block_id id);
} blis_block_sink;

#endif
