/*
 * hash.h - XXH3 (xxHash 0.8) of bytes and of streams of values, and XXH64 where
 * another system defines its results by it.
 *
 * The results are part of what a run prints, so they are the same on every
 * machine: values enter a stream in little-endian order whatever the machine's
 * own is.
 */
#ifndef BLIS_BASE_HASH_H
#define BLIS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

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

/* XXH64, seed 0, of the pieces one after the other. */
uint64_t blis_xxh64(const blis_hash_part *parts, size_t count);

/*
 * A stream of values with the XXH3 of its encoding:
 *   integer   8 bytes, two's complement, little-endian
 *   double    its IEEE 754 bits as an integer; every NaN is the same one
 *   text      its length as an integer, then its bytes
 * It needs 1 KB and costs a few ns per value.
 */
typedef struct blis_hasher blis_hasher;

/* An empty stream; the caller owns it. Copies *alloc. NULL = out of memory. */
blis_hasher *blis_hasher_new(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_hasher_free(blis_hasher *hasher);

/* Empties the stream. */
void blis_hasher_reset(blis_hasher *hasher);

/* Makes *to the same stream as *from. */
void blis_hasher_copy(blis_hasher *to, const blis_hasher *from);

void blis_hasher_int64(blis_hasher *hasher, int64_t value);
void blis_hasher_uint64(blis_hasher *hasher, uint64_t value);
void blis_hasher_double(blis_hasher *hasher, double value);
void blis_hasher_text(blis_hasher *hasher, const char *text, size_t length);

/* XXH3, 64 bits, of what was added so far; the stream goes on. */
uint64_t blis_hasher_digest(const blis_hasher *hasher);

#endif
