#include "base/containers/paged_map.h"

#include <string.h>

#include "base/inline.h"
#include "base/invariant.h"

#define NONE UINT32_MAX

void blis_paged_map_init(blis_paged_map *map, const blis_alloc *alloc) {
  *map = (blis_paged_map){.alloc = *alloc, .last_page = NONE};
  blis_map_init(&map->directory, alloc);
}

void blis_paged_map_deinit(blis_paged_map *map) {
  const blis_alloc alloc = map->alloc;
  blis_map_deinit(&map->directory);
  blis_array_deinit(&alloc, &map->pages);
  blis_array_deinit(&alloc, &map->counts);
  blis_array_deinit(&alloc, &map->free_pages);
  blis_paged_map_init(map, &alloc);
}

/* Adds an empty page to the list of free pages. */
static blis_status add_free_page(blis_paged_map *map) {
  const blis__page empty = {0};
  size_t count = map->pages.count;
  if (count >= NONE) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(blis_array_reserve(&map->alloc, &map->counts, count + 1));
  BLIS_TRY(blis_array_reserve(&map->alloc, &map->free_pages, count + 1));
  BLIS_TRY(blis_array_push(&map->alloc, &map->pages, empty));
  map->counts.items[map->counts.count++] = 0;
  map->free_pages.items[map->free_pages.count++] = (uint32_t)count;
  return BLIS_OK;
}

static blis_status need_page(blis_paged_map *map, uint64_t key, uint32_t *page) {
  *page = blis__paged_map_page(map, key);
  if (*page != NONE) {
    return BLIS_OK;
  }
  if (map->free_pages.count == 0) {
    BLIS_TRY(add_free_page(map));
  }
  uint32_t added = map->free_pages.items[map->free_pages.count - 1];
  BLIS_ASSERT(map->counts.items[added] == 0);
  BLIS_TRY(blis_map_put(&map->directory, key >> BLIS__PAGE_SHIFT, added));
  map->free_pages.count--;
  map->last_number = key >> BLIS__PAGE_SHIFT;
  map->last_page = added;
  *page = added;
  return BLIS_OK;
}

blis_status blis_paged_map_put(blis_paged_map *map, uint64_t key, uint32_t value,
                               uint32_t *before) {
  BLIS_ASSERT(value != NONE);
  uint32_t page;
  BLIS_TRY(need_page(map, key, &page));
  uint32_t *place = &map->pages.items[page].values[key % BLIS__PAGE_KEYS];
  *before = *place - 1; /* UINT32_MAX if *place is 0, which means no key */
  map->counts.items[page] += *place == 0;
  BLIS_ASSERT(map->counts.items[page] <= BLIS__PAGE_KEYS);
  *place = value + 1;
  return BLIS_OK;
}

/* Removes count keys of the page, including this key. */
static void lessen(blis_paged_map *map, uint32_t page, uint64_t key, uint32_t count) {
  BLIS_ASSERT(map->counts.items[page] >= count);
  map->counts.items[page] -= count;
  if (map->counts.items[page] == 0) {
    blis_map_remove(&map->directory, key >> BLIS__PAGE_SHIFT);
    map->free_pages.items[map->free_pages.count++] = page;
    BLIS_ASSERT(blis_map_count(&map->directory) + map->free_pages.count == map->pages.count);
    map->last_page = NONE;
  }
}

bool blis_paged_map_remove(blis_paged_map *map, uint64_t key) {
  uint32_t page = blis__paged_map_page(map, key);
  if (page == NONE || map->pages.items[page].values[key % BLIS__PAGE_KEYS] == 0) {
    return false;
  }
  map->pages.items[page].values[key % BLIS__PAGE_KEYS] = 0;
  lessen(map, page, key, 1);
  return true;
}

/* Returns how many of `count` consecutive keys starting at key are in the page of the first one. */
static uint32_t in_page(uint64_t key, uint64_t count) {
  uint32_t room = BLIS__PAGE_KEYS - (uint32_t)(key % BLIS__PAGE_KEYS);
  return count < room ? (uint32_t)count : room;
}

