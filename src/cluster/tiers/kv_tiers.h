/*
 * kv_tiers.h - KV cache tiers: their options and counters.
 *
 * A tier has one store or several (kv/tier_store.h): one per instance, one per node
 * of several instances, or one for all. The computed blocks of prompts are saved to
 * the tiers. Before a request is admitted, blocks of its prompt after the cached
 * ones are loaded from the tiers (instance/request/kv_source.h) instead of being
 * computed again. Tiers are searched in order, block by block: a block counts for
 * the first tier that has it, and the first block that no tier has ends the load.
 *
 * A tier with a staging tier (stage) is read through it in consecutive batches, and
 * the staging tier keeps a copy of the blocks (promotion). The tier receives all
 * blocks that are saved to the staging tier, or the blocks evicted from it.
 *
 * Bytes go over links that are shared max-min fairly (link.h): one in and one out
 * of every store, and for blocks on another machine the networks of both machines.
 *
 * When an instance is lost, its own stores are lost unless they are persistent;
 * requests that read from them compute the rest.
 *
 * Model: the layers of vLLM's offloading connector (tiers below a CPU tier,
 * docs/features/kv_offloading_usage.md), Dynamo's G2 to G4, Mooncake Store;
 * docs/kv-tiers.md lists the common features and the differences.
 */
#ifndef BLIS_CLUSTER_TIERS_KV_TIERS_H
#define BLIS_CLUSTER_TIERS_KV_TIERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "cluster/cluster.h"
#include "instance/request/live_request.h"
#include "kv/tier_store.h"

enum { BLIS_KV_TIERS_MAX = 8 };

typedef enum blis_tier_scope {
  BLIS_TIER_OF_INSTANCE,
  BLIS_TIER_OF_NODE,
  BLIS_TIER_OF_CLUSTER
} blis_tier_scope;

/* The blocks that are saved to a tier. */
typedef enum blis_tier_saving {
  BLIS_TIER_WRITE_THROUGH, /* all that is computed, or saved in its stage */
  BLIS_TIER_ON_EVICT,      /* blocks evicted from its staging tier; without a staging tier, from
                              the caches, which needs every step to be computed */
  BLIS_TIER_SAVES_NOTHING  /* only promoted blocks */
} blis_tier_saving;

typedef struct blis_kv_tier {
  const char *name; /* borrowed during construction */
  int64_t blocks;   /* of a store, 0 = the tier does not exist */
  double bytes;     /* above 0: of a store, in place of blocks */
  blis_tier_scope scope;
  int64_t instances_per_node; /* >= 1, with that scope */
  int32_t stage;              /* an earlier tier; -1 = none */
  double read_bytes_per_us;   /* of a store; INFINITY = takes no time */
  double write_bytes_per_us;
  bool is_per_gpu;     /* bandwidths are per GPU of an instance */
  bool is_half_duplex; /* both share the bandwidth for reading */
  double latency_us;   /* of each read and each write */
  /*
   * High watermark. If the fill of a store exceeds this share, or a block does not
   * fit, blocks are evicted: evict_share of the stored blocks, plus the excess
   * above the watermark. 0 = a full store evicts one block for each new one.
   */
  double evict_above; /* 0 to 1 */
  double evict_share; /* with it: above 0, to 1 */
  blis_tier_policy policy;
  /* For BLIS_TIER_SCORED: the score is the time until which a block is kept. It is the time of
     its last use plus the hint of its program about the next use, unless the hint exceeds
     keep_us. Without hints this is similar to lru. If false, score computes the scores. */
  bool keeps_hinted;
  int64_t keep_us; /* >= 0 */
  blis_tier_saving saving;
  int64_t threshold;   /* a block is saved at that sight of it; 0 or 1: first */
  int64_t sights_kept; /* maximum number of blocks whose uses are counted, with a threshold */
  bool promotes;       /* keeps a copy of blocks read through it */
  bool is_shared;      /* other instances may read its stores */
  bool survives;       /* its instance */
  double weight;       /* of its blocks in tiered_prefix_hit, 0 to 1 */
  double peer_weight;  /* weight of blocks that other instances have; 0 = these are ignored */
} blis_kv_tier;

/* The blocks that can be loaded for a request, for load_choice. */
typedef struct blis_kv_offer {
  const blis_live_request *request;
  uint32_t instance;
  int64_t now_us;
  int64_t cached_tokens;                  /* in its cache, whole blocks */
  int64_t offered_tokens;                 /* after these, in the tiers */
  int64_t tier_tokens[BLIS_KV_TIERS_MAX]; /* of these, by tier */
  double load_us;    /* estimate of their load time with the current use of the links */
  double compute_us; /* to compute them in one separate step; 0 = unknown */
} blis_kv_offer;

