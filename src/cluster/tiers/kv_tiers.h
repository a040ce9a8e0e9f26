/*
 * kv_tiers.h - KV cache tiers: their options and counters.
 *
 * A tier has one or more stores (kv/tier_store.h): one per instance, one per node of several
 * instances, or one for the cluster. Computed prompt blocks are saved to the tiers. Before a
 * request is admitted, the blocks of its prompt after the cached ones are loaded from the tiers
 * (instance/request/kv_source.h) instead of being recomputed. Tiers are searched in order, block by
 * block. A block is loaded from the first tier that has it, and the first block that is in no tier
 * ends the load.
 *
 * If a tier has a staging tier (member `stage`), reads go through the staging tier in consecutive
 * batches, and the staging tier keeps a copy of the blocks (promotion). Either all blocks that are
 * saved to the staging tier, or the blocks that it evicts, are saved to the tier.
 *
 * Bytes are transferred over links with max-min fair sharing (link.h). Every store has one link in
 * and one link out. For blocks on another node, the networks of both nodes are also used.
 *
 * When an instance is lost, its own stores are lost unless they are persistent. Requests that read
 * from them compute the remaining blocks.
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
  BLIS_TIER_WRITE_THROUGH, /* all blocks that are computed or, with a staging tier, saved to it */
  /*
   * Blocks evicted from its staging tier or, without one, from the caches; the latter requires that
   * every step is computed.
   */
  BLIS_TIER_ON_EVICT,
  BLIS_TIER_SAVES_NOTHING /* only promoted blocks */
} blis_tier_saving;

typedef struct blis_kv_tier {
  const char *name; /* borrowed during construction */
  int64_t blocks;   /* capacity of a store; 0 = the tier does not exist */
  double bytes;     /* if above 0: capacity of a store in bytes, instead of blocks */
  blis_tier_scope scope;
  int64_t instances_per_node; /* >= 1, for BLIS_TIER_OF_NODE */
  int32_t stage;              /* staging tier: index of an earlier tier; -1 = none */
  double read_bytes_per_us;   /* bandwidth of a store; INFINITY = takes no time */
  double write_bytes_per_us;
  bool is_per_gpu;     /* bandwidths are per GPU of an instance */
  bool is_half_duplex; /* reads and writes share the read bandwidth */
  double latency_us;   /* latency of each read and each write */
  /*
   * High watermark, as a fraction of the capacity. If a store exceeds it, or a block does not fit,
   * the store evicts evict_share of its blocks plus the excess above the watermark. 0 = a full
   * store evicts one block for each new block.
   */
  double evict_above; /* 0 to 1 */
  double evict_share; /* with evict_above: above 0 and at most 1 */
  blis_tier_policy policy;
  /* For BLIS_TIER_SCORED: if true, the score is the time until which a block should be kept. This
     is the time of its last use plus the hint of its program about the next use, unless the hint
     exceeds keep_us. Without hints, this is similar to lru. If false, the function `score` computes
     scores. */
  bool keeps_hinted;
  int64_t keep_us; /* >= 0 */
  blis_tier_saving saving;
  /* How often a block must be seen before it is saved; 0 or 1 = once. */
  int64_t threshold;
  /* With a threshold: maximum number of blocks for which sightings are counted. */
  int64_t sights_kept;
  bool promotes;      /* keeps a copy of blocks read through it */
  bool is_shared;     /* other instances may read its stores */
  bool survives;      /* stores survive the loss of their instance */
  double weight;      /* weight of its blocks in the signal tiered_prefix_hit, 0 to 1 */
  double peer_weight; /* weight of blocks in stores of other instances; 0 = ignored */
} blis_kv_tier;

/* The blocks that can be loaded for a request, for load_choice. */
typedef struct blis_kv_offer {
  const blis_live_request *request;
  uint32_t instance;
  int64_t now_us;
  int64_t cached_tokens;                  /* cached tokens, in whole blocks */
  int64_t offered_tokens;                 /* following tokens that the tiers offer */
  int64_t tier_tokens[BLIS_KV_TIERS_MAX]; /* offered tokens by tier */
  double load_us;    /* estimated load time with the current use of the links */
  double compute_us; /* time to compute the offered tokens in one separate step; 0 = unknown */
} blis_kv_offer;

/* A block that is saved to a tier or read from it, for the function `score`. */
typedef struct blis_kv_sight {
  uint32_t tier;
  uint32_t depth; /* index of the block in its prompt, from 0 */
  /* Number of blocks of the prompt; 0 = unknown, because the block was evicted from another tier.
   */
  uint32_t blocks;
  int64_t uses; /* number of uses since it was stored, including this one */
  /* Hint of the program: minimum time from the end of the request to the next use; -1 = no hint. */
  int64_t reused_after_us;
  int64_t now_us;
} blis_kv_sight;

