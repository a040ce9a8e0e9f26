/*
 * array.h - a growable array of any type.
 *
 *   typedef BLIS_ARRAY(int64_t) times;
 *   times arrivals = {0};
 *   BLIS_TRY(blis_array_push(&alloc, &arrivals, now_us));
 *   blis_array_deinit(&alloc, &arrivals);
 *
 * Capacity doubles, so a push is O(1) on average. If memory is exhausted, the array is unchanged.
 * Read and write items[0 .. count) directly.
 */
#ifndef BLIS_BASE_ARRAY_H
#define BLIS_BASE_ARRAY_H

#include <stddef.h>

#include "base/alloc.h"
#include "base/error.h"

#define BLIS_ARRAY(type)                                                                           \
  struct {                                                                                         \
    type *items;                                                                                   \
    size_t count;                                                                                  \
    size_t capacity;                                                                               \
  }

/* Reserves capacity for needed items in total. BLIS_OK or BLIS_ERR_NOMEM. */
#define blis_array_reserve(alloc, array, needed)                                                   \
  ((size_t)(needed) <= (array)->capacity                                                           \
       ? BLIS_OK                                                                                   \
       : blis__array_grow((alloc), (array), (size_t)(needed), sizeof *(array)->items))

/* Appends a copy of value. BLIS_OK or BLIS_ERR_NOMEM. */
#define blis_array_push(alloc, array, value)                                                       \
  (blis_array_reserve((alloc), (array), (array)->count + 1) == BLIS_OK                             \
       ? ((array)->items[(array)->count++] = (value), BLIS_OK)                                     \
       : BLIS_ERR_NOMEM)

/* Frees the items. The array is then empty and can be used again. */
#define blis_array_deinit(alloc, array)                                                            \
  (blis_alloc_free((alloc), (array)->items, (array)->capacity * sizeof *(array)->items),           \
   (array)->items = NULL, (array)->count = 0, (array)->capacity = 0)

/* For the macros only: array points to a BLIS_ARRAY of item_size items. */
blis_status blis__array_grow(const blis_alloc *alloc, void *array, size_t needed, size_t item_size);

#endif
