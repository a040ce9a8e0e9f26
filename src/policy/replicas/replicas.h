/*
 * replicas.h - several replicas of a routing policy behind a load balancer.
 *
 * A blis_router that lets one of its replicas make each decision. Each replica is a
 * separate routing policy, with its own memory of prompts, sessions, random
 * streams, and counts of requests in flight. Engines report the same to all
 * replicas.
 *
 * A replica receives decisions of other replicas by synchronization (sync.h):
 * never, with a delay per event, at periodic publications, or through a shared
 * store. No event of the clock is needed: a replica receives arrived messages
 * before its next decision, since nothing else reads its state. Invariant: messages
 * sent = received + lost + in flight.
 *
 * Order at one time: messages that arrive, publications, the balancer, the
 * decision. Cost per decision: O(1), plus the candidates if the policy reads
 * in_flight, plus the messages that arrive.
 *
 * Source of the semantics: llm-d-router (CrossReplicaContributor), Dynamo (replica
 * sync, slot tracker), AIBrix (state sync), GAIE issues 1406 and 2102.
 */
#ifndef BLIS_POLICY_REPLICAS_REPLICAS_H
#define BLIS_POLICY_REPLICAS_REPLICAS_H

#include "policy/contract/router.h"

/* How the load balancer picks a replica for a request. */
typedef enum blis_balancer {
  BLIS_BALANCER_ROUND_ROBIN,
  BLIS_BALANCER_RANDOM,
  BLIS_BALANCER_LEAST_CONNECTIONS, /* requests in flight of the replica; ties: the first */
  BLIS_BALANCER_HASH               /* consistent hashing of hash_on */
} blis_balancer;

typedef enum blis_balancer_key {
  BLIS_HASH_ON_PREFIX,
  BLIS_HASH_ON_SESSION,
  BLIS_HASH_ON_TENANT,
  BLIS_HASH_ON_CLIENT
} blis_balancer_key;

/* How replicas learn of each other's decisions. */
typedef enum blis_sync_mode {
  BLIS_SYNC_NONE,
  BLIS_SYNC_EVENTS,    /* a message per event and receiver */
  BLIS_SYNC_PERIODIC,  /* each publishes at its ticks; other replicas receive the counts after
                          the delay */
  BLIS_SYNC_PULL_PUSH, /* each pushes to a store, and pulls from it, at its ticks */
  BLIS_SYNC_SHARED     /* one state: all replicas are one policy */
} blis_sync_mode;

/* What happens to a request that no replica can take. */
typedef enum blis_fail_open {
  BLIS_FAIL_OPEN_RANDOM,
  BLIS_FAIL_OPEN_ROUND_ROBIN,
  BLIS_FAIL_OPEN_REJECT
} blis_fail_open;

/* From from_us until until_us (exclusive). */
typedef struct blis_replica_fault {
  int64_t from_us;
  int64_t until_us; /* BLIS_TIME_NEVER_US: it lasts */
  /* A crash: of one replica, which forgets everything and starts empty after it. */
  bool is_crash;
  /* Bits of the replicas: the crashed replica, or the replicas that a partition separates from
     the rest. */
  uint64_t replicas;
} blis_replica_fault;

enum { BLIS_REPLICAS_MAX = 64 };

typedef struct blis_replica_options {
  uint32_t count;          /* 1 to BLIS_REPLICAS_MAX */
  uint32_t instance_count; /* that can exist in a run */
  int64_t seed;            /* of the streams of balancer, delays, losses, and jitter */
  blis_balancer balancer;
  blis_balancer_key hash_on;
  uint32_t vnodes;       /* points of a replica in the ring of the hash; >= 1 */
  bool shards_instances; /* replica r sees the instances i with i mod count = r */
  /* One replica decides; after its crash the next one does so when the lease has ended. */
  bool is_active_passive;
  int64_t lease_us;
  blis_fail_open fail_open;
  blis_sync_mode mode;
  bool shares_decisions;    /* each observes the decisions of other replicas: prefixes and
                               sessions */
  bool shares_in_flight;    /* each adds other replicas' counts of requests in flight to its own */
  int64_t every_us;         /* between ticks; > 0 where the mode has ticks */
  double jitter;            /* of a tick, as a share of every_us, 0 to 0.45 */
  const int64_t *phases_us; /* of the first tick, by replica; copied. NULL = 0 */
  int64_t delay_us;         /* of a message */
  double loss;              /* share of the messages that are lost, 0 to 1 */
  int64_t ttl_us;           /* of a count that a message has added; 0 = none */
  bool own_is_published;    /* a replica also sees its own counts only as published */
  uint32_t bytes_per_entry;
  const blis_replica_fault *faults; /* in order of from_us; copied */
  size_t fault_count;
} blis_replica_options;

/* How many policies blis_replicas_new takes: one per replica, and one per crash. */
size_t blis_replicas_policy_count(const blis_replica_options *options);

/*
 * Takes policies (even on failure), blis_replicas_policy_count of them: first the policies of the
 * replicas, followed by the policies that replicas continue with after a crash, in order of the
 * crashes. This includes BLIS_SYNC_SHARED and passive replicas. BLIS_ERR_INVALID: decisions are
 * shared, and the policy cannot observe decisions of other replicas.
 */
BLIS_MUSTUSE blis_status blis_replicas_new(const blis_alloc *alloc,
                                           const blis_replica_options *options,
                                           blis_router *policies, blis_router *router,
                                           blis_error *error);

/* Counters of one replica. */
typedef struct blis_replica_report {
  int64_t requests;  /* that it has routed */
  int64_t in_flight; /* of these, not ended */
  int64_t messages_sent;
  int64_t messages_received;
  int64_t messages_lost; /* of those sent to it */
  int64_t bytes_sent;
  int64_t delivery_sum_us; /* of received messages: from the event to the decision that used it */
  int64_t ghosts;          /* counted for others, whose request has ended */
} blis_replica_report;

/* state belongs to a router of blis_replicas_new. */
uint32_t blis_replicas_count(const void *state);
void blis_replicas_report(const void *state, uint32_t replica, blis_replica_report *report);
/* Requests that no replica took. */
int64_t blis_replicas_fail_open_count(const void *state);

#endif
