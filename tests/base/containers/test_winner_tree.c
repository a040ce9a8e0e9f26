/* The tree of winner_tree.h against a search through all times. */
#include "base/containers/winner_tree.h"

#include "base/random.h"
#include "base/time.h"
#include "check.h"

enum { MOST = 100 };

static void check_min(const blis_winner_tree *tree, const int64_t *times_us, uint32_t count) {
  uint32_t first = 0;
  for (uint32_t i = 1; i < count; i++) {
    first = times_us[i] < times_us[first] ? i : first;
  }
  bool has_min = count > 0 && times_us[first] != BLIS_TIME_NEVER_US;
  uint32_t owner = MOST;
  int64_t time_us = -1;
  CHECK(blis_winner_tree_check(tree));
  CHECK(blis_winner_tree_min(tree, &owner, &time_us) == has_min);
  CHECK_EQ_I64(owner, has_min ? first : MOST);
  CHECK_EQ_I64(time_us, has_min ? times_us[first] : -1);
  CHECK_EQ_I64(blis_winner_tree_min_us(tree), has_min ? times_us[first] : BLIS_TIME_NEVER_US);
}

/* A few distinct times, so that ties are common; some without limits. */
static int64_t random_time_us(blis_random *random, bool has_far_times) {
  if (has_far_times && blis_random_intn(random, 4) == 0) {
    return BLIS_TIME_NEVER_US - blis_random_intn(random, 4);
  }
  return blis_random_intn(random, 30);
}

static void compare_with_a_search(uint32_t count, bool has_far_times) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_winner_tree *tree = blis_winner_tree_new(&alloc, count);
  int64_t times_us[MOST];
  for (int i = 0; i < MOST; i++) {
    times_us[i] = BLIS_TIME_NEVER_US;
  }
  blis_random random;
  blis_random_init(&random, count);
  check_min(tree, times_us, count);
  for (int round = 0; round < 2000; round++) {
    if (count > 0) {
      uint32_t owner = (uint32_t)blis_random_intn(&random, (int32_t)count);
      int64_t time_us = random_time_us(&random, has_far_times && round > 500);
      if (blis_random_intn(&random, 5) == 0) {
        time_us = BLIS_TIME_NEVER_US;
        blis_winner_tree_clear(tree, owner);
      } else {
        blis_winner_tree_set(tree, owner, time_us);
      }
      times_us[owner] = time_us;
      CHECK_EQ_I64(blis_winner_tree_time_us(tree, owner), time_us);
    }
    check_min(tree, times_us, count);
  }
  blis_winner_tree_free(tree);
  CHECK(memory.live_bytes == 0);
}

static void min_is_the_earliest_time_of_the_lowest_owner(void) {
  for (uint32_t count = 0; count <= 70; count += 1 + count / 3) {
    compare_with_a_search(count, false);
  }
}

static void times_have_no_limit(void) {
  for (uint32_t count = 0; count <= 70; count += 1 + count / 3) {
    compare_with_a_search(count, true);
  }
}

/* Around the largest time of the narrow form: 54 bits for 1024 owners. */
static void the_two_forms_agree_at_their_border(void) {
  const int64_t limit_us = INT64_C(1) << 54;
  blis_alloc alloc = blis_alloc_heap();
  blis_winner_tree *tree = blis_winner_tree_new(&alloc, 1024);
  for (int64_t past = -3; past <= 3; past++) {
    uint32_t owner = past % 2 == 0 ? 1023 : 1022;
    blis_winner_tree_set(tree, owner, limit_us + past);
    CHECK_EQ_I64(blis_winner_tree_time_us(tree, owner), limit_us + past);
    CHECK_EQ_I64(blis_winner_tree_min_us(tree), limit_us + past);
    blis_winner_tree_clear(tree, owner);
    CHECK_EQ_I64(blis_winner_tree_min_us(tree), BLIS_TIME_NEVER_US);
  }
  blis_winner_tree_free(tree);
}

static void no_memory_is_reported(void) {
  for (long request = 1; request <= 4; request++) {
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_winner_tree *tree = blis_winner_tree_new(&alloc, 3);
    CHECK((tree == NULL) == (request <= 3));
    blis_winner_tree_free(tree);
    CHECK(memory.live_bytes == 0);
  }
}

int main(void) {
  RUN(min_is_the_earliest_time_of_the_lowest_owner);
  RUN(times_have_no_limit);
  RUN(the_two_forms_agree_at_their_border);
  RUN(no_memory_is_reported);
  return check_done();
}
