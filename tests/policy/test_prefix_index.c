/* The prefix index against a list of identities per instance. */
#include "policy/memory/prefix_index.h"

#include <stdbool.h>

#include "base/random.h"
#include "check.h"

enum { INSTANCES = 5, CAPACITY_MAX = 64, CHAIN_MAX = 40 };

/* held[0] is the least recent. */
typedef struct naive_set {
  blis_block_id held[CAPACITY_MAX + 1];
  size_t count;
} naive_set;

static size_t naive_find(const naive_set *set, blis_block_id id) {
  size_t i = 0;
  while (i < set->count && set->held[i] != id) {
    i++;
  }
  return i;
}

static void naive_remove(naive_set *set, size_t i) {
  set->count--;
  memmove(&set->held[i], &set->held[i + 1], (set->count - i) * sizeof set->held[0]);
}

static void naive_observe(naive_set *set, const blis_block_chain *chain, size_t capacity) {
  for (uint32_t k = 0; k < chain->prompt_blocks; k++) {
    blis_block_id id = blis_block_chain_at(chain, k);
    size_t i = naive_find(set, id);
    if (i < set->count) {
      naive_remove(set, i);
    } else if (set->count >= capacity) {
      naive_remove(set, 0);
    }
    set->held[set->count++] = id;
  }
}

static uint32_t naive_match(const naive_set *set, const blis_block_chain *chain) {
  uint32_t k = 0;
  while (k < chain->prompt_blocks && naive_find(set, blis_block_chain_at(chain, k)) < set->count) {
    k++;
  }
  return k;
}

/*
 * A tree of contents: a path is a word over a few letters, and the identity of
 * a block is given out when its path is first seen, as a block namer does.
 */
typedef struct namer {
  uint64_t parents[4096];
  uint32_t letters[4096];
  uint64_t count;
} namer;

static blis_block_id name_block(namer *n, blis_block_id parent, uint32_t letter) {
  for (uint64_t i = 0; i < n->count; i++) {
    if (n->parents[i] == parent && n->letters[i] == letter) {
      return i + 1;
    }
  }
  CHECK(n->count < 4096);
  n->parents[n->count] = parent;
  n->letters[n->count] = letter;
  return ++n->count;
}

/* Paths that follow letter 0 for long and seldom branch off. */
static void random_chain(namer *n, blis_random *random, uint64_t *private_count, blis_block_id *ids,
                         blis_block_chain *chain) {
  blis_block_id parent = 0;
  uint32_t shared = (uint32_t)blis_random_intn(random, CHAIN_MAX);
  for (uint32_t k = 0; k < shared; k++) {
    uint32_t letter = blis_random_intn(random, 12) == 0 ? (uint32_t)blis_random_intn(random, 3) : 0;
    if (n->count >= 4000) {
      letter = 0;
    }
    parent = name_block(n, parent, letter);
    ids[k] = parent;
  }
  uint32_t private_blocks = (uint32_t)blis_random_intn(random, 6);
  *chain = (blis_block_chain){.shared = ids,
                              .shared_count = shared,
                              .prompt_blocks = shared + private_blocks,
                              .private_base = BLIS_BLOCK_PRIVATE | *private_count};
  *private_count += shared + private_blocks;
}

static void check_matches(const blis_prefix_index *index, const naive_set *sets,
                          const blis_block_chain *chain) {
  uint32_t blocks[INSTANCES];
  blis_prefix_index_match(index, chain, blocks, INSTANCES);
  for (int i = 0; i < INSTANCES; i++) {
    CHECK_EQ_I64(blocks[i], naive_match(&sets[i], chain));
    CHECK_EQ_I64(blis_prefix_index_size(index, (uint32_t)i), sets[i].count);
  }
}

static void run_against_model(int64_t seed, size_t capacity) {
  static namer names;
  names.count = 0;
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_random random;
  blis_random_init(&random, seed);
  naive_set sets[INSTANCES] = {0};
  blis_prefix_index *index = blis_prefix_index_new(&alloc, capacity);
  blis_block_id ids[CHAIN_MAX];
  blis_block_chain chain;
  uint64_t private_count = 0;
  for (int round = 0; round < 3000; round++) {
    random_chain(&names, &random, &private_count, ids, &chain);
    check_matches(index, sets, &chain);
    int repeats = 1 + (blis_random_intn(&random, 4) == 0);
    for (int k = 0; k < repeats; k++) {
      int32_t instance = blis_random_intn(&random, INSTANCES);
      CHECK(blis_prefix_index_observe(index, &chain, (uint32_t)instance) == BLIS_OK);
      naive_observe(&sets[instance], &chain, capacity);
      check_matches(index, sets, &chain);
    }
    if (blis_random_intn(&random, 40) == 0) { /* now and then one fails */
      int32_t instance = blis_random_intn(&random, INSTANCES + 1);
      blis_prefix_index_forget(index, (uint32_t)instance);
      if (instance < INSTANCES) {
        sets[instance].count = 0;
      }
      check_matches(index, sets, &chain);
    }
    CHECK(blis_prefix_index_check(index));
  }
  blis_prefix_index_free(index);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void behaves_like_a_list_of_blocks(void) {
  static const size_t capacities[] = {1, 2, 7, 20, 39, CAPACITY_MAX};
  for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
    run_against_model((int64_t)i + 1, capacities[i]);
  }
}

