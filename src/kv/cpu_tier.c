#include "kv/cpu_tier.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/containers/map.h"
#include "base/invariant.h"

#define NO_ENTRY UINT32_MAX

typedef struct entry {
  blis_block_id id;
  int64_t stamp; /* stamp of the last touch or save */
  uint32_t older;
  uint32_t newer;
} entry;

struct blis_cpu_tier {
  blis_alloc alloc;
  /* All are in use; the entry of an evicted block is reused immediately. */
  BLIS_ARRAY(entry) entries;
  blis_map table; /* identity -> index of its entry */
  int64_t capacity;
  uint32_t oldest;
  uint32_t newest;
  int64_t saved;
  int64_t evictions;
};

blis_status blis_cpu_tier_new(const blis_alloc *alloc, int64_t capacity_blocks,
                              blis_cpu_tier **tier, blis_error *error) {
  if (capacity_blocks < 1 || capacity_blocks >= UINT32_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "number of CPU tier blocks is %" PRId64 "; expected 1 to %" PRIu32,
                     capacity_blocks, UINT32_MAX - 1);
  }
  blis_cpu_tier *t = blis_alloc_zeroed(alloc, 1, sizeof *t);
  BLIS_TRY_NEW(t, error);
  t->alloc = *alloc;
  t->capacity = capacity_blocks;
  t->oldest = NO_ENTRY;
  t->newest = NO_ENTRY;
  blis_map_init(&t->table, alloc);
  *tier = t;
  return BLIS_OK;
}

void blis_cpu_tier_free(blis_cpu_tier *tier) {
  if (tier == NULL) {
    return;
  }
  BLIS_INVARIANT(blis_cpu_tier_check(tier));
  blis_alloc alloc = tier->alloc;
  blis_array_deinit(&alloc, &tier->entries);
  blis_map_deinit(&tier->table);
  blis_alloc_free(&alloc, tier, sizeof *tier);
}

static void unlink_entry(blis_cpu_tier *tier, uint32_t index) {
  const entry *e = &tier->entries.items[index];
  BLIS_ASSERT(e->older == NO_ENTRY ? tier->oldest == index
                                   : tier->entries.items[e->older].newer == index);
  BLIS_ASSERT(e->newer == NO_ENTRY ? tier->newest == index
                                   : tier->entries.items[e->newer].older == index);
  if (e->older == NO_ENTRY) {
    tier->oldest = e->newer;
  } else {
    tier->entries.items[e->older].newer = e->newer;
  }
  if (e->newer == NO_ENTRY) {
    tier->newest = e->older;
  } else {
    tier->entries.items[e->newer].older = e->older;
  }
}

static void link_newest(blis_cpu_tier *tier, uint32_t index) {
  entry *e = &tier->entries.items[index];
  e->older = tier->newest;
  e->newer = NO_ENTRY;
  if (tier->newest == NO_ENTRY) {
    tier->oldest = index;
  } else {
    tier->entries.items[tier->newest].newer = index;
  }
  tier->newest = index;
}

bool blis_cpu_tier_has(const blis_cpu_tier *tier, blis_block_id id) {
  uint64_t index;
  return blis_map_get(&tier->table, id, &index);
}

bool blis_cpu_tier_stamp(const blis_cpu_tier *tier, blis_block_id id, int64_t *stamp) {
  uint64_t index;
  if (!blis_map_get(&tier->table, id, &index)) {
    return false;
  }
  *stamp = tier->entries.items[index].stamp;
  return true;
}

bool blis_cpu_tier_touch(blis_cpu_tier *tier, blis_block_id id, int64_t stamp) {
  uint64_t index;
  if (!blis_map_get(&tier->table, id, &index)) {
    return false;
  }
  tier->entries.items[index].stamp = stamp;
  unlink_entry(tier, (uint32_t)index);
  link_newest(tier, (uint32_t)index);
  return true;
}

/* Takes a slot for one more entry. If the tier is full, evicts the oldest entry. */
static uint32_t take_entry(blis_cpu_tier *tier) {
  if ((int64_t)tier->entries.count < tier->capacity) {
    return (uint32_t)tier->entries.count++;
  }
  uint32_t index = tier->oldest;
  unlink_entry(tier, index);
  blis_map_remove(&tier->table, tier->entries.items[index].id);
  tier->evictions++;
  return index;
}

blis_status blis_cpu_tier_save(blis_cpu_tier *tier, blis_block_id id, int64_t stamp) {
  if (blis_cpu_tier_touch(tier, id, stamp)) {
    return BLIS_OK;
  }
  size_t count = tier->entries.count;
  size_t needed = (int64_t)count < tier->capacity ? count + 1 : count;
  BLIS_TRY(blis_array_reserve(&tier->alloc, &tier->entries, needed));
  BLIS_TRY(blis_map_reserve(&tier->table, needed));
  uint32_t index = take_entry(tier);
  tier->entries.items[index].id = id;
  tier->entries.items[index].stamp = stamp;
  link_newest(tier, index);
  blis_status status = blis_map_put(&tier->table, id, index);
  BLIS_ASSERT(status == BLIS_OK);
  tier->saved++;
  BLIS_ASSERT(blis_map_count(&tier->table) == tier->entries.count);
  BLIS_ASSERT(tier->saved - tier->evictions == (int64_t)tier->entries.count);
  return BLIS_OK;
}

void blis_cpu_tier_get_stats(const blis_cpu_tier *tier, blis_cpu_tier_stats *stats) {
  *stats = (blis_cpu_tier_stats){
      .blocks = (int64_t)tier->entries.count,
      .saved = tier->saved,
      .evictions = tier->evictions,
  };
}

bool blis_cpu_tier_check(const blis_cpu_tier *tier) {
  size_t count = 0;
  uint32_t older = NO_ENTRY;
  for (uint32_t i = tier->oldest; i != NO_ENTRY; i = tier->entries.items[i].newer) {
    const entry *e = &tier->entries.items[i];
    uint64_t index;
    if (e->older != older || count == tier->entries.count ||
        !blis_map_get(&tier->table, e->id, &index) || index != i) {
      return false;
    }
    older = i;
    count++;
  }
  return older == tier->newest && count == tier->entries.count &&
         (int64_t)count <= tier->capacity && count == blis_map_count(&tier->table) &&
         blis_map_check(&tier->table);
}
