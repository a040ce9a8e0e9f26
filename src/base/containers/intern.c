#include "base/containers/intern.h"

#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/invariant.h"

enum { FIRST_SLOTS = 16 };

typedef struct entry {
  const char *text;
  size_t length;
  uint64_t hash;
} entry;

/*
 * Slots contain IDs and are probed linearly, starting at the low bits of the hash. 0 marks an empty
 * slot, because ID 0 needs no slot.
 */
struct blis_intern {
  blis_alloc alloc;
  blis_arena texts;
  BLIS_ARRAY(entry) entries;
  uint32_t *slots;
  size_t slot_count; /* a power of two */
};

blis_intern *blis_intern_new(const blis_alloc *alloc) {
  blis_intern *table = blis_alloc_zeroed(alloc, 1, sizeof *table);
  if (table == NULL) {
    return NULL;
  }
  table->alloc = *alloc;
  blis_arena_init(&table->texts, alloc);
  table->slots = blis_alloc_zeroed(alloc, FIRST_SLOTS, sizeof *table->slots);
  table->slot_count = table->slots != NULL ? FIRST_SLOTS : 0;
  const entry empty = {.text = ""};
  if (table->slots == NULL || blis_array_push(alloc, &table->entries, empty) != BLIS_OK) {
    blis_intern_free(table);
    return NULL;
  }
  return table;
}

void blis_intern_free(blis_intern *table) {
  if (table == NULL) {
    return;
  }
  blis_alloc alloc = table->alloc;
  blis_arena_deinit(&table->texts);
  blis_array_deinit(&alloc, &table->entries);
  blis_alloc_free(&alloc, table->slots, table->slot_count * sizeof *table->slots);
  blis_alloc_free(&alloc, table, sizeof *table);
}

/* Returns the slot that contains the id of `text`, or the empty slot where it belongs. */
static size_t slot_of(const blis_intern *table, uint64_t hash, const char *text, size_t length) {
  size_t mask = table->slot_count - 1;
  size_t slot = (size_t)hash & mask;
  while (table->slots[slot] != 0) {
    const entry *e = &table->entries.items[table->slots[slot]];
    if (e->hash == hash && e->length == length && memcmp(e->text, text, length) == 0) {
      break;
    }
    slot = (slot + 1) & mask;
  }
  return slot;
}

static blis_status grow_slots(blis_intern *table) {
  size_t count = table->slot_count * 2;
  uint32_t *slots = blis_alloc_zeroed(&table->alloc, count, sizeof *slots);
  if (slots == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (uint32_t id = 1; id < table->entries.count; id++) {
    size_t slot = (size_t)table->entries.items[id].hash & (count - 1);
    while (slots[slot] != 0) {
      slot = (slot + 1) & (count - 1);
    }
    slots[slot] = id;
  }
  blis_alloc_free(&table->alloc, table->slots, table->slot_count * sizeof *table->slots);
  table->slots = slots;
  table->slot_count = count;
  return BLIS_OK;
}

static blis_status add_new(blis_intern *table, const entry *added, uint32_t *id) {
  size_t count = table->entries.count;
  if (count >= BLIS_INTERN_NONE) {
    return BLIS_ERR_NOMEM;
  }
  if (count * 2 > table->slot_count) {
    BLIS_TRY(grow_slots(table));
  }
  BLIS_TRY(blis_array_reserve(&table->alloc, &table->entries, count + 1));
  entry stored = *added;
  stored.text = blis_arena_text(&table->texts, added->text, added->length);
  if (stored.text == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *id = (uint32_t)count;
  table->slots[slot_of(table, stored.hash, stored.text, stored.length)] = *id;
  table->entries.items[table->entries.count++] = stored;
  return BLIS_OK;
}

blis_status blis_intern_add(blis_intern *table, const char *text, size_t length, uint32_t *id) {
  if (length == 0) {
    *id = 0;
    return BLIS_OK;
  }
  uint64_t hash = blis_hash64(text, length, 0);
  uint32_t known = table->slots[slot_of(table, hash, text, length)];
  if (known != 0) {
    *id = known;
    return BLIS_OK;
  }
  const entry added = {.text = text, .length = length, .hash = hash};
  return add_new(table, &added, id);
}

uint32_t blis_intern_find(const blis_intern *table, const char *text, size_t length) {
  if (length == 0) {
    return 0;
  }
  uint64_t hash = blis_hash64(text, length, 0);
  uint32_t id = table->slots[slot_of(table, hash, text, length)];
  return id != 0 ? id : BLIS_INTERN_NONE;
}

const char *blis_intern_text(const blis_intern *table, uint32_t id) {
  BLIS_ASSERT(id < table->entries.count);
  return table->entries.items[id].text;
}

size_t blis_intern_length(const blis_intern *table, uint32_t id) {
  BLIS_ASSERT(id < table->entries.count);
  return table->entries.items[id].length;
}

uint32_t blis_intern_count(const blis_intern *table) {
  return (uint32_t)table->entries.count;
}
