/*
 * handoff.h - prefill/decode disaggregation: its options and counters.
 *
 * Instances have roles (policy/contract/facts.h). A request is first routed to a decode instance.
 * The disaggregation policy (policy/decider/decider.h) determines whether this instance also
 * computes the prompt. If not, the request is also routed to the prefill pool, and its KV is handed
 * off. The states of a hand-off are in states.h.
 *
 * The source holds a block until the end of its transfer, and the destination reserves space for
 * the block before the transfer. The owner of a block changes only at the end of the transfer.
 * Afterwards, the source keeps a copy in its prefix cache, unless drops_source_cache is set. If the
 * destination is full, hand-offs wait in FIFO order.
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
  BLIS_NO_ROOM_LOCAL, /* the destination computes the request like any other */
} blis_no_room;

/* How the request is handled if its hand-off fails. */
typedef enum blis_handoff_failure {
  BLIS_HANDOFF_FAILS,
  BLIS_HANDOFF_IS_RECOMPUTED, /* the destination recomputes the request, or else another instance */
  BLIS_HANDOFF_IS_RETRIED     /* the request is routed again, up to retries_max times */
} blis_handoff_failure;

typedef struct blis_handoff_ops blis_handoff_ops; /* ops.h */

typedef struct blis_disaggregation {
  blis_router prefill;    /* ops NULL = the router of the cluster routes both stages */
  blis_decider decider;   /* ops NULL = never split requests */
  bool prefill_first;     /* prefill is routed first, and all requests are split */
  bool reserves_first;    /* reserve before the prefill (SGLang), not after it (vLLM) */
  bool gives_first_token; /* the source emits the first token (SGLang), not the destination */
  blis_no_room on_no_room;
  blis_handoff_failure on_failure;
  int64_t retries_max;
  int64_t retry_pause_us;
  /*
   * Timeout between the first reservation attempt at the destination and the arrival of the KV; 0 =
   * none; in this case, instances that perform both stages may wait for each other.
   */
  int64_t timeout_us;
  /* Maximum fraction of the KV cache that reservations may fill; 1 = the whole cache. An empty
     cache accepts any request. */
  double kv_limit;
  /* Links; 1 GB/s is 1000 bytes/us. INFINITY = transfers take no time. */
  double bytes_per_us;        /* into and out of each instance, unless its facts set a value */
  double fabric_bytes_per_us; /* shared by all; INFINITY = none */
  double base_us;             /* latency of every transfer */
  int64_t handshake_us;       /* once per pair of instances */
  bool moves_missing;         /* transfer only blocks that the destination has not cached */
  /* After a transfer, the source drops every cached block that no request holds. */
  bool drops_source_cache;
  /*
   * Allows transfers to begin while the prompt is computed, with reserves_first. A step sends this
   * fraction of its tokens as soon as their layers are done. 1 = all tokens are sent by the end of
   * the step, which computes a chunk of the prompt. 0 = nothing is sent before the end of the
   * prefill. Applies to prompts of at least overlap_from_tokens.
   */
  double overlap_portion;
  int64_t overlap_from_tokens;
  /* The hand-off variant, see ops.h; NULL = default. */
  const blis_handoff_ops *ops;
  bool has_contention; /* contention between transfers that share no links */
} blis_disaggregation;

typedef struct blis_handoff_counts {
  int64_t colocated; /* requests that were not split */
  /* = completed + failed + timed_out + cancelled + in_flight */
  int64_t started;
  int64_t completed; /* the KV has reached its destination */
  int64_t failed;
  int64_t timed_out; /* the deadline of the request passed */
  int64_t cancelled; /* because of on_no_room = local */
  int64_t in_flight;
  int64_t dropped; /* subset of failed: did not fit */
  int64_t retried;
  int64_t recomputed;
  int64_t waited;     /* hand-offs that had to wait for blocks */
  int64_t waiting;    /* hand-offs that currently wait for blocks */
  double wait_us;     /* total wait for blocks */
  double transfer_us; /* total duration of transfers */
  double bytes;       /* bytes transferred */
  int64_t shared;     /* transfers that shared a link with others */
  int64_t peak;       /* maximum number of concurrent transfers */
  int64_t moving;     /* current transfers */
  int64_t moves;      /* transfers started */
  int64_t transfers;  /* transfers completed */
  /* Sum over all starts of the number of concurrent transfers, including the new one. */
  double depth_sum;
  double busiest_link_us; /* time during which the busiest link had a transfer */
} blis_handoff_counts;

/* A link of an instance, or the fabric. */
typedef struct blis_link_counts {
  int32_t instance; /* -1 = the fabric */
  bool is_in;       /* true = to the instance; false = from it */
  double bytes_per_us;
  int64_t active;    /* current transfers on the link */
  int64_t peak;      /* maximum number of concurrent transfers */
  int64_t transfers; /* completed transfers */
  double bytes;
  double busy_us;     /* time with at least one transfer */
  double transfer_us; /* total duration of its transfers */
} blis_link_counts;

/*
 * The stage times of a request and its last hand-off, as in the fields of its record. -1 = not
 * reached.
 */
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
 * Enables disaggregation in a cluster whose instances have roles. Takes ownership of the policies
 * of *disaggregation, even on failure. Call it at most once, before the first event. Without it,
 * every request is decoded where it is prefilled. BLIS_ERR_INVALID names the value that is out of
 * range, or the stage that no instance performs.
 */
BLIS_MUSTUSE blis_status blis_cluster_set_disaggregation(blis_cluster *cluster,
                                                         blis_disaggregation *disaggregation,
                                                         blis_error *error);

/* Stores the counters; all zero without disaggregation. */
void blis_cluster_get_handoffs(const blis_cluster *cluster, blis_handoff_counts *counts);

/* Returns the number of links of hand-offs, including unused links. 0 without hand-offs and with
   the variant of BLIS (Go), which models all links as one number. */
size_t blis_cluster_link_count(const blis_cluster *cluster);
blis_link_counts blis_cluster_link(const blis_cluster *cluster, size_t index);

#endif
