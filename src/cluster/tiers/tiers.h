/*
 * tiers.h - the tiers of a cluster while it runs, shared by their files.
 *
 * One module in several files. setup.c contains construction, failures, and counts,
 * and lookup.c finds blocks. load.c loads blocks for requests, and hits.c counts
 * the hits of their prompts. save.c saves blocks, and jobs.c reads and writes over
 * links.
 *
 * Main invariants: a block of a store is incoming exactly while one save or one
 * promotion of a load will settle it, and is pinned exactly while a load reads it.
 * The bytes of the links equal the bytes of the jobs.
 */
#ifndef BLIS_CLUSTER_TIERS_TIERS_H
#define BLIS_CLUSTER_TIERS_TIERS_H

#include "cluster/links/link.h"
#include "cluster/links/link_clock.h"
#include "cluster/state.h"
#include "cluster/tiers/kv_tiers.h"
#include "instance/request/kv_source.h"

enum {
  BLIS__NO_STORE = -1,
  /* Jobs of a load: per tier, one for its own store and one for a peer's. */
  BLIS__LOAD_JOBS_MAX = 2 * BLIS_KV_TIERS_MAX
};

typedef struct blis__tier_place {
  blis_tier_store *blocks;
  blis_tier_store *sights; /* of blocks that were seen; NULL = no threshold */
  uint32_t tier;
  uint32_t owner; /* instance or node */
  uint32_t read_link;
  uint32_t write_link; /* the same one when half duplex */
} blis__tier_place;

/* A block that is being read or written. */
typedef struct blis__tier_block {
  blis_block_id id;
  uint32_t depth;          /* in its prompt, */
  uint32_t blocks;         /* number of its blocks; 0 = unknown */
  int64_t reused_after_us; /* as its program said; -1 = it did not */
  int32_t from;            /* the store that it is read of; BLIS__NO_STORE: a save */
  int32_t into;            /* the store in which it is incoming */
} blis__tier_block;

typedef BLIS_ARRAY(blis__tier_block) blis__tier_blocks;

struct blis__tier_load;

/* A read of one store for a request, or a write. */
typedef struct blis__tier_job {
  blis__transfer transfer;      /* first, so that it leads to this */
  struct blis__tier_load *load; /* that it is part of; NULL = it is a write */
  int32_t store;
  uint32_t instance; /* that reads, or has saved */
  int64_t since_us;
  int64_t block_count;
  double bytes;
  blis__tier_blocks blocks; /* of a write */
  struct blis__tier_job *earlier;
  struct blis__tier_job *later;
} blis__tier_job;

/* A load for one request. */
typedef struct blis__tier_load {
  blis_live_request *live; /* NULL = no request waits for it any longer */
  uint32_t instance;
  blis_kv_stretch stretch;
  int64_t since_us;
  blis__tier_blocks blocks; /* of the stretch, in its order */
  blis__tier_job *jobs[BLIS__LOAD_JOBS_MAX];
  uint32_t job_count;
  uint32_t jobs_left;
  struct blis__tier_load *earlier;
  struct blis__tier_load *later;
} blis__tier_load;

/* Hits of a prompt, by the slot of its request. */
typedef struct blis__tier_hits {
  int64_t number; /* of the request */
  blis_kv_hits hits;
  int64_t brought_blocks[BLIS_KV_TIERS_MAX]; /* before its admission */
} blis__tier_hits;

/* The tiers as an instance has them. */
typedef struct blis__tier_end {
  struct blis__tiers *tiers;
  uint32_t instance;
  blis_kv_source source; /* ud is this */
} blis__tier_end;

/* A block that an instance's own cache has evicted. */
typedef struct blis__tier_eviction {
  uint32_t instance;
  blis_block_id id;
} blis__tier_eviction;

typedef struct blis__tier {
  blis_kv_tier is;
  int32_t first_store; /* of its stores, which are next to each other */
  int32_t store_count;
  blis_kv_tier_counts counts;
} blis__tier;

typedef struct blis__tiers {
  blis_cluster *cluster;
  blis_kv_tiers config;
  blis__tier_end *ends;                      /* by instance */
  BLIS_ARRAY(blis__tier_eviction) evictions; /* by caches, not yet saved */
  blis__tier all[BLIS_KV_TIERS_MAX];
  uint32_t count;
  BLIS_ARRAY(blis__tier_place) stores;
  blis__links links;
  blis__link_clock clock;
  uint32_t *network_in; /* by instance; NULL = there is no network */
  uint32_t *network_out;
  double *block_bytes;    /* by instance */
  blis__tier_load *loads; /* in progress */
  blis__tier_job *jobs;
  /* The last offer: the blocks found for a request. */
  blis__tier_blocks found;
  BLIS_ARRAY(blis__tier_hits) hits; /* by slot, up to the last slot with hits */
  blis_kv_tiers_counts counts;
  blis__signal_source signals;
} blis__tiers;

/* lookup.c */

/* The store of a tier that an instance uses. */
int32_t blis__tier_store_of(const blis__tiers *tiers, uint32_t tier, uint32_t instance);

/*
 * Fills tiers->found with the blocks of chain from `first` to before `end` at most,
 * up to the first block that no tier has. Changes nothing else.
 */
BLIS_MUSTUSE blis_status blis__tiers_find(blis__tiers *tiers, uint32_t instance,
                                          const blis_block_chain *chain, uint32_t first,
                                          uint32_t end);

/*
 * The blocks of a prompt, each with the weight of its place: the cache of the
 * instance has the first `cached` ones. Blocks in stores of other instances
 * count if their tier has a peer_weight. O(blocks * tiers), and
 * O(blocks * stores) in addition in that case.
 */
