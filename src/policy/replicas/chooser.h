/*
 * chooser.h - the load balancer that distributes requests to the replicas.
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
  BLIS_ARRAY(blis__ring_place) ring; /* points sorted by hash */
} blis__chooser;

/* Returns BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__chooser_init(blis__chooser *chooser, const blis_alloc *alloc,
                                            const blis_replica_options *options);
void blis__chooser_deinit(blis__chooser *chooser, const blis_alloc *alloc);

/*
 * Chooses a running replica for a request. running has one bit per replica and must not be 0;
 * connections contains the requests in flight of each replica. Replicas that are down remain in the
 * ring: their keys map to the next point of a running replica.
 */
uint32_t blis__chooser_pick(blis__chooser *chooser, const blis_routing_request *request,
                            uint64_t up, const int64_t *connections);

#endif
