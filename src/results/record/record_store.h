/*
 * record_store.h - the records of a run, at most 56 bytes each.
 *
 * Almost all values fit 32 bits. The few records with a larger value are stored in full in another
 * list. Labels are stored once for all records with equal labels. An extra field has a separate
 * column, which exists once a record has set the field.
 */
#ifndef BLIS_RESULTS_RECORD_RECORD_STORE_H
#define BLIS_RESULTS_RECORD_RECORD_STORE_H

#include "base/array.h"
#include "base/containers/map.h"
#include "base/inline.h"
#include "results/record/record.h"

/* The labels of a request: numbers in the workload's string table. */
typedef struct blis__origin {
#define LABEL(name, ...) uint32_t name;
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD, LABEL,
                     BLIS_NO_FIELD)
#undef LABEL
} blis__origin;

/* Words are 1 more than their values, so that -1 fits. end_us is relative to the arrival. If
   is_long is set, number is the index of the record in the list of long records. */
typedef struct blis__short_record {
#define WIDE(type, name, ...) type name;
#define WORD(type, name, ...) uint32_t name;
#define BITS(bits, name, ...) uint32_t name : bits;
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, WIDE, BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD,
                     BLIS_NO_FIELD)
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, BLIS_NO_FIELD, WORD, BLIS_NO_FIELD, BLIS_NO_FIELD,
                     BLIS_NO_FIELD)
  uint32_t origin; /* index of its labels */
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, BLIS_NO_FIELD, BLIS_NO_FIELD, BITS, BLIS_NO_FIELD,
                     BLIS_NO_FIELD)
  uint32_t is_long : 1;
#undef WIDE
#undef WORD
#undef BITS
} blis__short_record;

_Static_assert(sizeof(blis__short_record) <= 56,
               "see record_fields.h: a new field is an extra one");

/* Unchanged values, except end_us, which is relative to the arrival. */
typedef struct blis__long_record {
#define WORD(type, name, ...) int64_t name;
  BLIS_RECORD_FIELDS(BLIS_NO_FIELD, BLIS_NO_FIELD, WORD, BLIS_NO_FIELD, BLIS_NO_FIELD,
                     BLIS_NO_FIELD)
#undef WORD
} blis__long_record;

/*
 * The values of an extra field by record, up to the last record that has set the field. Values are
 * stored in 32 bits, plus 1, until a value does not fit; then all values move to wide. -1 = not
 * set.
 */
typedef struct blis__column {
  BLIS_ARRAY(uint32_t) narrow;
  BLIS_ARRAY(int64_t) wide;
} blis__column;

void blis__column_deinit(blis__column *column, const blis_alloc *alloc);

/* Sets the value >= -1 of record index, which must not be less than the index of the previous
   call. */
BLIS_MUSTUSE blis_status blis__column_put(blis__column *column, const blis_alloc *alloc,
                                          size_t index, int64_t value);

static inline bool blis__column_exists(const blis__column *column) {
  return column->narrow.count > 0 || column->wide.count > 0;
}

/* -1 = not set. */
static inline int64_t blis__column_get(const blis__column *column, size_t index) {
  if (index < column->narrow.count) {
    return (int64_t)column->narrow.items[index] - 1;
  }
  return index < column->wide.count ? column->wide.items[index] : -1;
}

typedef struct blis__record_store {
  blis_alloc alloc;
  BLIS_ARRAY(blis__short_record) records;
  BLIS_ARRAY(blis__long_record) longs;
  blis__column extras[BLIS_EXTRA_COUNT];
  BLIS_ARRAY(blis__origin) origins; /* in order of their first records */
  blis_map origin_paths; /* label by label: (node, label) -> node; the last node is an origin */
  uint32_t node_count;
} blis__record_store;

/* Copies *alloc; allocates nothing yet. */
void blis__record_store_init(blis__record_store *store, const blis_alloc *alloc);
void blis__record_store_deinit(blis__record_store *store);

/* After BLIS_ERR_NOMEM the store can only be read and freed. */
BLIS_MUSTUSE blis_status blis__record_store_add(blis__record_store *store,
                                                const blis_record *record);

/* Sets an extra field of the last record; a negative value sets nothing. After BLIS_ERR_NOMEM
   the store can only be read and freed. */
BLIS_MUSTUSE static BLIS_ALWAYS_INLINE blis_status
blis__record_store_set_extra(blis__record_store *store, blis_record_extra extra, int64_t value) {
  blis__column *column = &store->extras[extra];
  size_t index = store->records.count - 1;
  /* Most values directly follow the value of the previous record. */
  if ((uint64_t)value < UINT32_MAX && index == column->narrow.count &&
      index < column->narrow.capacity) {
    column->narrow.items[column->narrow.count++] = (uint32_t)(value + 1);
    return BLIS_OK;
  }
  return value < 0 ? BLIS_OK : blis__column_put(column, &store->alloc, index, value);
}

/* Returns the record that was added. */
blis_record blis__record_store_get(const blis__record_store *store, size_t index);

/* -1 = not set. */
static inline int64_t blis__record_store_extra(const blis__record_store *store, size_t index,
                                               blis_record_extra extra) {
  return blis__column_get(&store->extras[extra], index);
}

/* The value of a WORD of a record of the store, except end_us. */
#define BLIS__WORD(store, record, name)                                                            \
  ((record)->is_long ? (store)->longs.items[(record)->number].name : (int64_t)(record)->name - 1)

#endif
