#include "base/containers/block_chain.h"

/* Identities ascend, so a binary search finds the end of a run. */
uint32_t blis_block_chain_run(const blis_block_chain *chain, uint32_t k, uint32_t limit) {
  if (k >= chain->shared_count) {
    return limit;
  }
  uint32_t left = chain->shared_count - k;
  const blis_block_id *ids = chain->shared + k;
  uint32_t end = left < limit ? left : limit;
  if (ids[end - 1] - ids[0] == end - 1) {
    return end;
  }
  uint32_t low = 1;
  while (end - low > 1) {
    uint32_t middle = low + (end - low) / 2;
    if (ids[middle - 1] - ids[0] == middle - 1) {
      low = middle;
    } else {
      end = middle;
    }
  }
  return low;
}
