/*
 * chooser.h - the load balancer of the replicas.
 */
#ifndef BLIS_POLICY_REPLICAS_CHOOSER_H
#define BLIS_POLICY_REPLICAS_CHOOSER_H

#include "base/array.h"
#include "base/random.h"
#include "policy/replicas/replicas.h"

typedef struct blis__ring_place {
  uint64_t hash;
  uint32_t replica;
} blis__ring_place;

typedef struct blis__chooser {
  blis_balancer balancer;
  blis_balancer_key hash_on;
  uint32_t count;
  uint64_t turn;
  blis_random random;
  BLIS_ARRAY(blis__ring_place) ring; /* by hash */
} blis__chooser;

/* BLIS_ERR_NOMEM or BLIS_OK. */
BLIS_MUSTUSE blis_status blis__chooser_init(blis__chooser *chooser, const blis_alloc *alloc,
                                            const blis_replica_options *options);
void blis__chooser_deinit(blis__chooser *chooser, const blis_alloc *alloc);

/*
 * Chooses the replica of a request among the running ones (a bit each, not 0); connections has the
 * requests in flight of each. Replicas that are down keep their keys: these are mapped to the next
 * running point of the ring.
 */
uint32_t blis__chooser_pick(blis__chooser *chooser, const blis_routing_request *request,
                            uint64_t up, const int64_t *connections);

#endif
