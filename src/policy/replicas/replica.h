/*
 * replica.h - one replica: its policy, its counts, and the messages that it receives from other
 * replicas.
 */
#ifndef BLIS_POLICY_REPLICAS_REPLICA_H
#define BLIS_POLICY_REPLICAS_REPLICA_H

#include "base/pool.h"
#include "policy/replicas/mail.h"
#include "policy/replicas/replicas.h"

/* A request that a replica has routed, for as long as any replica counts it. */
typedef struct blis__flight {
  blis_ticket ticket; /* ticket of the policy */
  uint32_t replica;   /* replica that routed it; BLIS__NO_REPLICA = none */
  uint32_t incarnation;
  uint32_t instance;
  uint32_t references; /* held by the request until it ends, by messages, and by replicas that
                          count it */
  bool has_ended;
  unsigned char known[]; /* a blis__knowledge per replica */
} blis__flight;

#define BLIS__NO_REPLICA UINT32_MAX

/* What a replica has received about a request of another replica. */
typedef enum blis__knowledge {
  BLIS__UNKNOWN,
  BLIS__COUNTED,
  BLIS__OVER /* the request has ended, or its count has expired */
} blis__knowledge;

void blis__flight_release(blis_pool *flights, uint32_t flight);

typedef struct blis__expiry {
  int64_t at_us;
  uint32_t flight;
} blis__expiry;

typedef struct blis__replica {
  blis_router policy;
  uint32_t number;
  uint32_t incarnation; /* crashes so far */
  bool has_news;        /* its own counts have changed since the last publication */
  uint64_t next_tick;
  uint64_t sequence; /* number of messages that it has sent */
  double *own;       /* requests in flight, by instance */
  double *seen;      /* requests in flight as its policy reads them, by instance */
  double *published; /* last received counts, by sender, then instance; NULL = counts come from
                        events */
  BLIS_ARRAY(blis__expiry) expiries; /* in order of time */
  size_t expired;                    /* number of expiries already processed */
  blis__mailbox mail;
  int64_t connections;
  blis_replica_report report;
} blis__replica;

/* Data that all replicas share. */
typedef struct blis__replica_world {
  blis_alloc alloc;
  blis_replica_options options;
  blis_pool flights;
} blis__replica_world;

/* Takes *policy. BLIS_ERR_NOMEM or BLIS_OK; a zeroed or failed one can be deinited. */
BLIS_MUSTUSE blis_status blis__replica_init(blis__replica *replica,
                                            const blis__replica_world *world, uint32_t number,
                                            blis_router *policy);
void blis__replica_deinit(blis__replica *replica, blis__replica_world *world);

/* Records that the replica has routed a request to an instance, or that such a request has
   ended. */
void blis__replica_count(blis__replica *replica, const blis__replica_world *world,
                         uint32_t instance, double change);

/* Receives the messages that have arrived by q->view->now_us. */
BLIS_MUSTUSE blis_status blis__replica_receive(blis__replica *replica, blis__replica_world *world,
                                               const blis_question *q);

/* Discards the messages that arrived at or before until_us. */
void blis__replica_lose_mail(blis__replica *replica, blis__replica_world *world, int64_t until_us);

/* Crashes the replica, which loses its entire state. Swaps its policy with *policy unless policy
   is NULL. */
void blis__replica_crash(blis__replica *replica, blis__replica_world *world, blis_router *policy);

#endif