double blis__tiers_weigh(const void *ud, uint32_t instance, const blis_block_chain *chain,
                         uint32_t cached);

/* load.c: as kv_source.h has it; ud is the end of an instance. */
BLIS_MUSTUSE blis_status blis__tiers_offer(void *ud, const blis_live_request *request,
                                           blis_kv_stretch *stretch, int64_t now_us,
                                           blis_error *error);
BLIS_MUSTUSE blis_status blis__tiers_bring(void *ud, blis_live_request *request,
                                           const blis_kv_stretch *stretch, int64_t now_us,
                                           blis_error *error);
void blis__tiers_cancel(void *ud, blis_live_request *request);

/* A read has ended; the request may continue. */
BLIS_MUSTUSE blis_status blis__tiers_read(blis__tiers *tiers, blis__tier_job *job,
                                          blis_error *error);

/* Nothing more is read for requests of this instance. */
void blis__tiers_stop_loads(blis__tiers *tiers, uint32_t instance);

/* Called before a store is lost: requests that read from it keep the blocks received so far. */
BLIS_MUSTUSE blis_status blis__tiers_cut_loads(blis__tiers *tiers, int32_t store,
                                               blis_error *error);

void blis__tiers_free_load(blis__tiers *tiers, blis__tier_load *load);

/* hits.c: something is about to be brought to a request, ... */
BLIS_MUSTUSE blis_status blis__tier_hits_begin(blis__tiers *tiers, const blis_live_request *live);

/* ... a block of a tier has come, ... */
void blis__tier_hits_add(blis__tiers *tiers, const blis_live_request *live, uint32_t tier);

/* ... and it is admitted: as kv_source.h has it. */
void blis__tiers_admitted(void *ud, const blis_live_request *live, int64_t cached_tokens);

/* The hits of a request that ends; NULL = none. */
const blis_kv_hits *blis__tier_hits_of(const blis__tiers *tiers, const blis_live_request *live);

/* save.c */

/* Blocks of a prompt, from `first` to before `end`, as an instance has them. */
typedef struct blis__tier_stretch {
  uint32_t instance;
  const blis_block_chain *chain;
  uint32_t first;
  uint32_t end;
  int64_t reused_after_us; /* -1 = not set */
} blis__tier_stretch;

/* These were computed. */
BLIS_MUSTUSE blis_status blis__tiers_save_chain(blis__tiers *tiers,
                                                const blis__tier_stretch *stretch,
                                                blis_error *error);

/* Called when their request is over: later uses count. */
BLIS_MUSTUSE blis_status blis__tiers_keep_chain(blis__tiers *tiers,
                                                const blis__tier_stretch *stretch,
                                                blis_error *error);

/*
 * For tiers with evict_above: evicts blocks from a store above that watermark (with
 * is_coming: from a store without a free place for a new block), as many as
 * configured and possible, and appends them to victims.
 */
BLIS_MUSTUSE blis_status blis__tiers_evict_above(blis__tiers *tiers, int32_t store, bool is_coming,
                                                 blis__tier_blocks *victims, blis_error *error);

/* Passes blocks that were evicted from a store to the next tiers. */
BLIS_MUSTUSE blis_status blis__tiers_evicted(blis__tiers *tiers, uint32_t instance, int32_t store,
                                             const blis__tier_blocks *victims, blis_error *error);

/* As in kv_source.h; blocks evicted at one time are saved together at the end of the event. */
void blis__tiers_hear_eviction(void *ud, blis_block_id id);
BLIS_MUSTUSE blis_status blis__tiers_save_evicted(blis__tiers *tiers, blis_error *error);

/* A write has ended. */
BLIS_MUSTUSE blis_status blis__tiers_written(blis__tiers *tiers, blis__tier_job *job,
                                             blis_error *error);

/* Nothing more is written that this instance has saved, or into this store. */
void blis__tiers_stop_saves(blis__tiers *tiers, int64_t instance, int32_t store);

/* A block is saved or used there; *score stays without a function for it. */
BLIS_MUSTUSE blis_status blis__tiers_score(const blis__tiers *tiers, int32_t store,
                                           const blis__tier_block *block, double *score,
                                           blis_error *error);

/* jobs.c */

/* A job without blocks, not yet begun; NULL = out of memory. */
blis__tier_job *blis__tier_job_new(blis__tiers *tiers, int32_t store, uint32_t instance);

/* Begins a job with the bytes of this number of blocks of its instance. */
BLIS_MUSTUSE blis_status blis__tier_job_begin(blis__tiers *tiers, blis__tier_job *job,
                                              int64_t blocks, blis_error *error);

/* Wherever it is: it is no more. */
void blis__tier_job_free(blis__tiers *tiers, blis__tier_job *job);

/* Reports the end of a job at this time to the sink. */
void blis__tier_job_tell(blis__tiers *tiers, const blis__tier_job *job, bool is_cut);

/* Estimated, as the links are used now, with the latencies. */
double blis__tier_read_us(const blis__tiers *tiers, int32_t store, uint32_t instance,
                          int64_t blocks);

/* As an event of the cluster: jobs have ended. */
BLIS_MUSTUSE blis_status blis__tiers_event(blis__tiers *tiers, blis_error *error);

static inline blis__tier_place *blis__tier_place_at(const blis__tiers *tiers, int32_t store) {
  return &tiers->stores.items[store];
}

static inline blis__tier *blis__tier_at(blis__tiers *tiers, int32_t store) {
  return &tiers->all[blis__tier_place_at(tiers, store)->tier];
}

#endif
