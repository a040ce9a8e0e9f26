/*
 * replicas.h - several replicas of a routing policy behind a load balancer.
 *
 * A blis_router that lets one of its replicas make each decision. Each replica is a separate
 * routing policy, with its own memory of prompts, sessions, random streams, and counts of requests
 * in flight. Engines report the same data to all replicas.
 *
 * A replica receives decisions of other replicas by synchronization (sync.h):
 * never, with a delay per event, at periodic publications, or through a shared
 * store. No event of the clock is needed: a replica receives arrived messages
 * before its next decision, since nothing else reads its state. Invariant: messages
 * sent = received + lost + in flight.
 *
 * Order of operations at one time: arriving messages, publications, the balancer, the decision.
 * Cost per decision: O(1), plus O(candidates) if the policy reads in_flight, plus O(arriving
 * messages).
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
  BLIS_BALANCER_LEAST_CONNECTIONS, /* fewest requests in flight of the replica; ties: the first */
  BLIS_BALANCER_HASH               /* consistent hashing of hash_on */
} blis_balancer;

typedef enum blis_balancer_key {
  BLIS_HASH_ON_PREFIX,
  BLIS_HASH_ON_SESSION,
  BLIS_HASH_ON_TENANT,
  BLIS_HASH_ON_CLIENT
} blis_balancer_key;

/* How replicas receive each other's decisions. */
typedef enum blis_sync_mode {
  BLIS_SYNC_NONE,
  BLIS_SYNC_EVENTS,    /* a message per event and receiver */
  BLIS_SYNC_PERIODIC,  /* each replica publishes at its ticks; the others receive the counts
                          after the delay */
  BLIS_SYNC_PULL_PUSH, /* each replica pushes to a store, and pulls from it, at its ticks */
  BLIS_SYNC_SHARED     /* all replicas share one policy and its state */
} blis_sync_mode;

/* What happens to a request that no replica can take. */
typedef enum blis_fail_open {
  BLIS_FAIL_OPEN_RANDOM,
  BLIS_FAIL_OPEN_ROUND_ROBIN,
  BLIS_FAIL_OPEN_REJECT
} blis_fail_open;

/* A fault that lasts from from_us until until_us (exclusive). */
typedef struct blis_replica_fault {
  int64_t from_us;
  int64_t until_us; /* BLIS_TIME_NEVER_US = permanent */
  /* true: a crash of one replica, which loses its state and restarts empty. false: a partition. */
  bool is_crash;
  /* Bits of the replicas: the crashed replica, or the replicas that a partition separates from
     the others. */
  uint64_t replicas;
} blis_replica_fault;

enum { BLIS_REPLICAS_MAX = 64 };

typedef struct blis_replica_options {
  uint32_t count;          /* 1 to BLIS_REPLICAS_MAX */
  uint32_t instance_count; /* instances that can exist in a run */
  int64_t seed;            /* seed of the streams for the balancer, delays, losses, and jitter */
  blis_balancer balancer;
  blis_balancer_key hash_on;
  uint32_t vnodes;       /* points of each replica in the hash ring; >= 1 */
  bool shards_instances; /* replica r routes only to instances i with i mod count = r */
  /* One replica makes all decisions. After it crashes, the next replica takes over when the
     lease has expired. */
  bool is_active_passive;
  int64_t lease_us;
  blis_fail_open fail_open;
  blis_sync_mode mode;
  bool shares_decisions;    /* each replica observes the decisions of the others: prefixes and
                               sessions */
  bool shares_in_flight;    /* each replica adds the others' counts of requests in flight to its
                               own */
  int64_t every_us;         /* time between ticks; > 0 if the mode has ticks */
  double jitter;            /* jitter of a tick as a fraction of every_us, 0 to 0.45 */
  const int64_t *phases_us; /* time of the first tick, by replica; copied. NULL = all 0 */
  int64_t delay_us;         /* delay of a message */
  double loss;              /* fraction of messages that are lost, 0 to 1 */
  int64_t ttl_us;           /* lifetime of a count that a message has added; 0 = no limit */
  bool own_is_published;    /* a replica also reads its own counts only as published */
  uint32_t bytes_per_entry;
  const blis_replica_fault *faults; /* ordered by from_us; copied */
  size_t fault_count;
} blis_replica_options;

/* Returns the number of policies that blis_replicas_new takes: one per replica and one per
   crash. */
size_t blis_replicas_policy_count(const blis_replica_options *options);

/*
 * Takes ownership of policies, even on failure. There are blis_replicas_policy_count of them: one
 * per replica, then one per crash, in order of the crashes, with which the crashed replica
 * continues. BLIS_SYNC_SHARED and passive replicas need the same number. Returns BLIS_ERR_INVALID
 * if decisions are shared and the policy cannot observe decisions of other replicas.
 */
BLIS_MUSTUSE blis_status blis_replicas_new(const blis_alloc *alloc,
                                           const blis_replica_options *options,
                                           blis_router *policies, blis_router *router,
                                           blis_error *error);

/* Counters of one replica. */
typedef struct blis_replica_report {
  int64_t requests;  /* requests that the replica has routed */
  int64_t in_flight; /* requests routed and not ended */
  int64_t messages_sent;
  int64_t messages_received;
  int64_t messages_lost; /* messages to this replica that were lost */
  int64_t bytes_sent;
  int64_t delivery_sum_us; /* sum over received messages of the time from the event to the
                              decision that used it */
  int64_t ghosts;          /* requests of other replicas that are counted although they have
                              ended */
} blis_replica_report;

/* Returns the number of replicas. state belongs to a router of blis_replicas_new. */
uint32_t blis_replicas_count(const void *state);
void blis_replicas_report(const void *state, uint32_t replica, blis_replica_report *report);
/* Returns the number of requests that no replica took. */
int64_t blis_replicas_fail_open_count(const void *state);

#endif
