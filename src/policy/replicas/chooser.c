#include "policy/replicas/chooser.h"

#include <stdlib.h>

#include "base/hash.h"
#include "policy/contract/stable_hash.h"

/* Block size, and number of prompt tokens that the hash covers. */
enum { HASH_BLOCK_TOKENS = 16, HASH_WINDOW_TOKENS = 256 };

static int compare_places(const void *a, const void *b) {
  const blis__ring_place *left = a;
  const blis__ring_place *right = b;
  if (left->hash != right->hash) {
    return left->hash < right->hash ? -1 : 1;
  }
  return (left->replica > right->replica) - (left->replica < right->replica);
}

static blis_status make_ring(blis__chooser *chooser, const blis_alloc *alloc, uint32_t vnodes) {
  size_t count = (size_t)chooser->count * vnodes;
  BLIS_TRY(blis_array_reserve(alloc, &chooser->ring, count));
  for (uint32_t r = 0; r < chooser->count; r++) {
    for (uint32_t k = 0; k < vnodes; k++) {
      const uint32_t words[] = {r, k};
      chooser->ring.items[chooser->ring.count++] =
          (blis__ring_place){.hash = blis_hash64(words, sizeof words, 0), .replica = r};
    }
  }
  qsort(chooser->ring.items, count, sizeof *chooser->ring.items, compare_places);
  return BLIS_OK;
}

blis_status blis__chooser_init(blis__chooser *chooser, const blis_alloc *alloc,
                               const blis_replica_options *options) {
  *chooser = (blis__chooser){
      .balancer = options->balancer, .hash_on = options->hash_on, .count = options->count};
  blis_random_init_named(&chooser->random, options->seed, "router-balancer");
  return options->balancer == BLIS_BALANCER_HASH ? make_ring(chooser, alloc, options->vnodes)
                                                 : BLIS_OK;
}

void blis__chooser_deinit(blis__chooser *chooser, const blis_alloc *alloc) {
  blis_array_deinit(alloc, &chooser->ring);
}

static bool is_up(uint64_t up, uint32_t replica) {
  return (up >> replica & 1) != 0;
}

/* Returns the first running replica at or after a point of the ring. */
static uint32_t first_up(const blis__chooser *chooser, uint64_t up, uint64_t from) {
  for (uint32_t k = 0; k < chooser->count; k++) {
    uint32_t replica = (uint32_t)((from + k) % chooser->count);
    if (is_up(up, replica)) {
      return replica;
    }
  }
  return 0;
}

static uint32_t pick_random(blis__chooser *chooser, uint64_t up) {
  uint32_t count = 0;
  for (uint32_t r = 0; r < chooser->count; r++) {
    count += is_up(up, r);
  }
  uint32_t left = (uint32_t)blis_random_intn(&chooser->random, (int32_t)count);
  uint32_t replica = 0;
  for (; !is_up(up, replica) || left > 0; replica++) {
    left -= is_up(up, replica);
  }
  return replica;
}

static uint32_t pick_least(const blis__chooser *chooser, uint64_t up, const int64_t *connections) {
  uint32_t best = first_up(chooser, up, 0);
  for (uint32_t r = best + 1; r < chooser->count; r++) {
    best = is_up(up, r) && connections[r] < connections[best] ? r : best;
  }
  return best;
}

static uint64_t key_of(const blis__chooser *chooser, const blis_routing_request *request) {
  switch (chooser->hash_on) {
  case BLIS_HASH_ON_SESSION:
    return blis_stable_hash_of_text(request, request->session);
  case BLIS_HASH_ON_TENANT:
    return blis_stable_hash_of_text(request, request->tenant);
  case BLIS_HASH_ON_CLIENT:
    return blis_stable_hash_of_text(request, request->client);
  case BLIS_HASH_ON_PREFIX:
    break;
  }
  return blis_stable_hash_of(request, HASH_BLOCK_TOKENS, HASH_WINDOW_TOKENS);
}

static uint32_t pick_by_hash(const blis__chooser *chooser, const blis_routing_request *request,
                             uint64_t up) {
  const blis__ring_place *places = chooser->ring.items;
  size_t count = chooser->ring.count;
  uint64_t key = key_of(chooser, request);
  size_t low = 0;
  size_t high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (places[middle].hash < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  while (!is_up(up, places[low % count].replica)) {
    low++;
  }
  return places[low % count].replica;
}

uint32_t blis__chooser_pick(blis__chooser *chooser, const blis_routing_request *request,
                            uint64_t up, const int64_t *connections) {
  switch (chooser->balancer) {
  case BLIS_BALANCER_RANDOM:
    return pick_random(chooser, up);
  case BLIS_BALANCER_LEAST_CONNECTIONS:
    return pick_least(chooser, up, connections);
  case BLIS_BALANCER_HASH:
    return pick_by_hash(chooser, request, up);
  case BLIS_BALANCER_ROUND_ROBIN:
    break;
  }
  uint32_t replica = first_up(chooser, up, chooser->turn);
  chooser->turn = replica + 1;
  return replica;
}
