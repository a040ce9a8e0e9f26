/* The map of map.h against a table indexed by the key. */
#include "base/containers/map.h"

#include "base/random.h"
#include "check.h"

enum { KEYS = 600 };

typedef struct model {
  bool is_there[KEYS];
  uint64_t values[KEYS];
  size_t count;
} model;

/* Small keys, keys that differ in high bits alone, and keys of one home. */
static uint64_t key_of(int index, int family) {
  uint64_t i = (uint64_t)index;
  switch (family) {
  case 0:
    return i;
  case 1:
    return i << 32;
  case 2:
    return i << 54;
  default:
    i *= UINT64_C(0xf1de83e19937733d); /* undoes the hash: home is slot 0 */
    return i ^ i >> 32;
  }
}

static void change_both(blis_map *map, model *m, blis_random *random, int family) {
  int i = blis_random_intn(random, KEYS);
  uint64_t key = key_of(i, family);
  uint64_t value = blis_random_uint64(random);
  switch (blis_random_intn(random, 4)) {
  case 0:
    CHECK(blis_map_put(map, key, value) == BLIS_OK);
    m->count += !m->is_there[i];
    m->is_there[i] = true;
    m->values[i] = value;
    break;
  case 1: {
    uint64_t *place;
    bool is_new;
    CHECK(blis_map_add(map, key, value, &place, &is_new) == BLIS_OK);
    CHECK(is_new == !m->is_there[i]);
    m->values[i] = is_new ? value : m->values[i];
    CHECK(*place == m->values[i]);
    m->count += is_new;
    m->is_there[i] = true;
    break;
  }
  default:
    CHECK(blis_map_remove(map, key) == m->is_there[i]);
    m->count -= m->is_there[i];
    m->is_there[i] = false;
  }
}

static void check_same(const blis_map *map, const model *m, int family) {
  CHECK(blis_map_check(map));
  CHECK(blis_map_count(map) == m->count);
  for (int i = 0; i < KEYS; i++) {
    uint64_t value = 1;
    CHECK(blis_map_get(map, key_of(i, family), &value) == m->is_there[i]);
    CHECK(value == (m->is_there[i] ? m->values[i] : 1));
  }
}

static void behaves_like_a_table(int family) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_random random;
  blis_random_init(&random, 11 + family);
  blis_map map;
  blis_map_init(&map, &alloc);
  model m = {0};
  for (int round = 0; round < 20000; round++) {
    change_both(&map, &m, &random, family);
    if (round % 100 == 0) {
      check_same(&map, &m, family);
    }
    if (round == 15000) {
      blis_map_clear(&map);
      memset(&m, 0, sizeof m);
    }
  }
  check_same(&map, &m, family);
  blis_map_deinit(&map);
  CHECK(memory.live_bytes == 0);
}

static void behaves_like_a_table_for_every_kind_of_key(void) {
  for (int family = 0; family < 4; family++) {
    behaves_like_a_table(family);
  }
}

static void reserve_makes_room_at_once(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_map map;
  blis_map_init(&map, &alloc);
  CHECK(blis_map_reserve(&map, 1000) == BLIS_OK);
  for (uint64_t key = 1; key <= 1000; key++) {
    CHECK(blis_map_put(&map, key, key) == BLIS_OK);
  }
  CHECK(memory.requests == 1);
  CHECK(blis_map_reserve(&map, SIZE_MAX) == BLIS_ERR_NOMEM);
  CHECK(blis_map_count(&map) == 1000);
  blis_map_deinit(&map);
}

static bool fill_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_map map;
  blis_map_init(&map, &alloc);
  bool done = true;
  for (uint64_t key = 0; done && key < 200; key++) {
    done = blis_map_put(&map, key, key) == BLIS_OK;
    CHECK(blis_map_count(&map) == key + done);
    CHECK(blis_map_check(&map));
  }
  blis_map_deinit(&map);
  CHECK(memory.live_bytes == 0);
  return done;
}

static void no_memory_leaves_the_map_unchanged(void) {
  long request = 1;
  while (!fill_with_failure_at(request)) {
    request++;
  }
  CHECK(request > 3);
}

int main(void) {
  RUN(behaves_like_a_table_for_every_kind_of_key);
  RUN(reserve_makes_room_at_once);
  RUN(no_memory_leaves_the_map_unchanged);
  return check_done();
}
