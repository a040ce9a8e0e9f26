#include "policy/memory/recent_values.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"

/* Returns the number of smaller values. */
static uint32_t rank_of(const blis__recent_values *values, double value) {
  uint32_t low = 0;
  uint32_t high = values->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (values->by_size[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void take_out(blis__recent_values *values, double value) {
  uint32_t rank = rank_of(values, value);
  BLIS_ASSERT(rank < values->count && values->by_size[rank] == value);
  values->count--;
  memmove(values->by_size + rank, values->by_size + rank + 1,
          (values->count - rank) * sizeof *values->by_size);
}

void blis__recent_values_add(blis__recent_values *values, uint32_t limit, double value) {
  BLIS_ASSERT(limit > 0 && limit <= BLIS__RECENT_VALUES_MAX && !isnan(value));
  if (values->count == limit) {
    take_out(values, values->in_order[values->next]);
  }
  uint32_t rank = rank_of(values, value);
  memmove(values->by_size + rank + 1, values->by_size + rank,
          (values->count - rank) * sizeof *values->by_size);
  values->by_size[rank] = value;
  values->count++;
  values->in_order[values->next] = value;
  values->next = (values->next + 1) % limit;
  BLIS_ASSERT(values->count == limit || values->next == values->count % limit);
}

double blis__recent_values_median(const blis__recent_values *values) {
  uint32_t upper = values->count / 2;
  return values->count % 2 != 0 ? values->by_size[upper]
                                : (values->by_size[upper - 1] + values->by_size[upper]) / 2;
}

double blis__recent_values_at(const blis__recent_values *values, double share) {
  return values->by_size[(uint32_t)round(share * (values->count - 1.0))];
}
