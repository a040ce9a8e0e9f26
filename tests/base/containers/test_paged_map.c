/* The map of paged_map.h against a table indexed by the key. */
#include "base/containers/paged_map.h"

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
  return family == 0 ? i : family == 1 ? i << 30 : UINT64_MAX - (KEYS - 1) + i;
}

static void change_both(blis_paged_map *map, model *m, blis_random *random, int family) {
  int i = blis_random_intn(random, KEYS);
  if (blis_random_intn(random, 2) == 0) {
    uint32_t value = (uint32_t)blis_random_uint64(random);
    value -= value == UINT32_MAX;
    uint32_t before;
    CHECK(blis_paged_map_put(map, key_of(i, family), value, &before) == BLIS_OK);
    CHECK_EQ_I64(before, m->is_there[i] ? m->values[i] : UINT32_MAX);
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

/* The keys from first on, up to the first that is not (there with) value. */
static int equal_run(const model *m, int first, int count, uint32_t value) {
  int n = 0;
  while (n < count && m->is_there[first + n] && m->values[first + n] == value) {
    n++;
  }
  return n;
}

static int absent_run(const model *m, int first, int count) {
  int n = 0;
  while (n < count && !m->is_there[first + n]) {
    n++;
  }
  return n;
}

static void add_run(blis_paged_map *map, model *m, uint64_t key, int first, int count,
                    uint32_t value) {
  int absent = absent_run(m, first, count);
  uint64_t added;
  CHECK(blis_paged_map_add_run(map, key, (uint64_t)count, value, &added) == BLIS_OK);
  CHECK_EQ_I64(added, absent);
  for (int i = first; i < first + absent; i++) {
    m->is_there[i] = true;
    m->values[i] = value;
  }
}

static void remove_run(blis_paged_map *map, model *m, uint64_t key, int first, int count) {
  int n = 0;
  while (n < count && m->is_there[first + n]) {
    m->is_there[first + n++] = false;
  }
  blis_paged_map_remove_run(map, key, (uint64_t)n);
}

static void change_run(blis_paged_map *map, model *m, uint64_t key, int first, int count,
                       uint32_t old_value) {
  int changed = 0;
  for (int i = first; i < first + count; i++) {
    if (m->is_there[i] && m->values[i] == old_value) {
      m->values[i] = old_value + 1;
      changed++;
    }
  }
  CHECK_EQ_I64(blis_paged_map_change_run(map, key, (uint64_t)count, old_value, old_value + 1),
               changed);
}

static void runs_are_many_keys(void) {
  for (int family = 0; family < 3; family += 2) {
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_paged_map map;
    static model m;
    m = (model){0};
    blis_random random;
    blis_random_init(&random, 11);
    blis_paged_map_init(&map, &alloc);
    for (int round = 0; round < ROUNDS; round++) {
      int first = blis_random_intn(&random, KEYS);
      int count = blis_random_intn(&random, KEYS - first + 1) / 3;
      uint32_t value = (uint32_t)blis_random_intn(&random, 3);
      uint64_t key = key_of(first, family);
      switch (blis_random_intn(&random, 3)) {
      case 0:
        add_run(&map, &m, key, first, count, value);
        break;
      case 1:
        remove_run(&map, &m, key, first, count);
        break;
      default:
        change_run(&map, &m, key, first, count, value);
      }
      CHECK_EQ_I64(blis_paged_map_count_run(&map, key, (uint64_t)count, value),
                   equal_run(&m, first, count, value));
      check_one(&map, &m, blis_random_intn(&random, KEYS), family);
      CHECK(round % 1000 != 0 || blis_paged_map_check(&map));
    }
    blis_paged_map_deinit(&map);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

/* What was added before memory ran out is there. */
static void no_memory_ends_a_run(void) {
  for (long fail_at = 1;; fail_at++) {
    blis_alloc_probe memory = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_paged_map map;
    blis_paged_map_init(&map, &alloc);
    uint64_t added;
    blis_status status = blis_paged_map_add_run(&map, 7, 2000, 5, &added);
    CHECK(blis_paged_map_check(&map));
    CHECK_EQ_I64(blis_paged_map_count_run(&map, 7, 2000, 5), added);
    blis_paged_map_deinit(&map);
    CHECK_EQ_I64(memory.live_bytes, 0);
    if (status == BLIS_OK) {
      CHECK_EQ_I64(added, 2000);
      CHECK(fail_at > 3);
      return;
    }
    CHECK_STATUS(status, BLIS_ERR_NOMEM);
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
    uint32_t before;
    while (key < 100 && blis_paged_map_put(&map, key * 7, (uint32_t)key, &before) == BLIS_OK) {
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
  RUN(runs_are_many_keys);
  RUN(no_memory_ends_a_run);
  RUN(no_memory_changes_nothing);
  return check_done();
}
