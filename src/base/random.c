#include "base/random.h"

#include <math.h>
#include <string.h>

#include "base/inline.h"
#include "base/invariant.h"
#include "base/random_tables.h"
#include "base/random_tables.inc"

enum { WORDS = BLIS_RANDOM_WORDS, LAG = BLIS_RANDOM_LAG };

#if defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 4")
#else
#define UNROLL
#endif
#if defined(__GNUC__) && defined(__x86_64__)
#define HAS_WIDE_VECTORS
#endif

#define LEHMER_MODULUS UINT64_C(0x7fffffff)
#define LEHMER_FACTOR UINT64_C(48271)

uint64_t blis_fnv1a64_add(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *byte = bytes;
  for (size_t i = 0; i < size; i++) {
    hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
  }
  return hash;
}

uint64_t blis_fnv1a64(const char *name) {
  return blis_fnv1a64_add(UINT64_C(0xcbf29ce484222325), name, strlen(name));
}

int64_t blis_random_stream_seed(int64_t master_seed, const char *name) {
  if (strcmp(name, "workload") == 0) {
    return master_seed;
  }
  uint64_t seed = (uint64_t)master_seed ^ blis_fnv1a64(name);
  int64_t result;
  memcpy(&result, &seed, sizeof result);
  return result;
}

/* a * b mod 2^31 - 1 for a and b below the modulus. The result is never 0 if a and b are not 0. */
static uint64_t lehmer(uint64_t a, uint64_t b) {
  uint64_t product = a * b;
  uint64_t folded = (product & LEHMER_MODULUS) + (product >> 31);
  return folded >= LEHMER_MODULUS ? folded - LEHMER_MODULUS : folded;
}

static uint64_t lehmer_start(int64_t seed) {
  int64_t start = seed % (int64_t)LEHMER_MODULUS;
  if (start < 0) {
    start += (int64_t)LEHMER_MODULUS;
  }
  uint64_t x = start == 0 ? 89482311 : (uint64_t)start;
  for (int i = 0; i < 20; i++) {
    x = lehmer(x, LEHMER_FACTOR);
  }
  return x;
}

/*
 * Each slot needs three Lehmer steps. Three independent chains, each of which advances three steps
 * at once, compute the same numbers in parallel.
 */
static void fill_words(blis_random *random, int64_t seed) {
  uint64_t square = lehmer(LEHMER_FACTOR, LEHMER_FACTOR);
  uint64_t cube = lehmer(square, LEHMER_FACTOR);
  uint64_t x1 = lehmer(lehmer_start(seed), LEHMER_FACTOR);
  uint64_t x2 = lehmer(x1, LEHMER_FACTOR);
  uint64_t x3 = lehmer(x2, LEHMER_FACTOR);
  for (int slot = 0; slot < WORDS; slot++) {
    uint64_t word = (x1 << 40) ^ (x2 << 20) ^ x3 ^ blis__random_cooked[slot];
    /* In the original, slots count down from 333 and wrap around. */
    random->words[(333 - slot + WORDS) % WORDS] = word;
    x1 = lehmer(x1, cube);
    x2 = lehmer(x2, cube);
    x3 = lehmer(x3, cube);
  }
}

/* Many streams are never used, so the words are computed at the first sample. */
void blis_random_init(blis_random *random, int64_t seed) {
  memcpy(random->words, &seed, sizeof seed);
  random->next = WORDS;
  random->accepted_below = 0;
  random->is_seeded = false;
}

static void ensure_seeded(blis_random *random) {
  if (!random->is_seeded) {
    int64_t seed;
    memcpy(&seed, random->words, sizeof seed);
    fill_words(random, seed);
    random->is_seeded = true;
  }
}

void blis_random_init_named(blis_random *random, int64_t master_seed, const char *name) {
  blis_random_init(random, blis_random_stream_seed(master_seed, name));
}

/* Returns the 31 bits that intn uses. */
static inline int32_t int31_of(uint64_t word) {
  return (int32_t)((word >> 32) & INT32_MAX);
}

/*
 * Computes the next batch. Returns how many of its 31-bit samples are at most largest. Inline, so
 * that the compiler vectorizes it for the instruction set of its caller.
 */
static BLIS_ALWAYS_INLINE uint32_t make_batch(uint64_t *words, int32_t largest) {
  uint32_t accepted = 0;
  UNROLL
  for (int i = 0; i < LAG; i++) {
    words[i] += words[i + WORDS - LAG];
    accepted += int31_of(words[i]) <= largest;
  }
  UNROLL
  for (int i = LAG; i < WORDS; i++) {
    words[i] += words[i - LAG];
    accepted += int31_of(words[i]) <= largest;
  }
  return accepted;
}

#ifdef HAS_WIDE_VECTORS
__attribute__((target("avx2"))) static uint32_t make_wide_batch(uint64_t *words, int32_t largest) {
  return make_batch(words, largest);
}
#endif

static uint32_t make_counted_batch(uint64_t *words, int32_t largest) {
#ifdef HAS_WIDE_VECTORS
  if (__builtin_cpu_supports("avx2")) {
    return make_wide_batch(words, largest);
  }
#endif
  return make_batch(words, largest);
}

void blis__random_refill(blis_random *random) {
  ensure_seeded(random);
  (void)make_batch(random->words, 0);
  random->next = 0;
  random->accepted_below = 0;
}

/*
 * Returns the largest 31-bit sample that intn(n) accepts: larger samples belong to the last,
 * incomplete run of n values and would favor small results.
 */
