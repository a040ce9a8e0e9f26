/* hash.h against known sums of XXH3 and against its own definition. */
#include "base/hash.h"

#include <math.h>

#include "base/random.h"
#include "check.h"

static void sums_are_those_of_xxh3(void) {
  CHECK(blis_hash64(NULL, 0, 0) == UINT64_C(0x2d06800538d394c2));
  CHECK(blis_hash64("", 0, 0) == UINT64_C(0x2d06800538d394c2));
  blis_hash128_value empty = blis_hash128(NULL, 0, 0);
  CHECK(empty.low == UINT64_C(0x6001c324468d497f));
  CHECK(empty.high == UINT64_C(0x99aa06d3014798d8));
  CHECK(blis_hash64("a", 1, 0) != blis_hash64("a", 1, 1));
}

static void sums_are_those_of_xxh64(void) {
  CHECK(blis_xxh64(NULL, 0) == UINT64_C(0xef46db3751d8e999));
  const blis_hash_part whole = {"abcdefghijklmnopqrstuvwxyz0123456789", 36};
  const blis_hash_part parts[] = {
      {"abcdefghijk", 11}, {NULL, 0}, {"lmnopqrstuvwxyz0123456789", 25}};
  CHECK(blis_xxh64(parts, 3) == blis_xxh64(&whole, 1));
  const blis_hash_part model = {"m", 1};
  CHECK(blis_xxh64(&model, 1) == UINT64_C(0xba2e567083a2b2e8));
}

/* Encodes by hand what the hasher is given, value by value. */
typedef struct encoding {
  unsigned char bytes[1 << 16];
  size_t size;
} encoding;

static void encode(encoding *e, uint64_t value) {
  for (int i = 0; i < 8; i++) {
    e->bytes[e->size++] = (unsigned char)(value >> 8 * i);
  }
}

static void add_value(blis_hasher *hasher, encoding *e, blis_random *random) {
  static char text[1000];
  uint64_t bits = blis_random_uint64(random);
  double real = blis_random_normal(random);
  size_t length = (size_t)blis_random_intn(random, sizeof text);
  switch (blis_random_intn(random, 8)) {
  case 0:
    length = length % 40;
    /* fall through */
  case 1:
    memset(text, (int)(bits % 256), length);
    blis_hasher_text(hasher, text, length);
    encode(e, length);
    memcpy(e->bytes + e->size, text, length);
    e->size += length;
    break;
  case 2:
    blis_hasher_double(hasher, real);
    memcpy(&bits, &real, sizeof bits);
    encode(e, bits);
    break;
  case 3:
    blis_hasher_int64(hasher, -(int64_t)(bits >> 1));
    encode(e, ~(bits >> 1) + 1);
    break;
  default:
    blis_hasher_uint64(hasher, bits);
    encode(e, bits);
  }
}

static void a_stream_has_the_sum_of_its_encoding(void) {
  static encoding e;
  blis_alloc alloc = blis_alloc_heap();
  blis_hasher *hasher = blis_hasher_new(&alloc);
  blis_hasher *copy = blis_hasher_new(&alloc);
  CHECK(hasher != NULL && copy != NULL);
  blis_random random;
  blis_random_init(&random, 3);
  for (int round = 0; round < 20; round++) {
    blis_hasher_reset(hasher);
    e.size = 0;
    CHECK(blis_hasher_digest(hasher) == blis_hash64(NULL, 0, 0));
    while (e.size < sizeof e.bytes - 2000) {
      add_value(hasher, &e, &random);
      CHECK(blis_hasher_digest(hasher) == blis_hash64(e.bytes, e.size, 0));
    }
    blis_hasher_copy(copy, hasher);
    blis_hasher_uint64(copy, 1);
    CHECK(blis_hasher_digest(copy) != blis_hasher_digest(hasher));
    blis_hasher_uint64(hasher, 1);
    CHECK(blis_hasher_digest(copy) == blis_hasher_digest(hasher));
  }
  blis_hasher_free(copy);
  blis_hasher_free(hasher);
}

static void every_nan_is_the_same(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_hasher *hasher = blis_hasher_new(&alloc);
  blis_hasher_double(hasher, (double)NAN);
  uint64_t sum = blis_hasher_digest(hasher);
  blis_hasher_reset(hasher);
  blis_hasher_double(hasher, -(double)NAN);
  CHECK(blis_hasher_digest(hasher) == sum);
  blis_hasher_free(hasher);
}

static void no_memory_is_reported(void) {
  blis_alloc_probe memory = {.fail_at = 1};
  blis_alloc alloc = blis_alloc_probed(&memory);
  CHECK(blis_hasher_new(&alloc) == NULL);
  blis_hasher_free(NULL);
  blis_hasher_free(blis_hasher_new(&alloc));
  CHECK(memory.live_bytes == 0);
}

int main(void) {
  RUN(sums_are_those_of_xxh3);
  RUN(sums_are_those_of_xxh64);
  RUN(a_stream_has_the_sum_of_its_encoding);
  RUN(every_nan_is_the_same);
  RUN(no_memory_is_reported);
  return check_done();
}