/* Returns how many of the first n values equal wanted, up to the first different value. */
static uint32_t equal_values(const uint32_t *values, uint32_t n, uint32_t wanted) {
  uint32_t i = 0;
  while (i < n && values[i] == wanted) {
    i++;
  }
  return i;
}

/*
 * Returns how many of the first n values are 0, up to the first different value. Usually all are 0.
 */
static uint32_t zero_values(const uint32_t *values, uint32_t n) {
  uint32_t any = 0;
  for (uint32_t i = 0; i < n; i++) {
    any |= values[i];
  }
  return any == 0 ? n : equal_values(values, n, 0);
}

blis_status blis_paged_map_add_run(blis_paged_map *map, uint64_t key, uint64_t count,
                                   uint32_t value, uint64_t *added) {
  BLIS_ASSERT(value != NONE);
  *added = 0;
  while (*added < count) {
    uint64_t first = key + *added;
    uint32_t wanted = in_page(first, count - *added);
    uint32_t page;
    BLIS_TRY(need_page(map, first, &page));
    uint32_t *values = &map->pages.items[page].values[first % BLIS__PAGE_KEYS];
    uint32_t n = map->counts.items[page] == 0 ? wanted : zero_values(values, wanted);
    for (uint32_t i = 0; i < n; i++) {
      values[i] = value + 1;
    }
    map->counts.items[page] += n;
    *added += n;
    if (n < wanted) {
      break;
    }
  }
  return BLIS_OK;
}

static BLIS_OPAQUE void clear_values(uint32_t *values, uint32_t n) {
  memset(values, 0, n * sizeof *values);
}

void blis_paged_map_remove_run(blis_paged_map *map, uint64_t key, uint64_t count) {
  while (count > 0) {
    uint32_t n = in_page(key, count);
    uint32_t page = blis__paged_map_page(map, key);
    BLIS_ASSERT(page != NONE);
    clear_values(&map->pages.items[page].values[key % BLIS__PAGE_KEYS], n);
    lessen(map, page, key, n);
    key += n;
    count -= n;
  }
}

uint64_t blis_paged_map_change_run(blis_paged_map *map, uint64_t key, uint64_t count,
                                   uint32_t old_value, uint32_t new_value) {
  BLIS_ASSERT(new_value != NONE);
  uint64_t changed = 0;
  while (count > 0) {
    uint32_t n = in_page(key, count);
    uint32_t page = blis__paged_map_page(map, key);
    for (uint32_t i = 0; page != NONE && i < n; i++) {
      uint32_t *value = &map->pages.items[page].values[key % BLIS__PAGE_KEYS + i];
      bool is_old = *value == old_value + 1;
      *value = is_old ? new_value + 1 : *value;
      changed += is_old;
    }
    key += n;
    count -= n;
  }
  return changed;
}

uint64_t blis_paged_map_count_run(blis_paged_map *map, uint64_t key, uint64_t count,
                                  uint32_t value) {
  uint64_t found = 0;
  while (found < count) {
    uint32_t wanted = in_page(key + found, count - found);
    uint32_t page = blis__paged_map_page(map, key + found);
    if (page == NONE) {
      break;
    }
    const uint32_t *values = &map->pages.items[page].values[(key + found) % BLIS__PAGE_KEYS];
    uint32_t n = equal_values(values, wanted, value + 1);
    found += n;
    if (n < wanted) {
      break;
    }
  }
  return found;
}

bool blis_paged_map_check(const blis_paged_map *map) {
  size_t used = 0;
  for (size_t page = 0; page < map->pages.count; page++) {
    uint32_t count = 0;
    for (int k = 0; k < BLIS__PAGE_KEYS; k++) {
      count += map->pages.items[page].values[k] != 0;
    }
    if (count != map->counts.items[page]) {
      return false;
    }
    used += count > 0;
  }
  return used == blis_map_count(&map->directory) &&
         used + map->free_pages.count == map->pages.count && blis_map_check(&map->directory);
}
