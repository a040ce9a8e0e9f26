/* The pool of pool.h against a stack of free indices. */
#include "base/pool.h"

#include "base/random.h"
#include "check.h"

enum { MOST = 5000 };

typedef struct item {
  uint64_t mark;
  unsigned char rest[24];
} item;

typedef struct model {
  uint32_t live[MOST];
  item *places[MOST]; /* by index */
  uint64_t marks[MOST];
  uint32_t free[MOST];
  size_t live_count;
  size_t free_count;
  uint32_t fresh;
} model;

static void take_both(blis_pool *pool, model *m, uint64_t mark) {
  uint32_t index;
  CHECK(blis_pool_take(pool, &index) == BLIS_OK);
  uint32_t expected = m->free_count > 0 ? m->free[--m->free_count] : m->fresh++;
  CHECK_EQ_I64(index, expected);
  item *taken = blis_pool_item(pool, index);
  CHECK(m->places[index] == NULL || m->places[index] == taken);
  m->places[index] = taken;
  memset(taken, 255, sizeof *taken);
  taken->mark = mark;
  m->marks[index] = mark;
  m->live[m->live_count++] = index;
}

static void give_both(blis_pool *pool, model *m, size_t i) {
  uint32_t index = m->live[i];
  const item *given = blis_pool_item(pool, index);
  CHECK(given == m->places[index]);
  CHECK(given->mark == m->marks[index]);
  blis_pool_give(pool, index);
  CHECK(!blis_pool_is_live(pool, index));
  m->free[m->free_count++] = index;
  m->live[i] = m->live[--m->live_count];
}

static void behaves_like_a_stack_of_free_indices(void) {
  static model m;
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_pool pool;
  blis_pool_init(&pool, &alloc, sizeof(item));
  blis_random random;
  blis_random_init(&random, 23);
  for (int round = 0; round < 20000; round++) {
    bool takes = blis_random_intn(&random, 100) < (round < 10000 ? 60 : 40);
    if (takes && m.fresh < MOST) {
      take_both(&pool, &m, blis_random_uint64(&random));
    } else if (m.live_count > 0) {
      give_both(&pool, &m, (size_t)blis_random_intn(&random, (int32_t)m.live_count));
    }
    CHECK_EQ_I64(blis_pool_count(&pool), m.live_count);
    if (round % 500 == 0) {
      CHECK(blis_pool_check(&pool));
    }
  }
  CHECK(!blis_pool_is_live(&pool, BLIS_POOL_NONE));
  blis_pool_deinit(&pool);
  CHECK(memory.live_bytes == 0);
}

static bool fill_with_failure_at(long request, size_t item_size) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_pool pool;
  blis_pool_init(&pool, &alloc, item_size);
  bool done = true;
  for (uint32_t i = 0; done && i < 100; i++) {
    uint32_t index;
    done = blis_pool_take(&pool, &index) == BLIS_OK;
    CHECK(blis_pool_count(&pool) == i + done);
    CHECK(blis_pool_check(&pool));
  }
  blis_pool_deinit(&pool);
  CHECK(memory.live_bytes == 0);
  return done;
}

static void no_memory_leaves_the_pool_unchanged(void) {
  for (size_t item_size = 1; item_size < 20000; item_size *= 7) {
    long request = 1;
    while (!fill_with_failure_at(request, item_size)) {
      request++;
    }
    CHECK(request > 3);
  }
}

int main(void) {
  RUN(behaves_like_a_stack_of_free_indices);
  RUN(no_memory_leaves_the_pool_unchanged);
  return check_done();
}
