/* The map of paged_map.h against a table indexed by the key. */
#include "base/paged_map.h"

#include "base/random.h"
#include "check.h"

enum { KEYS = 600, ROUNDS = 200000 };

typedef struct model {
  bool is_there[KEYS];
  uint32_t values[KEYS];
} model;

/* Neighbours, keys of a page each, and the last keys of all. */
static uint64_t key_of(int index, int family) {
  uint64_t i = (uint64_t)index;
  return family == 0 ? i : family == 1 ? i << 30 : UINT64_MAX - i;
}

static void change_both(blis_paged_map *map, model *m, blis_random *random,
                        int family) {
  int i = blis_random_intn(random, KEYS);
  if (blis_random_intn(random, 2) == 0) {
    uint32_t value = (uint32_t)blis_random_uint64(random);
    value -= value == UINT32_MAX;
    bool is_new;
    CHECK(blis_paged_map_put(map, key_of(i, family), value, &is_new) ==
          BLIS_OK);
    CHECK(is_new == !m->is_there[i]);
    m->is_there[i] = true;
    m->values[i] = value;
  } else {
    CHECK(blis_paged_map_remove(map, key_of(i, family)) == m->is_there[i]);
    m->is_there[i] = false;
  }
}

static void check_one(blis_paged_map *map, const model *m, int i, int family) {
  uint32_t value = 12345;
  CHECK(blis_paged_map_get(map, key_of(i, family), &value) == m->is_there[i]);
  CHECK_EQ_I64(value, m->is_there[i] ? m->values[i] : 12345);
}

static void it_is_a_map(void) {
  for (int family = 0; family < 3; family++) {
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_paged_map map;
    static model m;
    m = (model){0};
    blis_random random;
    blis_random_init(&random, family);
    blis_paged_map_init(&map, &alloc);
    for (int round = 0; round < ROUNDS; round++) {
      change_both(&map, &m, &random, family);
      check_one(&map, &m, blis_random_intn(&random, KEYS), family);
      if (round % 1000 == 0) {
        CHECK(blis_paged_map_check(&map));
      }
    }
    for (int i = 0; i < KEYS; i++) {
      check_one(&map, &m, i, family);
      blis_paged_map_remove(&map, key_of(i, family));
    }
    CHECK(blis_paged_map_check(&map));
    CHECK_EQ_I64(blis_map_count(&map.directory), 0);
    blis_paged_map_deinit(&map);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

/* Out of memory leaves it as it was, at whatever allocation. */
static void no_memory_changes_nothing(void) {
  bool is_done = false;
  for (long fail_at = 1; !is_done; fail_at++) {
    blis_alloc_probe memory = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_paged_map map;
    blis_paged_map_init(&map, &alloc);
    uint64_t key = 0;
    bool is_new;
    while (key < 100 && blis_paged_map_put(&map, key * 7, (uint32_t)key,
                                           &is_new) == BLIS_OK) {
      key++;
    }
    is_done = key == 100;
    CHECK(blis_paged_map_check(&map));
    for (uint64_t k = 0; k < 100; k++) {
      uint32_t value = 0;
      CHECK(blis_paged_map_get(&map, k * 7, &value) == (k < key));
      CHECK(k >= key || value == k);
    }
    blis_paged_map_deinit(&map);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

int main(void) {
  RUN(it_is_a_map);
  RUN(no_memory_changes_nothing);
  return check_done();
}
