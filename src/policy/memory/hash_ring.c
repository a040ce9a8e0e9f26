#include "policy/memory/hash_ring.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

void blis__hash_ring_init(blis__hash_ring *ring, const blis_alloc *alloc,
                          uint32_t points_per_candidate) {
  *ring = (blis__hash_ring){.alloc = *alloc, .points_per_candidate = points_per_candidate};
}

void blis__hash_ring_deinit(blis__hash_ring *ring) {
  blis_array_deinit(&ring->alloc, &ring->points);
  blis_array_deinit(&ring->alloc, &ring->instances);
}

/* Orders points by hash, then by candidate number. */
static int compare_points(const void *a, const void *b) {
  const blis__ring_point *left = a;
  const blis__ring_point *right = b;
  if (left->hash != right->hash) {
    return left->hash < right->hash ? -1 : 1;
  }
  return (left->candidate > right->candidate) - (left->candidate < right->candidate);
}

static uint64_t point_hash(const char *id, uint32_t k) {
  char suffix[16];
  int length = snprintf(suffix, sizeof suffix, "#%" PRIu32, k);
  const blis_hash_part parts[] = {{id, strlen(id)}, {suffix, (size_t)length}};
  return blis_xxh64(parts, 2);
}

static bool is_made_for(const blis__hash_ring *ring, const blis_routing_view *view) {
  return ring->instances.count == view->count &&
         memcmp(ring->instances.items, view->instances, view->count * sizeof *view->instances) == 0;
}

blis_status blis__hash_ring_of(blis__hash_ring *ring, const blis_routing_view *view) {
  if (is_made_for(ring, view)) {
    return BLIS_OK;
  }
  size_t count = view->count * ring->points_per_candidate;
  BLIS_TRY(blis_array_reserve(&ring->alloc, &ring->points, count));
  BLIS_TRY(blis_array_reserve(&ring->alloc, &ring->instances, view->count));
  memcpy(ring->instances.items, view->instances, view->count * sizeof *view->instances);
  ring->instances.count = view->count;
  ring->points.count = 0;
  for (size_t i = 0; i < view->count; i++) {
    for (uint32_t k = 0; k < ring->points_per_candidate; k++) {
      ring->points.items[ring->points.count++] =
          (blis__ring_point){.hash = point_hash(view->ids[i], k), .candidate = (uint32_t)i};
    }
  }
  qsort(ring->points.items, count, sizeof *ring->points.items, compare_points);
  return BLIS_OK;
}

size_t blis__hash_ring_find(const blis__hash_ring *ring, uint64_t key) {
  size_t low = 0;
  size_t high = ring->points.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ring->points.items[middle].hash < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < ring->points.count ? low : 0;
}
