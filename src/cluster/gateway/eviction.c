/*
 * eviction.c - evicts requests from instances in favor of waiting requests with higher priority.
 *
 * Evictable requests are in a binary heap, ordered by lowest priority, then by latest dispatch.
 * Ties have the order of the heap in BLIS (Go).
 */
#include <math.h>

#include "base/invariant.h"
#include "base/time.h"
#include "cluster/ending.h"
#include "cluster/gateway/gateway.h"
#include "cluster/gateway/gateway_queue.h"

enum { EVICTIONS_AT_ONCE = 2, PAUSE_US = 500000 };

/* The heap. */

static bool goes_before(const blis__evictable *a, const blis__evictable *b) {
  return a->priority != b->priority ? a->priority < b->priority : a->dispatch_us > b->dispatch_us;
}

static void put(blis__gateway *gateway, size_t place, blis__evictable item) {
  gateway->evictables.items[place] = item;
  blis__gateway_part_of(item.request)->evictable = (uint32_t)place + 1;
}

static void swap(blis__gateway *gateway, size_t a, size_t b) {
  blis__evictable at_a = gateway->evictables.items[a];
  put(gateway, a, gateway->evictables.items[b]);
  put(gateway, b, at_a);
}

static void sift_up(blis__gateway *gateway, size_t place) {
  const blis__evictable *items = gateway->evictables.items;
  while (place > 0 && goes_before(&items[place], &items[(place - 1) / 2])) {
    swap(gateway, place, (place - 1) / 2);
    place = (place - 1) / 2;
  }
}

/* Moves an entry down. Returns whether it moved. */
static bool sift_down(blis__gateway *gateway, size_t place, size_t count) {
  const blis__evictable *items = gateway->evictables.items;
  size_t start = place;
  for (size_t child = 2 * place + 1; child < count; child = 2 * place + 1) {
    if (child + 1 < count && goes_before(&items[child + 1], &items[child])) {
      child++;
    }
    if (!goes_before(&items[child], &items[place])) {
      break;
    }
    swap(gateway, place, child);
    place = child;
  }
  return place > start;
}

blis_status blis__evictables_add(blis__gateway *gateway, blis__cluster_request *request) {
  const blis__evictable item = {request, request->slo_value,
                                blis__gateway_part_of(request)->left_us};
  BLIS_TRY(blis_array_push(&gateway->alloc, &gateway->evictables, item));
  blis__gateway_part_of(request)->evictable = (uint32_t)gateway->evictables.count;
  sift_up(gateway, gateway->evictables.count - 1);
  return BLIS_OK;
}

void blis__evictables_remove(blis__gateway *gateway, blis__cluster_request *request) {
  if (blis__gateway_part_of(request)->evictable == 0) {
    return;
  }
  size_t place = blis__gateway_part_of(request)->evictable - 1;
  size_t last = gateway->evictables.count - 1;
  BLIS_ASSERT(gateway->evictables.items[place].request == request);
  if (place != last) {
    swap(gateway, place, last);
    if (!sift_down(gateway, place, last)) {
      sift_up(gateway, place);
    }
  }
  gateway->evictables.count--;
  blis__gateway_part_of(request)->evictable = 0;
}

/* Evicting. */

/* llm-d: returns by how much the number of requests in flight exceeds the ceiling. */
static int64_t surplus(const blis_cluster *cluster, double saturation, double ceiling) {
  double in_flight = 0;
  for (uint32_t i = 0; i < cluster->config.instance_count; i++) {
    in_flight += blis__snapshot_live(&cluster->snapshot, i, BLIS_SIGNAL_IN_FLIGHT);
  }
  double credit = in_flight > 0 ? saturation / in_flight : saturation;
  double wanted = ceil((saturation - ceiling) / credit);
  if (!(wanted > 1)) {
    return 1;
  }
  return wanted < EVICTIONS_AT_ONCE ? (int64_t)wanted : EVICTIONS_AT_ONCE;
}

static bool may_evict(const blis_cluster *cluster, const blis__gateway *gateway, int32_t priority,
                      double saturation, double ceiling) {
  switch (gateway->policy.eviction) {
  case BLIS_GATEWAY_EVICTS_ONE:
    return saturation >= 1 && priority >= 0;
  case BLIS_GATEWAY_EVICTS_SOME:
    return ceiling > 0 && cluster->now_us >= gateway->next_eviction_us;
  default:
    return false;
  }
}

static bool is_victim(const blis__gateway *gateway, int32_t priority) {
  return gateway->evictables.count > 0 && (gateway->policy.eviction == BLIS_GATEWAY_EVICTS_ONE ||
                                           gateway->evictables.items[0].priority < priority);
}

blis_status blis__gateway_evict_for(blis_cluster *cluster, blis__gateway *gateway, int32_t priority,
                                    double saturation, double ceiling, bool *has_any,
                                    blis_error *error) {
  *has_any = false;
  if (!may_evict(cluster, gateway, priority, saturation, ceiling)) {
    return BLIS_OK;
  }
  int64_t most = gateway->policy.eviction == BLIS_GATEWAY_EVICTS_ONE
                     ? 1
                     : surplus(cluster, saturation, ceiling);
  for (int64_t i = 0; i < most && is_victim(gateway, priority); i++) {
    blis__cluster_request *victim = gateway->evictables.items[0].request;
    blis__evictables_remove(gateway, victim);
    BLIS_TRY_MEM(blis__gateway_push(cluster, BLIS__CLUSTER_EVICT, cluster->now_us, victim, NULL),
                 error);
    gateway->next_eviction_us = blis_time_after_us(cluster->now_us, PAUSE_US);
    *has_any = true;
  }
  return BLIS_OK;
}

blis_status blis__gateway_evict(blis_cluster *cluster, blis__cluster_request *request,
                                blis_error *error) {
  BLIS_TRY(blis__cluster_take_away(cluster, request, error));
  blis__gateway *gateway = blis__gateway_of(cluster);
  gateway->counts.evicted++;
  blis__gateway_known_book(gateway, request->slo_value)->counts.evicted++;
  request->live.state = BLIS_REQUEST_FAILED;
  return blis__cluster_end(cluster, request, cluster->now_us, BLIS_GATEWAY_EVICTED, error);
}