static int32_t largest_accepted(int32_t n) {
  BLIS_ASSERT(n > 0);
  uint32_t excess = (UINT32_C(1) << 31) % (uint32_t)n;
  return (int32_t)(INT32_MAX - excess);
}

static int32_t draw_below(blis_random *random, int32_t n, int32_t largest) {
  int32_t value;
  do {
    value = blis_random_int31(random);
  } while (value > largest);
  return value % n;
}

int32_t blis_random_intn(blis_random *random, int32_t n) {
  return draw_below(random, n, largest_accepted(n));
}

void blis_random_fill_intn(blis_random *random, int32_t n, int32_t *values, size_t count) {
  int32_t largest = largest_accepted(n);
  for (size_t i = 0; i < count; i++) {
    values[i] = draw_below(random, n, largest);
  }
}

/*
 * Returns how many of count outputs are accepted. It has no branches, so that the compiler can
 * vectorize it.
 */
static uint32_t count_accepted(const uint64_t *words, uint32_t count, int32_t largest) {
  uint32_t accepted = 0;
  for (uint32_t i = 0; i < count; i++) {
    accepted += int31_of(words[i]) <= largest;
  }
  return accepted;
}

/* Refills the batch and records whether intn(n) accepts all outputs, which is usual. */
static void refill_for(blis_random *random, int32_t n, int32_t largest) {
  ensure_seeded(random);
  uint32_t accepted = make_counted_batch(random->words, largest);
  random->next = 0;
  random->accepted_below = accepted == WORDS ? n : 0;
}

void blis_random_skip_intn(blis_random *random, int32_t n, uint64_t count) {
  int32_t largest = largest_accepted(n);
  while (count > 0) {
    if (random->next == WORDS) {
      refill_for(random, n, largest);
    }
    uint32_t run = WORDS - random->next;
    if (run > count) {
      run = (uint32_t)count;
    }
    count -= random->accepted_below == n
                 ? run
                 : count_accepted(random->words + random->next, run, largest);
    random->next += run;
  }
}

double blis_random_float64(blis_random *random) {
  double value;
  do {
    value = (double)blis_random_int63(random) / 0x1p63;
  } while (value == 1.0); /* the largest samples round up to 1 */
  return value;
}

/*
 * Returns whether a point at the given sample of strip i, at a random height between the strip's
 * two densities, is under the curve. All computations use single precision.
 */
static int is_under_curve(blis_random *random, const float *f, uint32_t i, double density) {
  float height = (float)blis_random_float64(random);
  float drop = f[i - 1] - f[i];
  float product = height * drop;
  float level = f[i] + product;
  return level < (float)density;
}

double blis_random_exp(blis_random *random) {
  const double tail = 7.69711747013104972;
  for (;;) {
    uint32_t j = blis_random_uint32(random);
    uint32_t i = j & (BLIS__EXP_STRIPS - 1);
    double x = (double)j * (double)blis__exp_w[i];
    if (j < blis__exp_k[i]) {
      return x;
    }
    if (i == 0) {
      return tail - log(blis_random_float64(random));
    }
    if (is_under_curve(random, blis__exp_f, i, exp(-x))) {
      return x;
    }
  }
}

/* Samples beyond the last strip, with Marsaglia's method for the tail. */
static double normal_tail(blis_random *random) {
  const double tail = 3.442619855899;
  const double inverse = 0.29047645161474317; /* the double nearest 1 / tail */
  for (;;) {
    double x = -log(blis_random_float64(random)) * inverse;
    double y = -log(blis_random_float64(random));
    if (y + y >= x * x) {
      return tail + x;
    }
  }
}

double blis_random_normal(blis_random *random) {
  for (;;) {
    uint32_t bits = blis_random_uint32(random);
    int64_t j = (int64_t)bits - ((int64_t)(bits >> 31) << 32);
    uint32_t i = bits & (BLIS__NORMAL_STRIPS - 1);
    double x = (double)j * (double)blis__normal_w[i];
    if ((uint32_t)(j < 0 ? -j : j) < blis__normal_k[i]) {
      return x;
    }
    if (i == 0) {
      double value = normal_tail(random);
      return j > 0 ? value : -value;
    }
    if (is_under_curve(random, blis__normal_f, i, exp(-0.5 * x * x))) {
      return x;
    }
  }
}

/* Returns a uniform sample in [0, m) by multiply and shift (Lemire 2019), for shuffles. */
static uint32_t draw_bounded(blis_random *random, uint32_t m) {
  uint64_t product = (uint64_t)blis_random_uint32(random) * m;
  if ((uint32_t)product < m) {
    uint32_t threshold = (uint32_t)-m % m;
    while ((uint32_t)product < threshold) {
      product = (uint64_t)blis_random_uint32(random) * m;
    }
  }
  return (uint32_t)(product >> 32);
}

static void swap_bytes(unsigned char *a, unsigned char *b, size_t size) {
  for (size_t i = 0; i < size; i++) {
    unsigned char byte = a[i];
    a[i] = b[i];
    b[i] = byte;
  }
}

void blis_random_shuffle(blis_random *random, void *items, size_t count, size_t item_size) {
  BLIS_ASSERT(count <= INT32_MAX);
  unsigned char *bytes = items;
  for (size_t i = count; i > 1; i--) {
    size_t j = draw_bounded(random, (uint32_t)i);
    swap_bytes(bytes + (i - 1) * item_size, bytes + j * item_size, item_size);
  }
}
