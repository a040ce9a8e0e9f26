#include "cluster/units.h"

#include "base/invariant.h"

static void put(const struct blis__units *units, uint32_t first, uint32_t size, uint32_t number) {
  for (uint32_t i = first; i < first + size; i++) {
    units->first[i] = first;
    units->number[i] = number;
    units->size[i] = size;
  }
}

blis_status blis__units_divide(blis_cluster *cluster, const uint32_t *sizes, blis_error *error) {
  uint32_t count = cluster->config.instance_count;
  BLIS_ASSERT(cluster->units == NULL);
  struct blis__units *units = blis_arena_new(&cluster->texts, sizeof *units);
  uint32_t *columns = blis_arena_new(&cluster->texts, 3 * (size_t)count * sizeof *columns);
  BLIS_TRY_NEW(units, error);
  BLIS_TRY_NEW(columns, error);
  *units = (struct blis__units){columns, columns + count, columns + 2 * (size_t)count};
  uint32_t number = 0;
  for (uint32_t first = 0; first < count; number++) {
    uint32_t size = first < cluster->existing ? sizes[first] : 1;
    BLIS_ASSERT(size >= 1 && size <= count - first);
    put(units, first, size, number);
    first += size;
  }
  cluster->units = units;
  return BLIS_OK;
}

void blis__units_join(const blis_cluster *cluster, uint32_t first, uint32_t other) {
  const struct blis__units *units = cluster->units;
  if (units != NULL) {
    BLIS_ASSERT(first > 0 && first >= cluster->existing);
    put(units, first, units->size[other], units->number[first - 1] + 1);
  }
}

uint32_t blis_cluster_unit_of(const blis_cluster *cluster, uint32_t index) {
  return blis__unit_number(cluster, index);
}

uint32_t blis_cluster_place_in_unit(const blis_cluster *cluster, uint32_t index) {
  return index - blis__unit_first(cluster, index);
}
