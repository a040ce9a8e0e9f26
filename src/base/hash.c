#include "base/hash.h"

#include <string.h>

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

/*
 * Values gather in a small buffer, since feeding XXH3 eight bytes at a time
 * costs more than hashing them.
 */
struct blis_hasher {
  XXH3_state_t state; /* first: it wants an alignment of 64 bytes */
  blis_alloc alloc;
  unsigned char *block; /* what the allocator gave; this struct lies in it */
  size_t waiting_bytes;
  unsigned char waiting[256];
};

enum {
  ALIGNMENT = 64,
  BLOCK_SIZE = sizeof(struct blis_hasher) + ALIGNMENT - 1
};

blis_hasher *blis_hasher_new(const blis_alloc *alloc) {
  unsigned char *block = blis_alloc_new(alloc, BLOCK_SIZE);
  if (block == NULL) {
    return NULL;
  }
  size_t past = (uintptr_t)block % ALIGNMENT;
  blis_hasher *hasher = (void *)(block + (past == 0 ? 0 : ALIGNMENT - past));
  memset(hasher, 0, sizeof *hasher);
  hasher->alloc = *alloc;
  hasher->block = block;
  blis_hasher_reset(hasher);
  return hasher;
}

void blis_hasher_free(blis_hasher *hasher) {
  if (hasher != NULL) {
    blis_alloc alloc = hasher->alloc;
    blis_alloc_free(&alloc, hasher->block, BLOCK_SIZE);
  }
}

void blis_hasher_reset(blis_hasher *hasher) {
  XXH3_64bits_reset(&hasher->state);
  hasher->waiting_bytes = 0;
}

void blis_hasher_copy(blis_hasher *to, const blis_hasher *from) {
  XXH3_copyState(&to->state, &from->state);
  memcpy(to->waiting, from->waiting, from->waiting_bytes);
  to->waiting_bytes = from->waiting_bytes;
}

static void flush(blis_hasher *hasher) {
  XXH3_64bits_update(&hasher->state, hasher->waiting, hasher->waiting_bytes);
  hasher->waiting_bytes = 0;
}

void blis_hasher_uint64(blis_hasher *hasher, uint64_t value) {
  if (hasher->waiting_bytes + 8 > sizeof hasher->waiting) {
    flush(hasher);
  }
  unsigned char *bytes = hasher->waiting + hasher->waiting_bytes;
  for (int i = 0; i < 8; i++) {
    bytes[i] = (unsigned char)(value >> 8 * i);
  }
  hasher->waiting_bytes += 8;
}

void blis_hasher_int64(blis_hasher *hasher, int64_t value) {
  blis_hasher_uint64(hasher, (uint64_t)value);
}

void blis_hasher_double(blis_hasher *hasher, double value) {
  uint64_t bits = UINT64_C(0x7ff8000000000000);
  if (value == value) { /* not a NaN */
    memcpy(&bits, &value, sizeof bits);
  }
  blis_hasher_uint64(hasher, bits);
}

void blis_hasher_text(blis_hasher *hasher, const char *text, size_t length) {
  blis_hasher_uint64(hasher, length);
  if (length > sizeof hasher->waiting - hasher->waiting_bytes) {
    flush(hasher);
  }
  if (length > sizeof hasher->waiting) {
    XXH3_64bits_update(&hasher->state, text, length);
  } else if (length > 0) {
    memcpy(hasher->waiting + hasher->waiting_bytes, text, length);
    hasher->waiting_bytes += length;
  }
}

uint64_t blis_hasher_digest(const blis_hasher *hasher) {
  XXH3_state_t state;
  XXH3_copyState(&state, &hasher->state);
  XXH3_64bits_update(&state, hasher->waiting, hasher->waiting_bytes);
  return XXH3_64bits_digest(&state);
}
