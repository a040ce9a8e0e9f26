/*
 * hash.h - XXH3 (xxHash 0.8) of bytes, and XXH64, for results that another system defines as XXH64.
 * The results are the same on every machine.
 */
#ifndef BLIS_BASE_HASH_H
#define BLIS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct blis_hash128_value {
  uint64_t low;
  uint64_t high;
} blis_hash128_value;

/* Returns the 64-bit XXH3 with a seed (0 = none). data may be NULL if size is 0. */
uint64_t blis_hash64(const void *data, size_t size, uint64_t seed);

/* Returns the 128-bit XXH3 with a seed (0 = none). */
blis_hash128_value blis_hash128(const void *data, size_t size, uint64_t seed);

/* A piece of the hashed bytes; data may be NULL if size is 0. */
typedef struct blis_hash_part {
  const void *data;
  size_t size;
} blis_hash_part;

/* Returns XXH64, seed 0, of the concatenated pieces. */
uint64_t blis_xxh64(const blis_hash_part *parts, size_t count);

#endif
