/*
 * handoff.h - prefill/decode disaggregation: its options and counters.
 *
 * Instances have roles (policy/contract/facts.h). A request is routed among the
 * decode instances. A decider (policy/decider/decider.h) determines whether the
 * chosen instance also computes the prompt. Otherwise the request is routed to the
 * prefill pool, and its KV is handed off. The states of a hand-off are in states.h.
 *
 * The source holds a block until the end of its transfer, and the destination
 * reserves a place for the block before the transfer. The owner of a block changes
 * only at the end of the transfer. Afterwards, the source keeps a copy in its prefix
 * cache, unless drops_source_cache is set. If the destination is full, a hand-off
 * waits: first come, first served.
 */
#ifndef BLIS_CLUSTER_HANDOFF_HANDOFF_H
#define BLIS_CLUSTER_HANDOFF_HANDOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "cluster/cluster.h"
#include "cluster/lists/record_fields.h"
#include "policy/contract/router.h"
#include "policy/decider/decider.h"

/* How a hand-off is handled if its destination is full. */
typedef enum blis_no_room {
  BLIS_NO_ROOM_WAIT,
  BLIS_NO_ROOM_DROP,  /* the request fails */
  BLIS_NO_ROOM_LOCAL, /* the destination computes it, as any request */
} blis_no_room;

/* How the request is handled if its hand-off fails. */
typedef enum blis_handoff_failure {
  BLIS_HANDOFF_FAILS,
  BLIS_HANDOFF_IS_RECOMPUTED, /* by its destination, otherwise by another instance */
  BLIS_HANDOFF_IS_RETRIED     /* routed again, a few times */
} blis_handoff_failure;

typedef struct blis_handoff_ops blis_handoff_ops; /* ops.h */

typedef struct blis_disaggregation {
  blis_router prefill;    /* ops NULL: the router of the cluster does both */
  blis_decider decider;   /* ops NULL: never */
  bool prefill_first;     /* is routed, and all requests are split */
  bool reserves_first;    /* before the prefill (SGLang), not after it (vLLM) */
  bool gives_first_token; /* the source does (SGLang), not the destination */
  blis_no_room on_no_room;
  blis_handoff_failure on_failure;
  int64_t retries_max;
  int64_t retry_pause_us;
  /*
   * Timeout between the first reservation attempt at the destination and the
   * arrival of the KV; 0 = none, and instances that do both stages may wait for
   * each other.
   */
  int64_t timeout_us;
  /* Maximum share of the KV cache that reservations may fill; 1 = the whole cache. An empty
     cache accepts any request. */
  double kv_limit;
  /* Links; 1 GB/s is 1000 bytes/us. INFINITY = takes no time. */
  double bytes_per_us;        /* in and out of each instance whose facts do not set it */
  double fabric_bytes_per_us; /* shared by all; INFINITY = none */
  double base_us;             /* of every transfer */
  int64_t handshake_us;       /* once for a pair of instances */
  bool moves_missing;         /* only blocks that the destination has not cached */
  /* After a transfer, the source forgets every cached block that no request holds. */
  bool drops_source_cache;
  /*
   * Transfers that begin while the prompt is computed, with reserves_first. A step
   * sends this portion of its tokens as soon as their layers are done. 1 = all
   * tokens when the step, a chunk of the prompt, has ended; 0 = nothing before the
   * prefill has ended. Applies to prompts of at least overlap_from_tokens.
   */
  double overlap_portion;
  int64_t overlap_from_tokens;
  /* The variant of hand-offs, ops.h; NULL = the usual one. */
  const blis_handoff_ops *ops;
  bool has_contention; /* between transfers that share no links */
} blis_disaggregation;

typedef struct blis_handoff_counts {
  int64_t colocated; /* requests that were not split */
  /* = completed + failed + timed_out + cancelled + in_flight */
  int64_t started;
  int64_t completed; /* the KV has reached its destination */
  int64_t failed;
  int64_t timed_out; /* with their request, whose deadline passed */
  int64_t cancelled; /* by on_no_room = local */
  int64_t in_flight;
  int64_t dropped; /* part of failed: did not fit */
  int64_t retried;
  int64_t recomputed;
  int64_t waited;         /* that had to wait for blocks */
  int64_t waiting;        /* for it, now */
  double wait_us;         /* for blocks, summed */
  double transfer_us;     /* from the start of a transfer to its end, added up */
  double bytes;           /* that were moved */
  int64_t shared;         /* transfers that had a link not for themselves */
  int64_t peak;           /* transfers at once */
  int64_t moving;         /* transfers now */
  int64_t moves;          /* transfers that have started */
  int64_t transfers;      /* and ended */
  double depth_sum;       /* transfers at each start, this one included */
  double busiest_link_us; /* how long the busiest link had a transfer */
} blis_handoff_counts;

/* A link of an instance, or the fabric. */
typedef struct blis_link_counts {
  int32_t instance; /* -1 = the fabric */
  bool is_in;       /* to the instance; false: from it */
  double bytes_per_us;
  int64_t active;    /* transfers on it now */
  int64_t peak;      /* at once, at most */
  int64_t transfers; /* that ended */
  double bytes;
  double busy_us;     /* with at least one transfer */
  double transfer_us; /* added up over its transfers */
} blis_link_counts;

/* The stages of a request, of its last hand-off: fields of its record. -1 = not reached. */
typedef struct blis_stage_times {
  int32_t decode_instance;
#define XX(name, ...) int64_t name;
  BLIS_ENCODE_RECORD_FIELDS(XX)
  BLIS_HANDOFF_RECORD_FIELDS(XX)
#undef XX
} blis_stage_times;

#define BLIS__NO_TIME(name, ...) , .name = -1
#define BLIS_STAGE_TIMES_NONE                                                                      \
  ((blis_stage_times){.decode_instance = -1 BLIS_ENCODE_RECORD_FIELDS(BLIS__NO_TIME)               \
                                             BLIS_HANDOFF_RECORD_FIELDS(BLIS__NO_TIME)})

/*
 * Takes the policies of *disaggregation (even on failure), once, before the first
 * event. For a cluster whose instances have roles; without it every request is
 * decoded where it is prefilled. BLIS_ERR_INVALID names the value that is out of
 * range, or the stage that no instance does.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_disaggregation(blis_cluster *cluster,
                                                         blis_disaggregation *disaggregation,
                                                         blis_error *error);

/* All zero without disaggregation. */
void blis_cluster_get_handoffs(const blis_cluster *cluster, blis_handoff_counts *counts);

/* The number of links of hand-offs, including unused links. 0 without hand-offs, and with BLIS
   (Go), whose links are one number. */
size_t blis_cluster_link_count(const blis_cluster *cluster);
blis_link_counts blis_cluster_link(const blis_cluster *cluster, size_t index);

#endif
