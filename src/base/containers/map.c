#include "base/containers/map.h"
#include "base/invariant.h"

#include <string.h>

enum { FIRST_SLOTS = 8 };

/* The slots of an empty map, so that lookups need no special case for it. */
static const blis_map_slot no_slots[2];

static bool has_memory(const blis_map *map) {
  return map->slots != no_slots;
}

static void forget_slots(blis_map *map) {
  map->slots = (blis_map_slot *)no_slots; /* never written: capacity is 0 */
  map->mask = 1;
  map->shift = 63;
}

void blis_map_init(blis_map *map, const blis_alloc *alloc) {
  *map = (blis_map){.alloc = *alloc};
  forget_slots(map);
}

void blis_map_deinit(blis_map *map) {
  if (has_memory(map)) {
    blis_alloc_free(&map->alloc, map->slots, (map->mask + 1) * sizeof *map->slots);
  }
  blis_alloc alloc = map->alloc;
  blis_map_init(map, &alloc);
}

void blis_map_clear(blis_map *map) {
  if (has_memory(map)) {
    memset(map->slots, 0, (map->mask + 1) * sizeof *map->slots);
  }
  map->used = 0;
  map->has_zero = false;
}

/* Returns how many keys fit: at most 5/8 of the slots are used. */
static size_t capacity_of(size_t slot_count) {
  return slot_count / 8 * 5;
}

static size_t capacity(const blis_map *map) {
  return has_memory(map) ? capacity_of(map->mask + 1) : 0;
}

/* Returns the empty slot where a missing key belongs. */
static blis_map_slot *empty_slot(const blis_map *map, uint64_t key) {
  size_t i = blis__map_home(map, key);
  while (map->slots[i].key != 0) {
    i = (i + 1) & map->mask;
  }
  return &map->slots[i];
}

static blis_status rehash(blis_map *map, size_t slot_count, unsigned shift) {
  blis_map grown = *map;
  grown.slots = blis_alloc_zeroed(&map->alloc, slot_count, sizeof *map->slots);
  if (grown.slots == NULL) {
    return BLIS_ERR_NOMEM;
  }
  grown.mask = slot_count - 1;
  grown.shift = shift;
  if (has_memory(map)) {
    for (size_t i = 0; i <= map->mask; i++) {
      if (map->slots[i].key != 0) {
        *empty_slot(&grown, map->slots[i].key) = map->slots[i];
      }
    }
    blis_alloc_free(&map->alloc, map->slots, (map->mask + 1) * sizeof *map->slots);
  }
  *map = grown;
  return BLIS_OK;
}

blis_status blis_map_reserve(blis_map *map, size_t count) {
  if (count <= capacity(map)) {
    return BLIS_OK;
  }
  size_t slot_count = FIRST_SLOTS;
  unsigned shift = 61;
  while (capacity_of(slot_count) < count) {
    if (slot_count > SIZE_MAX / 2) {
      return BLIS_ERR_NOMEM;
    }
    slot_count *= 2;
    shift--;
  }
  return rehash(map, slot_count, shift);
}

blis_status blis_map_add(blis_map *map, uint64_t key, uint64_t value, uint64_t **place,
                         bool *is_new) {
  uint64_t *found = blis_map_find(map, key);
  bool is_absent = found == NULL;
  if (is_absent && key == 0) {
    map->has_zero = true;
    map->zero_value = value;
    found = &map->zero_value;
  } else if (is_absent) {
    BLIS_TRY(blis_map_reserve(map, map->used + 1));
    blis_map_slot *slot = empty_slot(map, key);
    *slot = (blis_map_slot){.key = key, .value = value};
    map->used++;
    BLIS_ASSERT(map->used <= capacity(map));
    found = &slot->value;
  }
  *place = found;
  if (is_new != NULL) {
    *is_new = is_absent;
  }
  return BLIS_OK;
}

blis_status blis_map_put(blis_map *map, uint64_t key, uint64_t value) {
  uint64_t *place;
  BLIS_TRY(blis_map_add(map, key, value, &place, NULL));
  *place = value;
  return BLIS_OK;
}

/* Closes the gap at slot i: moves back each later key that the gap may hold. */
static void close_gap(blis_map *map, size_t i) {
  size_t mask = map->mask;
  for (size_t j = (i + 1) & mask; map->slots[j].key != 0; j = (j + 1) & mask) {
    size_t from_home = (j - blis__map_home(map, map->slots[j].key)) & mask;
    if (from_home >= ((j - i) & mask)) {
      map->slots[i] = map->slots[j];
      i = j;
    }
  }
  map->slots[i] = (blis_map_slot){0};
}

bool blis_map_remove(blis_map *map, uint64_t key) {
  if (key == 0) {
    bool was_there = map->has_zero;
    map->has_zero = false;
    return was_there;
  }
  size_t i = blis__map_home(map, key);
  while (map->slots[i].key != key) {
    if (map->slots[i].key == 0) {
      return false;
    }
    i = (i + 1) & map->mask;
  }
  close_gap(map, i);
  BLIS_ASSERT(map->used > 0);
  map->used--;
  return true;
}

bool blis_map_check(const blis_map *map) {
  size_t used = 0;
  for (size_t i = 0; i <= map->mask; i++) {
    uint64_t key = map->slots[i].key;
    if (key != 0) {
      used++;
      if (blis_map_find((blis_map *)map, key) != &map->slots[i].value) {
        return false;
      }
    }
  }
  return used == map->used && used <= capacity(map);
}
