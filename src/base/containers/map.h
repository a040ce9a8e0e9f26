/*
 * map.h - a hash map from uint64_t to uint64_t.
 *
 * Open addressing with linear probing: every key is between its home slot and the first empty slot.
 * A removal moves later keys back instead of leaving a tombstone, so lookups never slow down. Any
 * key is allowed. A lookup costs a few ns while the slots are in the processor's cache; memory is
 * 26 to 51 bytes per key. The map deliberately has no iteration, because no result may depend on
 * the order of the slots.
 */
#ifndef BLIS_BASE_CONTAINERS_MAP_H
#define BLIS_BASE_CONTAINERS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

/* Private; public only so that lookups can be inline. */
typedef struct blis_map_slot {
  uint64_t key; /* 0: empty; the key 0 is stored outside the slots */
  uint64_t value;
} blis_map_slot;

typedef struct blis_map {
  blis_alloc alloc;
  blis_map_slot *slots;
  size_t mask;    /* number of slots - 1 */
  unsigned shift; /* 64 - log2 of the number of slots */
  size_t used;    /* slots in use */
  bool has_zero;
  uint64_t zero_value;
} blis_map;

/* Copies *alloc; allocates nothing yet. */
void blis_map_init(blis_map *map, const blis_alloc *alloc);

void blis_map_deinit(blis_map *map);

/*
 * Reserves space for count keys, so that adding them needs no allocation. BLIS_ERR_NOMEM or
 * BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis_map_reserve(blis_map *map, size_t count);

/* Removes every key and keeps the memory; O(slots). */
void blis_map_clear(blis_map *map);

static inline size_t blis_map_count(const blis_map *map) {
  return map->used + map->has_zero;
}

/* The home slot of a key: Fibonacci hashing of its folded halves. */
static inline size_t blis__map_home(const blis_map *map, uint64_t key) {
  uint64_t folded = key ^ key >> 32;
  return (size_t)(folded * UINT64_C(0x9e3779b97f4a7c15) >> map->shift);
}

/* Returns a pointer to the value of key, valid until the next change of the map; or NULL. */
static inline uint64_t *blis_map_find(blis_map *map, uint64_t key) {
  if (key == 0) {
    return map->has_zero ? &map->zero_value : NULL;
  }
  size_t i = blis__map_home(map, key);
  while (map->slots[i].key != key) {
    if (map->slots[i].key == 0) {
      return NULL;
    }
    i = (i + 1) & map->mask;
  }
  return &map->slots[i].value;
}

/* Returns false, and leaves *value unchanged, if key is missing. */
static inline bool blis_map_get(const blis_map *map, uint64_t key, uint64_t *value) {
  /* find does not change the map; it only returns a writable pointer. */
  const uint64_t *found = blis_map_find((blis_map *)map, key);
  if (found == NULL) {
    return false;
  }
  *value = *found;
  return true;
}

/* Adds key or replaces its value. BLIS_ERR_NOMEM leaves the map unchanged. */
BLIS_MUSTUSE blis_status blis_map_put(blis_map *map, uint64_t key, uint64_t value);

/*
 * Adds key with value unless the map contains it. In both cases, *place points to the key's value
 * until the next change, and *is_new (may be NULL) is set to whether the key was added.
 * BLIS_ERR_NOMEM leaves the map unchanged.
 */
BLIS_MUSTUSE blis_status blis_map_add(blis_map *map, uint64_t key, uint64_t value, uint64_t **place,
                                      bool *is_new);

/* Removes key. Returns whether the map contained it. */
bool blis_map_remove(blis_map *map, uint64_t key);

/* Walks all slots. Returns whether every key can be found. */
bool blis_map_check(const blis_map *map);

#endif
