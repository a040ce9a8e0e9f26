/*
 * random.h - seeded streams of random numbers, equal to Go's math/rand (v1).
 *
 * The generator is the additive lagged Fibonacci generator of Mitchell and Moore: s[n] = s[n - 607]
 * + s[n - 273] mod 2^64. Seeding and sampling follow math/rand for an explicit source, so equal
 * seeds produce equal numbers in both. The normal and exponential samples use the ziggurat of
 * Marsaglia and Tsang (2000).
 *
 * A stream is 5 KB, is stored by the caller, and contains no pointer, so it may be copied. Seeding
 * costs about 2 us at the first sample, a sample about 1 ns.
 *
 * Integers, uniform doubles, and shuffles are the same on every machine. The rare tails and wedges
 * of the ziggurats call exp and log of the C library, which may differ in the last bit between
 * libraries.
 */
#ifndef BLIS_BASE_RANDOM_H
#define BLIS_BASE_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BLIS_RANDOM_WORDS = 607, BLIS_RANDOM_LAG = 273 };

/* Private; public only so that it can be embedded and sampled inline. */
typedef struct blis_random {
  uint64_t words[BLIS_RANDOM_WORDS]; /* a batch of outputs, in order */
  uint32_t next;                     /* first unused output */
  int32_t accepted_below;            /* intn with this n accepts every output; 0: unknown */
  bool is_seeded;                    /* otherwise words[0] is the seed */
} blis_random;

/* FNV-1a, 64 bits, of the bytes of name. */
uint64_t blis_fnv1a64(const char *name);

/* Continues a hash with more bytes. */
uint64_t blis_fnv1a64_add(uint64_t hash, const void *bytes, size_t size);

/*
 * Returns the seed of the stream with this name: master_seed XOR fnv1a64(name). The stream
 * "workload" uses master_seed itself.
 */
int64_t blis_random_stream_seed(int64_t master_seed, const char *name);

/* Starts the stream of a seed; every seed is allowed. */
void blis_random_init(blis_random *random, int64_t seed);

/* Starts the stream with this name under a master seed. */
void blis_random_init_named(blis_random *random, int64_t master_seed, const char *name);

/* Replaces the used-up batch with the next 607 outputs. */
void blis__random_refill(blis_random *random);

/* 64 random bits. */
static inline uint64_t blis_random_uint64(blis_random *random) {
  if (random->next == BLIS_RANDOM_WORDS) {
    blis__random_refill(random);
  }
  return random->words[random->next++];
}

/* Uniform in [0, 2^63). */
static inline int64_t blis_random_int63(blis_random *random) {
  return (int64_t)(blis_random_uint64(random) & INT64_MAX);
}

/* Uniform in [0, 2^32). */
static inline uint32_t blis_random_uint32(blis_random *random) {
  return (uint32_t)(blis_random_int63(random) >> 31);
}

/* Uniform in [0, 2^31). */
static inline int32_t blis_random_int31(blis_random *random) {
  return (int32_t)(blis_random_int63(random) >> 32);
}

/* Uniform in [0, n), n > 0; may use more than one output. */
int32_t blis_random_intn(blis_random *random, int32_t n);

/* Stores count results of intn(n) in values. */
void blis_random_fill_intn(blis_random *random, int32_t n, int32_t *values, size_t count);

/*
 * Advances the stream like count calls of intn(n), ten times faster. Every output must be computed
 * and checked, because intn may reject it. This takes 0.2 ns per output, in batches of 607 outputs.
 */
void blis_random_skip_intn(blis_random *random, int32_t n, uint64_t count);

/* Uniform in [0, 1). */
double blis_random_float64(blis_random *random);

/* Exponential with mean 1. */
double blis_random_exp(blis_random *random);

/* Normal with mean 0 and standard deviation 1. */
double blis_random_normal(blis_random *random);

/* Shuffles count items of item_size bytes in place; count <= INT32_MAX. */
void blis_random_shuffle(blis_random *random, void *items, size_t count, size_t item_size);

#endif
