/*
 * rank_balancer.h - selects a data-parallel rank, like the clients of an engine that balances its
 * ranks itself.
 *
 * Each client has its own copy of the ranks' state: waiting and running requests as last published,
 * plus the client's own requests since then. It chooses the rank with the lowest 4 x waiting +
 * running; among equal ranks, the first one from the client's starting position. Starting positions
 * differ between clients. A sent request adds as many waiting requests as there are clients,
 * because all clients are assumed to behave alike.
 *
 * The rule follows vLLM, v0.10.2 (v1/engine/core_client.py and coordinator.py). Clients take
 * requests in rotation. Due counts are published at the next read. vLLM publishes less often while
 * nothing changes, which has no visible effect. O(ranks) per choice.
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
  int64_t round;                      /* number of the last publication; 0 = none yet */
  uint64_t turn;                      /* number of choices so far */
  BLIS_ARRAY(blis__rank_load) copies; /* one copy per client, by rank */
} blis__rank_balancer;

/* clients must be 1 to BLIS__BALANCER_CLIENTS_MAX, and publish_us >= 0. The first publication is
   after publish_us / 2. 0 means that counts are always current. */
void blis__rank_balancer_init(blis__rank_balancer *balancer, uint32_t clients, int64_t publish_us);
void blis__rank_balancer_deinit(blis__rank_balancer *balancer, const blis_alloc *alloc);

/* Ensures that there are at least this many ranks. New ranks are idle. Returns BLIS_OK or
   BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__rank_balancer_reserve(blis__rank_balancer *balancer,
                                                     const blis_alloc *alloc, size_t ranks);

/* Returns true if all counts must be published now. Time must not decrease. */
bool blis__rank_balancer_is_due(blis__rank_balancer *balancer, int64_t now_us);
void blis__rank_balancer_publish(const blis__rank_balancer *balancer, uint32_t rank,
                                 blis__rank_load load);

/*
 * Lets the next client choose one of count >= 1 ranks for a request. Returns its index among them.
 */
size_t blis__rank_balancer_choose(blis__rank_balancer *balancer, const uint32_t *ranks,
                                  size_t count);

/* Lets the next client send a request to the rank that the request specifies. */
void blis__rank_balancer_send(blis__rank_balancer *balancer, uint32_t rank);

#endif