/* A prompt of 6 blocks at a capacity of 4 loses its own head. */
static void long_prompt_evicts_its_own_head(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_prefix_index *index = blis_prefix_index_new(&alloc, 4);
  blis_block_id ids[] = {1, 2, 3, 4, 5, 6};
  blis_block_chain chain = {ids, 6, 6, BLIS_BLOCK_PRIVATE};
  uint32_t blocks[1];
  CHECK(blis_prefix_index_observe(index, &chain, 0) == BLIS_OK);
  CHECK_EQ_I64(blis_prefix_index_size(index, 0), 4);
  blis_prefix_index_match(index, &chain, blocks, 1);
  CHECK_EQ_I64(blocks[0], 0);
  blis_prefix_index_free(index);
}

static void matching_does_not_touch(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_prefix_index *index = blis_prefix_index_new(&alloc, 2);
  blis_block_id ids[] = {1, 2, 3};
  blis_block_chain chains[3];
  for (int i = 0; i < 3; i++) {
    chains[i] = (blis_block_chain){&ids[i], 1, 1, BLIS_BLOCK_PRIVATE};
  }
  uint32_t blocks[1];
  CHECK(blis_prefix_index_observe(index, &chains[0], 0) == BLIS_OK);
  CHECK(blis_prefix_index_observe(index, &chains[1], 0) == BLIS_OK);
  blis_prefix_index_match(index, &chains[0], blocks, 1);
  CHECK_EQ_I64(blocks[0], 1);
  CHECK(blis_prefix_index_observe(index, &chains[2], 0) == BLIS_OK);
  blis_prefix_index_match(index, &chains[0], blocks, 1);
  CHECK_EQ_I64(blocks[0], 0);
  blis_prefix_index_match(index, &chains[1], blocks, 1);
  CHECK_EQ_I64(blocks[0], 1);
  blis_prefix_index_free(index);
}

static void empty_prompt_is_no_trouble(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_prefix_index *index = blis_prefix_index_new(&alloc, 4);
  blis_block_chain chain = {NULL, 0, 0, BLIS_BLOCK_PRIVATE};
  uint32_t blocks[3] = {9, 9, 9};
  CHECK(blis_prefix_index_observe(index, &chain, 1) == BLIS_OK);
  blis_prefix_index_match(index, &chain, blocks, 3);
  CHECK(blocks[0] == 0 && blocks[1] == 0 && blocks[2] == 0);
  CHECK(blis_prefix_index_check(index));
  blis_prefix_index_free(index);
}

/* Memory follows the capacity, not the number of requests. */
static void memory_is_bounded(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_prefix_index *index = blis_prefix_index_new(&alloc, 500);
  size_t after_warm_up = 0;
  blis_block_id ids[8];
  uint64_t next_id = 1;
  for (uint64_t i = 0; i < 60000; i++) {
    for (int k = 0; k < 8; k++) {
      ids[k] = next_id++;
    }
    blis_block_chain chain = {ids, 8, 30, BLIS_BLOCK_PRIVATE | (i * 40)};
    CHECK(blis_prefix_index_observe(index, &chain, (uint32_t)(i % 4)) == BLIS_OK);
    if (i == 5000) {
      after_warm_up = memory.live_bytes;
    }
  }
  CHECK_EQ_I64(memory.live_bytes, after_warm_up);
  CHECK(blis_prefix_index_check(index));
  blis_prefix_index_free(index);
}

/* Chains that make nodes, split them and share them. */
static bool observe_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_prefix_index *index = blis_prefix_index_new(&alloc, 50);
  if (index == NULL) {
    return false;
  }
  blis_block_id ids[40];
  naive_set sets[INSTANCES] = {0};
  bool done = true;
  for (uint64_t i = 0; done && i < 300; i++) {
    uint32_t same = (uint32_t)(i * 7 % 30);
    for (uint32_t k = 0; k < 36; k++) {
      ids[k] = k < same ? k + 1 : 1000 * (i % 3 + 1) + UINT64_C(40) * same + k;
    }
    blis_block_chain chain = {ids, same + 4, same + 6, BLIS_BLOCK_PRIVATE | (i * 50)};
    done = blis_prefix_index_observe(index, &chain, (uint32_t)(i % INSTANCES)) == BLIS_OK;
    if (done) {
      naive_observe(&sets[i % INSTANCES], &chain, 50);
    }
    check_matches(index, sets, &chain);
    CHECK(blis_prefix_index_check(index));
  }
  blis_prefix_index_free(index);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return done;
}

static void no_memory_leaves_the_index_unchanged(void) {
  long request = 1;
  while (!observe_with_failure_at(request)) {
    request++;
  }
  CHECK(request > 10);
}

int main(void) {
  RUN(behaves_like_a_list_of_blocks);
  RUN(long_prompt_evicts_its_own_head);
  RUN(matching_does_not_touch);
  RUN(empty_prompt_is_no_trouble);
  RUN(memory_is_bounded);
  RUN(no_memory_leaves_the_index_unchanged);
  return check_done();
}
