#include "base/array.h"

#include <stdint.h>
#include <string.h>

/* The memory layout of every BLIS_ARRAY, for any item type. */
typedef BLIS_ARRAY(void) any_array;

#ifdef BLIS_PARANOID
enum { FIRST_CAPACITY = 1 };
#else
enum { FIRST_CAPACITY = 8 };
#endif

blis_status blis__array_grow(const blis_alloc *alloc, void *array, size_t needed,
                             size_t item_size) {
  any_array grown;
  memcpy(&grown, array, sizeof grown); /* the item type is unknown here */
  size_t capacity = grown.capacity == 0 ? FIRST_CAPACITY : grown.capacity;
  while (capacity < needed) {
    if (capacity > SIZE_MAX / 2) {
      return BLIS_ERR_NOMEM;
    }
    capacity *= 2;
  }
  if (capacity > SIZE_MAX / item_size) {
    return BLIS_ERR_NOMEM;
  }
  void *items = alloc->fn(alloc->ud, grown.items, grown.capacity * item_size, capacity * item_size);
  if (items == NULL) {
    return BLIS_ERR_NOMEM;
  }
  grown.items = items;
  grown.capacity = capacity;
  memcpy(array, &grown, sizeof grown);
  return BLIS_OK;
}
