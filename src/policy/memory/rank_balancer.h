/*
 * rank_balancer.h - the choice among data-parallel ranks by the clients of an
 * engine that balances them itself.
 *
 * Each client has its own copy of the ranks' state: waiting and running requests as
 * last published, and its own requests since. The least 4 x waiting + running is
 * chosen, the first of equal ranks from the position where the client begins; each
 * client begins elsewhere. A sent request counts as one waiting request per client,
 * because all clients behave alike.
 *
 * The rule follows vLLM, v0.10.2 (v1/engine/core_client.py and coordinator.py).
 * Clients take requests in turn. Counts are published at the first read after they
 * were due. That vLLM publishes more rarely while nothing changes has no visible
 * effect. O(ranks) per choice.
 */
#ifndef BLIS_POLICY_MEMORY_RANK_BALANCER_H
#define BLIS_POLICY_MEMORY_RANK_BALANCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"

enum { BLIS__BALANCER_CLIENTS_MAX = 1024 };

typedef struct blis__rank_load {
  int64_t waiting;
  int64_t running;
} blis__rank_load;

typedef struct blis__rank_balancer {
  uint32_t clients;
  int64_t publish_us;
  int64_t round;                      /* of the last publication; 0 = there was none */
  uint64_t turn;                      /* choices so far */
  BLIS_ARRAY(blis__rank_load) copies; /* by rank, one for each client */
} blis__rank_balancer;

/* clients: 1 to BLIS__BALANCER_CLIENTS_MAX. publish_us >= 0. The first publication is after half
   of it; 0 = counts are always current. */
void blis__rank_balancer_init(blis__rank_balancer *balancer, uint32_t clients, int64_t publish_us);
void blis__rank_balancer_deinit(blis__rank_balancer *balancer, const blis_alloc *alloc);

/* Ensures at least this many ranks; new ones are idle. BLIS_ERR_NOMEM or BLIS_OK. */
BLIS_MUSTUSE blis_status blis__rank_balancer_reserve(blis__rank_balancer *balancer,
                                                     const blis_alloc *alloc, size_t ranks);

/* Time never decreases. Returns true if all counts must be published now. */
bool blis__rank_balancer_is_due(blis__rank_balancer *balancer, int64_t now_us);
void blis__rank_balancer_publish(const blis__rank_balancer *balancer, uint32_t rank,
                                 blis__rank_load load);

/*
 * The next client chooses one of these ranks for a request, count >= 1; returns its
 * place among them.
 */
size_t blis__rank_balancer_choose(blis__rank_balancer *balancer, const uint32_t *ranks,
                                  size_t count);

/* The next client sends one to a rank that the request has named. */
void blis__rank_balancer_send(blis__rank_balancer *balancer, uint32_t rank);

#endif
