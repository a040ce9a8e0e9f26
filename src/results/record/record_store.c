#include "results/record/record_store.h"

#include "base/inline.h"
#include "base/invariant.h"

/* Apply a macro to the words or labels of the table. */
#define WORDS(XX)                                                                                  \
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, BLIS_NO_FIELD, XX, BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD)
#define LABELS(XX)                                                                                 \
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD, XX, BLIS_NO_FIELD)

/* Columns. */

void blis__column_deinit(blis__column *column, const blis_alloc *alloc) {
  blis_array_deinit(alloc, &column->narrow);
  blis_array_deinit(alloc, &column->wide);
}

static blis_status widen(blis__column *column, const blis_alloc *alloc) {
  size_t count = column->narrow.count;
  BLIS_TRY(blis_array_reserve(alloc, &column->wide, count + 1));
  for (size_t i = 0; i < count; i++) {
    column->wide.items[column->wide.count++] = (int64_t)column->narrow.items[i] - 1;
  }
  blis_array_deinit(alloc, &column->narrow);
  return BLIS_OK;
}

#define PUT(array, index, none, value)                                                             \
  do {                                                                                             \
    BLIS_TRY(blis_array_reserve(alloc, array, (index) + 1));                                       \
    while ((array)->count < (index)) {                                                             \
      (array)->items[(array)->count++] = (none);                                                   \
    }                                                                                              \
    (array)->items[(array)->count++] = (value);                                                    \
  } while (0)

blis_status blis__column_put(blis__column *column, const blis_alloc *alloc, size_t index,
                             int64_t value) {
  BLIS_ASSERT(value >= -1 && index >= column->narrow.count && index >= column->wide.count);
  if (column->wide.count == 0 && value < UINT32_MAX) {
    PUT(&column->narrow, index, 0, (uint32_t)(value + 1));
    return BLIS_OK;
  }
  if (column->narrow.count > 0) {
    BLIS_TRY(widen(column, alloc));
  }
  PUT(&column->wide, index, -1, value);
  return BLIS_OK;
}

/* The store. */

void blis__record_store_init(blis__record_store *store, const blis_alloc *alloc) {
  *store = (blis__record_store){.alloc = *alloc};
  blis_map_init(&store->origin_paths, alloc);
}

void blis__record_store_deinit(blis__record_store *store) {
  blis_array_deinit(&store->alloc, &store->records);
  blis_array_deinit(&store->alloc, &store->longs);
  for (int i = 0; i < BLIS_EXTRA_COUNT; i++) {
    blis__column_deinit(&store->extras[i], &store->alloc);
  }
  blis_array_deinit(&store->alloc, &store->origins);
  blis_map_deinit(&store->origin_paths);
}

static bool is_from(const blis__origin *origin, const blis_record *record) {
#define LABEL(name, ...) &&origin->name == record->name
  return true LABELS(LABEL);
#undef LABEL
}

/* Finds or adds the labels of a record. Consecutive requests usually have equal labels. */
static blis_status find_origin(blis__record_store *store, const blis_record *record,
                               uint32_t *place) {
  size_t count = store->records.count;
  uint32_t last = count == 0 ? 0 : store->records.items[count - 1].origin;
  *place = last;
  if (last < store->origins.count && is_from(&store->origins.items[last], record)) {
    return BLIS_OK;
  }
#define LABEL(name, ...) record->name,
  const uint32_t labels[] = {LABELS(LABEL)};
  const blis__origin origin = {LABELS(LABEL)};
#undef LABEL
  const size_t label_count = sizeof labels / sizeof *labels;
  uint32_t node = 0;
  bool is_new = false;
  for (size_t i = 0; i < label_count; i++) {
    uint64_t *next;
    bool is_last = i + 1 == label_count;
    uint64_t fresh = is_last ? store->origins.count : store->node_count + 1;
    BLIS_TRY(blis_map_add(&store->origin_paths, (uint64_t)node << 32 | labels[i], fresh, &next,
                          &is_new));
    store->node_count += is_new && !is_last;
    node = (uint32_t)*next;
  }
  *place = node;
  return is_new ? blis_array_push(&store->alloc, &store->origins, origin) : BLIS_OK;
}

static BLIS_NOT_INLINE blis_status put_long(blis__record_store *store, const blis_record *record,
                                            blis__short_record *kept) {
#define WORD(type, name, ...) .name = record->name,
  blis__long_record all = {WORDS(WORD)};
#undef WORD
  all.end_us -= record->arrival_us;
  if (store->longs.count >= UINT32_MAX) {
    return BLIS_ERR_NOMEM;
  }
  kept->is_long = true;
  kept->number = (uint32_t)store->longs.count;
  return blis_array_push(&store->alloc, &store->longs, all);
}

/* Stores the words of a record. A word is a value from -1 to UINT32_MAX - 1, increased by 1. */
static blis_status put_words(blis__record_store *store, const blis_record *record,
                             blis__short_record *kept) {
#define WORD(type, name, ...) uint64_t name = (uint64_t)record->name + 1;
  WORDS(WORD)
#undef WORD
  end_us -= (uint64_t)record->arrival_us;
  uint64_t bits = 0;
#define WORD(type, name, ...)                                                                      \
  kept->name = (uint32_t)name;                                                                     \
  bits |= name;
  WORDS(WORD)
#undef WORD
  return bits <= UINT32_MAX ? BLIS_OK : put_long(store, record, kept);
}

blis_status blis__record_store_add(blis__record_store *store, const blis_record *record) {
#define COPY(size, name, ...) .name = record->name,
  blis__short_record kept = {
      BLIS_RECORD_FIELDS(BLIS_NO_FIELD, COPY, BLIS_NO_FIELD, COPY, BLIS_NO_FIELD, BLIS_NO_FIELD)};
#undef COPY
  BLIS_TRY(find_origin(store, record, &kept.origin));
  BLIS_TRY(put_words(store, record, &kept));
  return blis_array_push(&store->alloc, &store->records, kept);
}

blis_record blis__record_store_get(const blis__record_store *store, size_t index) {
  BLIS_ASSERT(index < store->records.count);
  const blis__short_record *kept = &store->records.items[index];
  const blis__origin *origin = &store->origins.items[kept->origin];
  blis_record record = {
#define WIDE(type, name, ...) .name = kept->name,
#define WORD(type, name, ...) .name = (type)BLIS__WORD(store, kept, name),
#define BITS(bits, name, ...) .name = kept->name,
#define LABEL(name, ...) .name = origin->name,
      BLIS_RECORD_FIELDS(BLIS_NO_FIELD, WIDE, WORD, BITS, LABEL, BLIS_NO_FIELD)
#undef WIDE
#undef WORD
#undef BITS
#undef LABEL
  };
  record.end_us += kept->arrival_us;
  return record;
}