typedef enum blis_load_rule {
  BLIS_LOADS_ALL,
  BLIS_LOADS_IF_FASTER, /* if loading is faster than computing: load_us < compute_us */
  BLIS_LOADS_AS_TOLD    /* decided by load_choice */
} blis_load_rule;

typedef struct blis_kv_tiers {
  const blis_kv_tier *tiers; /* borrowed during construction */
  uint32_t count;            /* number of tiers; 0 = none */
  double cache_weight;       /* weight of blocks in the KV cache itself */
  double bytes_per_token;    /* 0 = value in the facts of the instances */
  /* Bandwidth into and out of each instance, for blocks on other nodes; INFINITY = no limit. */
  double network_bytes_per_us;
  /*
   * Only whole chunks of this size are loaded; must be a multiple of every block size; 0 = one
   * block.
   */
  int64_t chunk_tokens;
  int64_t batch_blocks; /* batch size of reads through a staging tier; >= 1 */
  bool saves_output;    /* also save output when a request has ended */
  blis_load_rule rule;
  /* Sets *tokens to the number of offered tokens to load, in whole blocks. */
  blis_status (*load_choice)(void *ud, const blis_kv_offer *offer, int64_t *tokens,
                             blis_error *error);
  /* For BLIS_TIER_SCORED without keeps_hinted: computes the score of a block that is saved or used.
     The block with the lowest score is evicted. */
  blis_status (*score)(void *ud, const blis_kv_sight *sight, double *score, blis_error *error);
  void *ud; /* for load_choice and score */
} blis_kv_tiers;

/* Sources of the prompt tokens of a request that were not computed, at its first admission. */
typedef struct blis_kv_hits {
  uint32_t count;                         /* number of tiers; 0 = nothing was found */
  int64_t cached_tokens;                  /* tokens in the cache of the instance */
  int64_t tier_tokens[BLIS_KV_TIERS_MAX]; /* tokens in each tier */
} blis_kv_hits;

/* A finished read of a store for a request, or a finished write. */
typedef struct blis_kv_move {
  uint32_t tier;
  uint32_t owner;    /* owner of the store: an instance or a node, depending on the scope */
  uint32_t instance; /* instance that has read or written */
  bool is_read;
  bool is_cut;               /* it was stopped before its end, or lost with its store */
  blis_request_name request; /* request of a read */
  int64_t start_us;
  int64_t end_us;
  int64_t blocks;
  double bytes;
} blis_kv_move;

/* Counters of one tier. */
typedef struct blis_kv_tier_counts {
  const char *name;
  blis_tier_scope scope;
  int64_t capacity_blocks; /* total capacity of its stores */
  int64_t used_blocks;     /* current number of used blocks */
  int64_t peak_blocks;     /* peak of the fullest store */
  int64_t loads;           /* completed reads; each is for one request */
  int64_t loaded_blocks;   /* blocks loaded by these reads (hits) */
  int64_t lost_blocks;     /* blocks of reads that were cut short by a failure */
  int64_t peer_blocks;     /* part of loaded_blocks from stores of other instances */
  int64_t promoted_blocks; /* blocks added by promotion */
  int64_t saves;           /* completed writes */
  int64_t saved_blocks;    /* blocks saved by these writes */
  int64_t dropped_blocks;  /* blocks that did not fit */
  int64_t evicted_blocks;
  int64_t removed_blocks; /* blocks lost with their instance */
  double loaded_bytes;
  double saved_bytes;
  double load_us;      /* total duration of reads */
  double read_busy_us; /* read time of its busiest store */
  double write_busy_us;
} blis_kv_tier_counts;

/* Counters of all tiers. */
typedef struct blis_kv_tiers_counts {
  int64_t requests;  /* number of loads for requests */
  int64_t completed; /* loads that were complete */
  int64_t failed;    /* loads that were incomplete because a store was lost */
  int64_t canceled;  /* the request left before the end of the load */
  int64_t in_flight; /* still waiting; = requests - completed - failed - canceled */
  int64_t declined;  /* times that no available block was loaded */
  int64_t loaded_blocks;
  double wait_us;     /* total wait of completed and failed loads */
  double moved_bytes; /* bytes of all reads and writes, each byte counted once */
} blis_kv_tiers_counts;

/* Counters of the KV tiers, in the order of configuration, and their total. */
size_t blis_cluster_kv_tier_count(const blis_cluster *cluster);
blis_kv_tier_counts blis_cluster_kv_tier(const blis_cluster *cluster, size_t index);
blis_kv_tiers_counts blis_cluster_kv_tiers(const blis_cluster *cluster);

/* Walks every store. Returns whether all invariants hold. For tests. */
bool blis_cluster_check_kv_tiers(const blis_cluster *cluster);

#endif
