/*
 * hash_ring.h - consistent hashing: candidates own arcs of a circle of 64-bit
 * hashes.
 *
 * Every candidate has several points on the circle: point k of instance "a" is at XXH64("a#k"). A
 * key belongs to the first point at or after it. If a candidate is removed, its keys move to its
 * neighbors, and no other keys move. Finding the first point is O(log points).
 */
#ifndef BLIS_POLICY_MEMORY_HASH_RING_H
#define BLIS_POLICY_MEMORY_HASH_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "policy/contract/view.h"

typedef struct blis__ring_point {
  uint64_t hash;
  uint32_t candidate;
} blis__ring_point;

typedef struct blis__hash_ring {
  blis_alloc alloc;
  uint32_t points_per_candidate;
  BLIS_ARRAY(blis__ring_point) points; /* sorted by hash */
  BLIS_ARRAY(uint32_t) instances;      /* instances whose points are in the ring */
} blis__hash_ring;

/* points_per_candidate >= 1. Copies *alloc; allocates nothing yet. */
void blis__hash_ring_init(blis__hash_ring *ring, const blis_alloc *alloc,
                          uint32_t points_per_candidate);
void blis__hash_ring_deinit(blis__hash_ring *ring);

/*
 * Updates the ring to the view's candidates. O(candidates) if they are unchanged,
 * O(points log points) otherwise. Returns BLIS_OK or BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis__hash_ring_of(blis__hash_ring *ring, const blis_routing_view *view);

/* Returns the index of the point that a key belongs to. The following indices, modulo the number
   of points, are the next points on the circle. */
size_t blis__hash_ring_find(const blis__hash_ring *ring, uint64_t key);

#endif
