/*
 * hash.h - XXH3 (xxHash 0.8) of bytes, and XXH64 where another system defines
 * its results by it. The results are the same on every machine.
 */
#ifndef BLIS_BASE_HASH_H
#define BLIS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct blis_hash128_value {
  uint64_t low;
  uint64_t high;
} blis_hash128_value;

/* XXH3, 64 bits, with a seed (0 = none). data may be NULL when size is 0. */
uint64_t blis_hash64(const void *data, size_t size, uint64_t seed);

/* XXH3, 128 bits, with a seed (0 = none). */
blis_hash128_value blis_hash128(const void *data, size_t size, uint64_t seed);

/* A piece of what is hashed; data may be NULL when size is 0. */
typedef struct blis_hash_part {
  const void *data;
  size_t size;
} blis_hash_part;

/* Returns XXH64, seed 0, of the concatenated pieces. */
uint64_t blis_xxh64(const blis_hash_part *parts, size_t count);

#endif
