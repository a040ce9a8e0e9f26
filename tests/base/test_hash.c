/* hash.h against known sums of XXH3 and XXH64. */
#include "base/hash.h"

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

int main(void) {
  RUN(sums_are_those_of_xxh3);
  RUN(sums_are_those_of_xxh64);
  return check_done();
}
