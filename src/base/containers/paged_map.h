/*
 * paged_map.h - a hash map from uint64_t to uint32_t for keys that come in runs, such as the block
 * identities of a prompt.
 *
 * Keys are stored in pages of 128 neighbors. Only pages are hashed, and the page used last is
 * remembered. So a run of keys costs one probe per page, where a plain map (map.h) needs one per
 * key. A key without neighbors takes a whole page, 512 bytes. A page is freed with its last key.
 * Every key is allowed, and every value except UINT32_MAX.
 *
 * Neighbors with the same value are added, changed, and removed as one run, at a cost per page.
 */
#ifndef BLIS_BASE_CONTAINERS_PAGED_MAP_H
#define BLIS_BASE_CONTAINERS_PAGED_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/containers/map.h"
#include "base/error.h"

enum { BLIS__PAGE_SHIFT = 7, BLIS__PAGE_KEYS = 1 << BLIS__PAGE_SHIFT };

/* Private; public only so that lookups can be inline. */
typedef struct blis__page {
  uint32_t values[BLIS__PAGE_KEYS]; /* + 1; 0 = no such key */
} blis__page;

typedef struct blis_paged_map {
  blis_alloc alloc;
  blis_map directory; /* page number -> index in pages */
  BLIS_ARRAY(blis__page) pages;
  BLIS_ARRAY(uint32_t) counts;     /* keys of each page */
  BLIS_ARRAY(uint32_t) free_pages; /* has capacity for all pages */
  uint64_t last_number;            /* number of the page used last */
  uint32_t last_page;              /* UINT32_MAX = none */
} blis_paged_map;

/* Copies *alloc; allocates nothing yet. */
void blis_paged_map_init(blis_paged_map *map, const blis_alloc *alloc);

void blis_paged_map_deinit(blis_paged_map *map);

/* Returns the page of a key, or UINT32_MAX. */
static inline uint32_t blis__paged_map_page(blis_paged_map *map, uint64_t key) {
  uint64_t number = key >> BLIS__PAGE_SHIFT;
  if (map->last_page == UINT32_MAX || map->last_number != number) {
    uint64_t found;
    if (!blis_map_get(&map->directory, number, &found)) {
      return UINT32_MAX;
    }
    map->last_number = number;
    map->last_page = (uint32_t)found;
  }
  return map->last_page;
}

/* Returns false, and leaves *value unchanged, if key is missing. */
static inline bool blis_paged_map_get(blis_paged_map *map, uint64_t key, uint32_t *value) {
  uint32_t page = blis__paged_map_page(map, key);
  if (page == UINT32_MAX) {
    return false;
  }
  uint32_t found = map->pages.items[page].values[key % BLIS__PAGE_KEYS];
  *value = found == 0 ? *value : found - 1;
  return found != 0;
}

/*
 * Adds key or replaces its value. *before is the old value, or UINT32_MAX if the key is new.
 * BLIS_ERR_NOMEM leaves the map unchanged.
 */
BLIS_MUSTUSE blis_status blis_paged_map_put(blis_paged_map *map, uint64_t key, uint32_t value,
                                            uint32_t *before);

/* Removes key. Returns whether the map contained it. */
bool blis_paged_map_remove(blis_paged_map *map, uint64_t key);

/*
 * In the functions below, a run consists of `count` consecutive keys that start at key. It must not
 * extend beyond the highest key.
 */

/*
 * Adds keys with value up to the first key that the map already contains. *added is the number of
 * added keys, also on BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis_paged_map_add_run(blis_paged_map *map, uint64_t key, uint64_t count,
                                                uint32_t value, uint64_t *added);

/* Removes keys. The map must contain all of them. */
void blis_paged_map_remove_run(blis_paged_map *map, uint64_t key, uint64_t count);

/* Changes the keys whose value is old to a new value. Returns how many were changed. */
uint64_t blis_paged_map_change_run(blis_paged_map *map, uint64_t key, uint64_t count,
                                   uint32_t old_value, uint32_t new_value);

/* Returns the number of keys before the first key that is missing or has another value. */
uint64_t blis_paged_map_count_run(blis_paged_map *map, uint64_t key, uint64_t count,
                                  uint32_t value);

/* Walks all pages. Returns whether every invariant holds. */
bool blis_paged_map_check(const blis_paged_map *map);

#endif
