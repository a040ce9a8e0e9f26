/* The least of numbers that change, against a look at all of them. */
#include "base/containers/least_tree.h"

#include "base/random.h"
#include "check.h"

enum { ITEMS_MAX = 70 };

typedef struct numbers {
  double values[ITEMS_MAX];
  uint32_t ranks[ITEMS_MAX];
  uint32_t count;
} numbers;

static void check_against_scan(const numbers *n, const blis_least_tree *tree) {
  double least = n->values[0];
  for (uint32_t i = 1; i < n->count; i++) {
    least = n->values[i] < least ? n->values[i] : least;
  }
  uint32_t tied = 0;
  uint32_t lowest = n->count;
  for (uint32_t i = 0; i < n->count; i++) {
    if (n->values[i] == least) {
      CHECK(tied < blis_least_tree_tied(tree));
      CHECK_EQ_I64(blis_least_tree_nth(tree, tied), i);
      tied++;
      bool is_lower = lowest == n->count || n->ranks[i] < n->ranks[lowest];
      lowest = is_lower ? i : lowest;
    }
  }
  CHECK_EQ_I64(blis_least_tree_tied(tree), tied);
  CHECK_EQ_I64(blis_least_tree_lowest(tree), lowest);
  CHECK(blis_least_tree_check(tree));
}

static void shuffle_ranks(numbers *n, blis_random *random) {
  for (uint32_t i = 0; i < n->count; i++) {
    uint32_t k = (uint32_t)blis_random_intn(random, (int32_t)i + 1);
    n->ranks[i] = n->ranks[k];
    n->ranks[k] = i;
  }
}

static void agrees_with_a_scan(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 5);
  for (uint32_t count = 1; count <= ITEMS_MAX; count++) {
    numbers n = {.count = count};
    shuffle_ranks(&n, &random);
    blis_least_tree *tree = blis_least_tree_new(&alloc, n.ranks, count);
    check_against_scan(&n, tree);
    for (int i = 0; i < 400; i++) {
      uint32_t item = (uint32_t)blis_random_intn(&random, (int32_t)count);
      n.values[item] = blis_random_intn(&random, 1 + i / 50) - 2;
      blis_least_tree_set(tree, item, n.values[item]);
      check_against_scan(&n, tree);
    }
    blis_least_tree_free(tree);
  }
}

static void no_memory_leaves_nothing(void) {
  const uint32_t ranks[] = {1, 0, 2};
  for (long request = 1; request <= 2; request++) {
    blis_alloc_probe memory = {.fail_at = request};
    blis_alloc alloc = blis_alloc_probed(&memory);
    CHECK(blis_least_tree_new(&alloc, ranks, 3) == NULL);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  blis_least_tree_free(NULL);
}

int main(void) {
  RUN(agrees_with_a_scan);
  RUN(no_memory_leaves_nothing);
  return check_done();
}
