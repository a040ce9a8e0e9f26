/*
 * tiers.h - the state of the KV tiers of a cluster, shared by their files.
 *
 * This is one module in several files. setup.c contains construction, failures, and counts, and
 * lookup.c finds blocks. load.c loads blocks for requests, and hits.c counts the hits of their
 * prompts. save.c saves blocks, and jobs.c reads and writes over links.
 *
 * Main invariants: a block of a store is incoming exactly while one save, or one promotion by a
 * load, is in progress for it. It is pinned exactly while a load reads it. The bytes of the links
 * equal the bytes of the jobs.
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
  /*
   * Maximum number of jobs of a load: per tier, one for the instance's own store and one for stores
   * of peers.
   */
  BLIS__LOAD_JOBS_MAX = 2 * BLIS_KV_TIERS_MAX
};

typedef struct blis__tier_place {
  blis_tier_store *blocks;
  blis_tier_store *sights; /* counts of blocks that were seen; NULL = no threshold */
  uint32_t tier;
  uint32_t owner; /* instance or node */
  uint32_t read_link;
  uint32_t write_link; /* same as read_link if half-duplex */
} blis__tier_place;

/* A block that is being read or written. */
typedef struct blis__tier_block {
  blis_block_id id;
  uint32_t depth;          /* index in its prompt */
  uint32_t blocks;         /* number of blocks of the prompt; 0 = unknown */
  int64_t reused_after_us; /* hint of its program; -1 = no hint */
  int32_t from;            /* the store from which it is read; BLIS__NO_STORE for a save */
  int32_t into;            /* the store to which it is written */
} blis__tier_block;

typedef BLIS_ARRAY(blis__tier_block) blis__tier_blocks;

struct blis__tier_load;

/* A read of one store for a request, or a write. */
typedef struct blis__tier_job {
  blis__transfer transfer;      /* the first member, so that it converts to the job */
  struct blis__tier_load *load; /* the load of a read; NULL = the job is a write */
  int32_t store;
  uint32_t instance; /* instance that reads, or that saved the blocks */
  int64_t since_us;
  int64_t block_count;
  double bytes;
  blis__tier_blocks blocks; /* blocks of a write */
  struct blis__tier_job *earlier;
  struct blis__tier_job *later;
} blis__tier_job;

/* A load for one request. */
typedef struct blis__tier_load {
  blis_live_request *live; /* NULL = no request waits for the load */
  uint32_t instance;
  blis_kv_stretch stretch;
  int64_t since_us;
  blis__tier_blocks blocks; /* blocks of the stretch, in order */
  blis__tier_job *jobs[BLIS__LOAD_JOBS_MAX];
  uint32_t job_count;
  uint32_t jobs_left;
  struct blis__tier_load *earlier;
  struct blis__tier_load *later;
} blis__tier_load;

/* Hits of a prompt, indexed by the slot of its request. */
typedef struct blis__tier_hits {
  int64_t number; /* number of the request */
  blis_kv_hits hits;
  int64_t brought_blocks[BLIS_KV_TIERS_MAX]; /* loaded before its admission */
} blis__tier_hits;

/* The KV source of an instance. */
typedef struct blis__tier_end {
  struct blis__tiers *tiers;
  uint32_t instance;
  blis_kv_source source; /* its ud is this struct */
} blis__tier_end;

/* A block that the KV cache of an instance has evicted. */
typedef struct blis__tier_eviction {
  uint32_t instance;
  blis_block_id id;
} blis__tier_eviction;

typedef struct blis__tier {
  blis_kv_tier is;
  int32_t first_store; /* index of its first store; its stores are adjacent */
  int32_t store_count;
  blis_kv_tier_counts counts;
} blis__tier;

typedef struct blis__tiers {
  blis_cluster *cluster;
  blis_kv_tiers config;
  blis__tier_end *ends;                      /* indexed by instance */
  BLIS_ARRAY(blis__tier_eviction) evictions; /* evictions by caches that are not saved yet */
  blis__tier all[BLIS_KV_TIERS_MAX];
  uint32_t count;
  BLIS_ARRAY(blis__tier_place) stores;
  blis__links links;
  blis__link_clock clock;
  uint32_t *network_in; /* links, indexed by instance; NULL = no network */
  uint32_t *network_out;
  double *block_bytes;    /* indexed by instance */
  blis__tier_load *loads; /* loads in progress */
  blis__tier_job *jobs;
  /* The last offer: the blocks found for a request. */
  blis__tier_blocks found;
  BLIS_ARRAY(blis__tier_hits) hits; /* indexed by slot, up to the last slot with hits */
  blis_kv_tiers_counts counts;
  blis__signal_source signals;
} blis__tiers;

/* lookup.c */

/* Returns the store of a tier that an instance uses. */
int32_t blis__tier_store_of(const blis__tiers *tiers, uint32_t tier, uint32_t instance);

/*
 * Fills tiers->found with the blocks [first, end) of chain, up to the first block that is in no
 * tier. Changes nothing else.
 */
BLIS_MUSTUSE blis_status blis__tiers_find(blis__tiers *tiers, uint32_t instance,
                                          const blis_block_chain *chain, uint32_t first,
                                          uint32_t end);

/*
 * Returns the value of the blocks of a prompt, each weighted by its location. The first `cached`
 * blocks are in the cache of the instance. Blocks in stores of other instances count if their tier
 * has a peer_weight. O(blocks * tiers), plus O(blocks * stores) with peer weights.
 */
double blis__tiers_weigh(const void *ud, uint32_t instance, const blis_block_chain *chain,
                         uint32_t cached);

