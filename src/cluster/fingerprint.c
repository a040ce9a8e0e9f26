/* fingerprint.c - a hash of the state of a cluster. */
#include "base/hash.h"
#include "cluster/clock.h"
#include "cluster/state.h"

static uint64_t add(uint64_t hash, const int64_t *values, size_t count) {
  return blis_hash64(values, count * sizeof *values, hash);
}

static uint64_t add_instance(uint64_t hash, const blis_cluster *cluster, uint32_t i) {
  const int64_t values[] = {(int64_t)cluster->services[i],
                            blis_instance_next_us(cluster->instances[i])};
  blis_instance_stats stats; /* contains only integers, so it has no padding */
  blis_instance_get_stats(cluster->instances[i], &stats);
  hash = add(hash, values, sizeof values / sizeof *values);
  return blis_hash64(&stats, sizeof stats, hash);
}

static uint64_t add_request(uint64_t hash, const blis__cluster_request *request) {
  const blis_live_request *live = &request->live;
  const int64_t values[] = {
      live->number,  live->arrival_us,          (int64_t)live->state,   request->instance,
      live->ttft_us, live->scheduling_delay_us, request->request.model,
  };
  return add(hash, values, sizeof values / sizeof *values);
}

uint64_t blis_cluster_fingerprint(const blis_cluster *cluster) {
  const int64_t clock[] = {cluster->now_us, cluster->has_arrival, cluster->arrival.number,
                           blis__cluster_planned_us(cluster)};
  uint64_t hash = add(0, clock, sizeof clock / sizeof *clock);
  hash = blis_hash64(&cluster->counts, sizeof cluster->counts, hash);
  for (uint32_t i = 0; i < cluster->existing; i++) {
    hash = add_instance(hash, cluster, i);
  }
  for (const blis__cluster_request *r = cluster->requests.first; r != NULL; r = r->later) {
    hash = add_request(hash, r);
  }
  return hash;
}
