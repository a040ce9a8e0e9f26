/*
 * in_transit.c - with dispatch "event": counts dispatched requests that detectors do not see yet.
 * These requests are in transit to an instance, or are on an instance without the KV blocks of
 * their prompts. If they were not counted, every evaluation after a dispatch would find the gate
 * open.
 */
#include <string.h>

#include "base/invariant.h"
#include "cluster/gateway/gateway_queue.h"

void blis__bound_dispatch(blis__gateway *gateway, blis__cluster_request *request) {
  blis__gateway_bound *bound = &gateway->bound;
  BLIS_ASSERT(!blis__gateway_part_of(request)->is_bound);
  blis__gateway_part_of(request)->is_bound = true;
  bound->requests++;
  bound->prompt_tokens += request->request.prompt_tokens;
  gateway->is_current = false;
}

bool blis__bound_arrive(blis__gateway *gateway, blis__cluster_request *request) {
  const blis__gateway_part *part = blis__gateway_part_of(request);
  bool was_bound = part != NULL && part->is_bound; /* NULL = it was rejected before the queue */
  if (was_bound) {
    blis__gateway_part_of(request)->is_bound = false;
    gateway->bound.requests--;
    gateway->bound.prompt_tokens -= request->request.prompt_tokens;
    gateway->is_current = false;
  }
  return was_bound;
}

/*
 * Returns whether the request comes with KV. The blocks of a request from another instance were
 * already reserved.
 */
static bool comes_with_kv(const blis__cluster_request *request) {
  return request->was_split && request->other == NULL;
}

blis_status blis__bound_join(blis__gateway *gateway, blis__cluster_request *request) {
  if (comes_with_kv(request) || blis__gateway_part_of(request)->prompt_place != 0) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_push(&gateway->alloc, &gateway->bound.prompts, request));
  blis__gateway_part_of(request)->prompt_place = (uint32_t)gateway->bound.prompts.count;
  return BLIS_OK;
}

void blis__bound_settle(blis__gateway *gateway, blis__cluster_request *request) {
  if (blis__gateway_part_of(request)->prompt_place == 0) {
    return;
  }
  blis__cluster_request **items = gateway->bound.prompts.items;
  size_t last = --gateway->bound.prompts.count;
  BLIS_ASSERT(items[blis__gateway_part_of(request)->prompt_place - 1] == request);
  items[blis__gateway_part_of(request)->prompt_place - 1] = items[last];
  blis__gateway_part_of(items[last])->prompt_place = blis__gateway_part_of(request)->prompt_place;
  blis__gateway_part_of(request)->prompt_place = 0;
}

/* Returns the number of blocks that the prompt needs but does not hold yet. */
static int64_t missing_blocks(blis__cluster_request *request, int64_t block_size) {
  const blis_live_request *live = blis__live_of(request);
  bool has_blocks = live->state == BLIS_REQUEST_RUNNING;
  int64_t tokens = live->prompt_tokens - (has_blocks ? live->progress_tokens : 0);
  return tokens <= 0 ? 0 : (tokens + block_size - 1) / block_size;
}

/*
 * Counts the missing blocks per instance. The sums use integers, because the order of the prompts
 * is not their time order.
 */
static void count_blocks(const blis_cluster *cluster, const blis__gateway_bound *bound,
                         const blis_routing_view *group, double *blocks) {
  memset(blocks, 0, group->count * sizeof *blocks);
  for (size_t i = 0; i < bound->prompts.count; i++) {
    blis__cluster_request *request = bound->prompts.items[i];
    uint32_t number = (uint32_t)request->instance;
    size_t place = blis_routing_view_find(group, number);
    if (place < group->count) {
      blocks[place] += (double)missing_blocks(
          request, blis_instance_get_config(cluster->instances[number])->block_size_tokens);
    }
  }
}

void blis__bound_add_kv(const blis_cluster *cluster, const blis__gateway *gateway,
                        const blis__group *group, bool counts_bound, double *shares,
                        double *blocks) {
  const blis__gateway_bound *bound = &gateway->bound;
  const blis_routing_view view = {.count = group->count, .instances = group->instances};
  double tokens = counts_bound ? (double)bound->prompt_tokens : 0;
  count_blocks(cluster, bound, &view, blocks);
  for (uint32_t k = 0; k < group->count; k++) {
    const blis_instance_config *config =
        blis_instance_get_config(cluster->instances[group->instances[k]]);
    double more = tokens / (double)group->count / (double)config->block_size_tokens;
    shares[k] += (blocks[k] + more) / (double)config->kv_blocks;
  }
}
