/* bindings.h against a naive list. */
#include "policy/memory/bindings.h"

#include "base/random.h"
#include "check.h"

enum { KEYS = 40 };

/* Keys from the least to the most recently used. */
typedef struct naive {
  uint64_t keys[KEYS];
  uint32_t instances[KEYS];
  size_t count;
} naive;

static size_t naive_find(const naive *n, uint64_t key) {
  size_t i = 0;
  while (i < n->count && n->keys[i] != key) {
    i++;
  }
  return i;
}

static void naive_remove(naive *n, size_t i) {
  for (; i + 1 < n->count; i++) {
    n->keys[i] = n->keys[i + 1];
    n->instances[i] = n->instances[i + 1];
  }
  n->count--;
}

static void naive_put(naive *n, uint64_t key, uint32_t instance) {
  size_t i = naive_find(n, key);
  if (i < n->count) {
    naive_remove(n, i);
  }
  n->keys[n->count] = key;
  n->instances[n->count++] = instance;
}

static void check_same(const blis__bindings *bindings, const naive *n) {
  CHECK_EQ_I64(blis__bindings_count(bindings), n->count);
  for (uint64_t key = 0; key < KEYS; key++) {
    const blis__binding *found = blis__bindings_find(bindings, key);
    size_t i = naive_find(n, key);
    CHECK((found == NULL) == (i == n->count));
    if (found != NULL) {
      CHECK_EQ_I64(found->instance, n->instances[i]);
      CHECK(found->key == key);
    }
  }
}

static void like_a_list(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis__bindings bindings;
  blis__bindings_init(&bindings, &alloc);
  naive n = {.count = 0};
  blis_random random;
  blis_random_init(&random, 1);
  for (int round = 0; round < 5000; round++) {
    uint64_t key = (uint64_t)blis_random_intn(&random, KEYS);
    uint32_t instance = (uint32_t)blis_random_intn(&random, 5);
    switch (blis_random_intn(&random, 8)) {
    case 0:
      blis__bindings_remove(&bindings, key);
      if (naive_find(&n, key) < n.count) {
        naive_remove(&n, naive_find(&n, key));
      }
      break;
    case 1: {
      uint32_t dropped = (uint32_t)blis_random_intn(&random, 6);
      blis__bindings_drop_oldest(&bindings, dropped);
      for (; dropped > 0 && n.count > 0; dropped--) {
        naive_remove(&n, 0);
      }
      break;
    }
    default:
      CHECK(blis__bindings_put(&bindings, key, instance, round) == BLIS_OK);
      CHECK_EQ_I64(blis__bindings_find(&bindings, key)->last_use_us, round);
      naive_put(&n, key, instance);
    }
    check_same(&bindings, &n);
  }
  blis__bindings_deinit(&bindings);
}

static void no_memory_leaves_them_unchanged(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis__bindings bindings;
  blis__bindings_init(&bindings, &alloc);
  for (uint64_t key = 1; key < 200; key++) {
    blis_status status;
    memory.fail_at = memory.requests + 1;
    while ((status = blis__bindings_put(&bindings, key, 3, 0)) != BLIS_OK) {
      CHECK_EQ_I64(status, BLIS_ERR_NOMEM);
      CHECK(blis__bindings_find(&bindings, key) == NULL);
      CHECK_EQ_I64(blis__bindings_count(&bindings), key - 1);
      memory.fail_at = memory.requests + 2 - (memory.requests % 2);
    }
    memory.fail_at = 0;
  }
  blis__bindings_deinit(&bindings);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

int main(void) {
  RUN(like_a_list);
  RUN(no_memory_leaves_them_unchanged);
  return check_done();
}
