#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t blis_hash64(const void *data, size_t size, uint64_t seed) {
  return XXH3_64bits_withSeed(data, size, seed);
}

blis_hash128_value blis_hash128(const void *data, size_t size, uint64_t seed) {
  XXH128_hash_t hash = XXH3_128bits_withSeed(data, size, seed);
  return (blis_hash128_value){.low = hash.low64, .high = hash.high64};
}

uint64_t blis_xxh64(const blis_hash_part *parts, size_t count) {
  XXH64_state_t state;
  XXH64_reset(&state, 0);
  for (size_t i = 0; i < count; i++) {
    XXH64_update(&state, parts[i].data, parts[i].size);
  }
  return XXH64_digest(&state);
}
