#include "results/slowest.h"

#include <string.h>

static int64_t e2e_us(const blis_recorder *recorder, size_t index) {
  return blis_recorder_record(recorder, index).e2e_us;
}

/* Where a time belongs among count of them, behind its equals. */
static size_t place_of(const blis_recorder *recorder, const size_t *indices, size_t count,
                       int64_t time_us) {
  size_t low = 0;
  while (low < count) {
    size_t middle = (low + count) / 2;
    if (e2e_us(recorder, indices[middle]) >= time_us) {
      low = middle + 1;
    } else {
      count = middle;
    }
  }
  return low;
}

size_t blis_recorder_slowest(const blis_recorder *recorder, size_t *indices, size_t wanted) {
  size_t count = 0;
  int64_t least_us = -1; /* of those found, once there are enough */
  for (size_t i = 0; i < blis_recorder_count(recorder) && wanted > 0; i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    if (!blis_record_is_completed(&record) || (count == wanted && record.e2e_us <= least_us)) {
      continue;
    }
    size_t at = place_of(recorder, indices, count, record.e2e_us);
    count += count < wanted;
    memmove(&indices[at + 1], &indices[at], (count - 1 - at) * sizeof *indices);
    indices[at] = i;
    least_us = e2e_us(recorder, indices[count - 1]);
  }
  return count;
}