/* A block that is saved in a tier, or is read there, for score. */
typedef struct blis_kv_sight {
  uint32_t tier;
  uint32_t depth;  /* its place in its prompt, from 0, */
  uint32_t blocks; /* number of its blocks; 0 = evicted from another tier, unknown */
  int64_t uses;    /* number of uses since it was stored, including this one */
  /* The hint of its program: minimum time between the end of its request and the next use; -1 =
     no hint. */
  int64_t reused_after_us;
  int64_t now_us;
} blis_kv_sight;

typedef enum blis_load_rule {
  BLIS_LOADS_ALL,
  BLIS_LOADS_IF_FASTER, /* than to compute it: load_us < compute_us */
  BLIS_LOADS_AS_TOLD    /* by load_choice */
} blis_load_rule;

typedef struct blis_kv_tiers {
  const blis_kv_tier *tiers;   /* borrowed during construction */
  uint32_t count;              /* 0 = there are none */
  double cache_weight;         /* of blocks of the KV cache itself, as weight */
  double bytes_per_token;      /* 0 = as the facts of the instances say */
  double network_bytes_per_us; /* in and out of each instance, for what lies
                                  elsewhere; INFINITY = none */
  int64_t chunk_tokens;        /* only whole chunks of this size are loaded, a multiple of every
                                  block size; 0 = of a block */
  int64_t batch_blocks;        /* of reads in stages; >= 1 */
  bool saves_output;           /* output as well, when a request has ended */
  blis_load_rule rule;
  /* Sets *tokens, the number of offered tokens to load, at most all; whole blocks. */
  blis_status (*load_choice)(void *ud, const blis_kv_offer *offer, int64_t *tokens,
                             blis_error *error);
  /* For BLIS_TIER_SCORED, of a block that is saved or used, without
     keeps_hinted: the lowest score leaves. */
  blis_status (*score)(void *ud, const blis_kv_sight *sight, double *score, blis_error *error);
  void *ud; /* of both */
} blis_kv_tiers;

/* Where the tokens of a prompt were found that were not computed, when its
   request was first admitted. */
typedef struct blis_kv_hits {
  uint32_t count;                         /* of tiers; 0 = nothing was found */
  int64_t cached_tokens;                  /* in the cache of the instance, */
  int64_t tier_tokens[BLIS_KV_TIERS_MAX]; /* and below it: the rest */
} blis_kv_hits;

/* A finished read of a store for a request, or a finished write. */
typedef struct blis_kv_move {
  uint32_t tier;
  uint32_t owner;    /* of the store: an instance or a node, by its scope */
  uint32_t instance; /* that has read or written */
  bool is_read;
  bool is_cut;               /* was stopped before its end, or lost with its store */
  blis_request_name request; /* of a read */
  int64_t start_us;
  int64_t end_us;
  int64_t blocks;
  double bytes;
} blis_kv_move;

/* Counters of one tier. */
typedef struct blis_kv_tier_counts {
  const char *name;
  blis_tier_scope scope;
  int64_t capacity_blocks; /* of all its stores */
  int64_t used_blocks;     /* now */
  int64_t peak_blocks;     /* of the fullest store */
  int64_t loads;           /* reads that have ended, for one request each */
  int64_t loaded_blocks;   /* by these: hits */
  int64_t lost_blocks;     /* of reads that were cut short by a failure */
  int64_t peer_blocks;     /* of loaded_blocks, from another instance's store */
  int64_t promoted_blocks; /* that have come by promotion */
  int64_t saves;           /* writes that have ended */
  int64_t saved_blocks;    /* by these */
  int64_t dropped_blocks;  /* that did not fit */
  int64_t evicted_blocks;
  int64_t removed_blocks; /* lost with their instance */
  double loaded_bytes;
  double saved_bytes;
  double load_us;      /* from start to end of a read, added up */
  double read_busy_us; /* of its busiest store */
  double write_busy_us;
} blis_kv_tier_counts;

/* Counters of all tiers. */
typedef struct blis_kv_tiers_counts {
  int64_t requests;  /* times that a request had something brought */
  int64_t completed; /* and had it all */
  int64_t failed;    /* had some of it or nothing, since a store was lost */
  int64_t canceled;  /* the request left before */
  int64_t in_flight; /* is still waiting; = requests - these */
  int64_t declined;  /* times that none of the available blocks was wanted */
  int64_t loaded_blocks;
  double wait_us;     /* of completed and failed ones, added up */
  double moved_bytes; /* by all reads and writes, each byte once */
} blis_kv_tiers_counts;

/* KV tiers, in the order of configuration, and their total. */
size_t blis_cluster_kv_tier_count(const blis_cluster *cluster);
blis_kv_tier_counts blis_cluster_kv_tier(const blis_cluster *cluster, size_t index);
blis_kv_tiers_counts blis_cluster_kv_tiers(const blis_cluster *cluster);

/* Walks every store; returns true if all invariants hold. For tests. */
bool blis_cluster_check_kv_tiers(const blis_cluster *cluster);

#endif