/* load.c: these implement kv_source.h. ud is the blis__tier_end of an instance. */
BLIS_MUSTUSE blis_status blis__tiers_offer(void *ud, const blis_live_request *request,
                                           blis_kv_stretch *stretch, int64_t now_us,
                                           blis_error *error);
BLIS_MUSTUSE blis_status blis__tiers_bring(void *ud, blis_live_request *request,
                                           const blis_kv_stretch *stretch, int64_t now_us,
                                           blis_error *error);
void blis__tiers_cancel(void *ud, blis_live_request *request);

/* Handles the end of a read, after which the request may continue. */
BLIS_MUSTUSE blis_status blis__tiers_read(blis__tiers *tiers, blis__tier_job *job,
                                          blis_error *error);

/* Stops all reads for requests of this instance. */
void blis__tiers_stop_loads(blis__tiers *tiers, uint32_t instance);

/* Called before a store is lost: requests that read from it keep the blocks received so far. */
BLIS_MUSTUSE blis_status blis__tiers_cut_loads(blis__tiers *tiers, int32_t store,
                                               blis_error *error);

void blis__tiers_free_load(blis__tiers *tiers, blis__tier_load *load);

/* hits.c: called before a load for a request. */
BLIS_MUSTUSE blis_status blis__tier_hits_begin(blis__tiers *tiers, const blis_live_request *live);

/* Counts a block that was loaded from a tier. */
void blis__tier_hits_add(blis__tiers *tiers, const blis_live_request *live, uint32_t tier);

/* Implements blis_kv_source.admitted. */
void blis__tiers_admitted(void *ud, const blis_live_request *live, int64_t cached_tokens);

/* Returns the hits of a request that ends; NULL = none. */
const blis_kv_hits *blis__tier_hits_of(const blis__tiers *tiers, const blis_live_request *live);

/* save.c */

/* Blocks [first, end) of a prompt on an instance. */
typedef struct blis__tier_stretch {
  uint32_t instance;
  const blis_block_chain *chain;
  uint32_t first;
  uint32_t end;
  int64_t reused_after_us; /* -1 = not set */
} blis__tier_stretch;

/* Saves blocks that were computed. */
BLIS_MUSTUSE blis_status blis__tiers_save_chain(blis__tiers *tiers,
                                                const blis__tier_stretch *stretch,
                                                blis_error *error);

/* Updates the scores of blocks for later uses. Called when their request has ended. */
BLIS_MUSTUSE blis_status blis__tiers_keep_chain(blis__tiers *tiers,
                                                const blis__tier_stretch *stretch,
                                                blis_error *error);

/*
 * For tiers with evict_above: evicts blocks from a store that exceeds the watermark or, with
 * is_coming, that has no space for a new block. Evicts as many blocks as configured and possible,
 * and appends them to victims.
 */
BLIS_MUSTUSE blis_status blis__tiers_evict_above(blis__tiers *tiers, int32_t store, bool is_coming,
                                                 blis__tier_blocks *victims, blis_error *error);

/* Saves blocks that were evicted from a store to the next tiers. */
BLIS_MUSTUSE blis_status blis__tiers_evicted(blis__tiers *tiers, uint32_t instance, int32_t store,
                                             const blis__tier_blocks *victims, blis_error *error);

/*
 * Implements blis_kv_source.evicted. Blocks evicted at the same time are saved together at the end
 * of the event.
 */
void blis__tiers_hear_eviction(void *ud, blis_block_id id);
BLIS_MUSTUSE blis_status blis__tiers_save_evicted(blis__tiers *tiers, blis_error *error);

/* Handles the end of a write. */
BLIS_MUSTUSE blis_status blis__tiers_written(blis__tiers *tiers, blis__tier_job *job,
                                             blis_error *error);

/* Stops all writes of blocks that this instance has saved, and all writes to this store. */
void blis__tiers_stop_saves(blis__tiers *tiers, int64_t instance, int32_t store);

/*
 * Computes the score of a block that is saved or used in a store. Without a score function, *score
 * is unchanged.
 */
BLIS_MUSTUSE blis_status blis__tiers_score(const blis__tiers *tiers, int32_t store,
                                           const blis__tier_block *block, double *score,
                                           blis_error *error);

/* jobs.c */

/* Creates a job without blocks, which is not started; NULL = out of memory. */
blis__tier_job *blis__tier_job_new(blis__tiers *tiers, int32_t store, uint32_t instance);

/* Starts a job with the bytes of this number of blocks of its instance. */
BLIS_MUSTUSE blis_status blis__tier_job_begin(blis__tiers *tiers, blis__tier_job *job,
                                              int64_t blocks, blis_error *error);

/* Removes a job from all lists, in any state, and frees it. */
void blis__tier_job_free(blis__tiers *tiers, blis__tier_job *job);

/* Reports the end of a job at the current time to the sink. */
void blis__tier_job_tell(blis__tiers *tiers, const blis__tier_job *job, bool is_cut);

/* Estimates the time of a read with the current use of the links, including latencies. */
double blis__tier_read_us(const blis__tiers *tiers, int32_t store, uint32_t instance,
                          int64_t blocks);

/* Executes an event of the cluster: the end of jobs. */
BLIS_MUSTUSE blis_status blis__tiers_event(blis__tiers *tiers, blis_error *error);

static inline blis__tier_place *blis__tier_place_at(const blis__tiers *tiers, int32_t store) {
  return &tiers->stores.items[store];
}

static inline blis__tier *blis__tier_at(blis__tiers *tiers, int32_t store) {
  return &tiers->all[blis__tier_place_at(tiers, store)->tier];
}

#endif
