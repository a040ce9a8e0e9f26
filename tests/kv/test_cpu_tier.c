/* The LRU set of cpu_tier.h against an array in order of use. */
#include "kv/cpu_tier.h"

#include "base/random.h"
#include "check.h"

enum { CAPACITY = 12, IDS = 30 };

typedef struct model {
  blis_block_id ids[CAPACITY]; /* oldest first */
  int count;
  int capacity;
  int saved;
  int evictions;
} model;

static int model_find(const model *m, blis_block_id id) {
  for (int i = 0; i < m->count; i++) {
    if (m->ids[i] == id) {
      return i;
    }
  }
  return -1;
}

static void model_remove(model *m, int index) {
  m->count--;
  memmove(&m->ids[index], &m->ids[index + 1], (size_t)(m->count - index) * sizeof *m->ids);
}

static bool model_touch(model *m, blis_block_id id) {
  int index = model_find(m, id);
  if (index < 0) {
    return false;
  }
  model_remove(m, index);
  m->ids[m->count++] = id;
  return true;
}

static void model_save(model *m, blis_block_id id) {
  if (model_touch(m, id)) {
    return;
  }
  if (m->count == m->capacity) {
    model_remove(m, 0);
    m->evictions++;
  }
  m->ids[m->count++] = id;
  m->saved++;
}

static void check_same(const blis_cpu_tier *tier, const model *m) {
  blis_cpu_tier_stats stats;
  CHECK(blis_cpu_tier_check(tier));
  blis_cpu_tier_get_stats(tier, &stats);
  CHECK_EQ_I64(stats.blocks, m->count);
  CHECK_EQ_I64(stats.saved, m->saved);
  CHECK_EQ_I64(stats.evictions, m->evictions);
  for (blis_block_id id = 1; id <= IDS; id++) {
    CHECK(blis_cpu_tier_has(tier, id) == (model_find(m, id) >= 0));
  }
}

static void behaves_like_the_model(int capacity) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_error error;
  blis_random random;
  blis_random_init(&random, capacity);
  blis_cpu_tier *tier;
  model m = {.capacity = capacity};
  CHECK_OK(blis_cpu_tier_new(&alloc, capacity, &tier, &error), &error);
  for (int round = 0; round < 5000; round++) {
    blis_block_id id = 1 + (blis_block_id)blis_random_intn(&random, IDS);
    if (blis_random_intn(&random, 3) == 0) {
      CHECK(blis_cpu_tier_touch(tier, id, 0) == model_touch(&m, id));
    } else {
      CHECK(blis_cpu_tier_save(tier, id, 0) == BLIS_OK);
      model_save(&m, id);
    }
    check_same(tier, &m);
  }
  CHECK(m.evictions > 0);
  blis_cpu_tier_free(tier);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void test_random_operations(void) {
  behaves_like_the_model(1);
  behaves_like_the_model(2);
  behaves_like_the_model(CAPACITY);
}

static void test_wrong_capacity(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_cpu_tier *tier;
  blis_error error;
  CHECK_STATUS(blis_cpu_tier_new(&alloc, 0, &tier, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "number of CPU tier blocks is 0");
  CHECK_STATUS(blis_cpu_tier_new(&alloc, UINT32_MAX, &tier, &error), BLIS_ERR_INVALID);
  blis_cpu_tier_free(NULL);
}

static void test_out_of_memory(void) {
  int failures = 0;
  for (long fail_at = 1; fail_at < 12; fail_at++) {
    blis_alloc_probe memory = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_cpu_tier *tier;
    if (blis_cpu_tier_new(&alloc, CAPACITY, &tier, NULL) != BLIS_OK) {
      CHECK_EQ_I64(memory.live_bytes, 0);
      failures++;
      continue;
    }
    for (blis_block_id id = 1; id <= IDS; id++) {
      while (blis_cpu_tier_save(tier, id, 0) != BLIS_OK) {
        CHECK(blis_cpu_tier_check(tier) && !blis_cpu_tier_has(tier, id));
        failures++;
      }
    }
    blis_cpu_tier_stats stats;
    blis_cpu_tier_get_stats(tier, &stats);
    CHECK_EQ_I64(stats.saved, IDS);
    CHECK_EQ_I64(stats.evictions, IDS - CAPACITY);
    blis_cpu_tier_free(tier);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(failures >= 3);
}

int main(void) {
  RUN(test_random_operations);
  RUN(test_wrong_capacity);
  RUN(test_out_of_memory);
  return check_done();
}
