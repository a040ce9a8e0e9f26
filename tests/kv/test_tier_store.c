/* The sets of tier_store.h against a plain table that is searched for victims,
   and arc by hand. */
#include "kv/tier_store.h"

#include "base/random.h"
#include "check.h"

enum { CAPACITY = 12, IDS = 40 };

typedef struct known {
  bool is_there;
  bool is_incoming;
  int pins;
  int64_t uses;
  double score;
  int64_t order; /* of what counts for the policy */
} known;

typedef struct model {
  blis_tier_policy policy;
  known blocks[IDS + 1];
  int count;
  int capacity;
  int64_t clock;
} model;

static bool goes_before(const model *m, const known *a, const known *b) {
  if (m->policy == BLIS_TIER_SCORED && a->score != b->score) {
    return a->score < b->score;
  }
  int64_t x = a->uses < 12 ? a->uses : 12;
  int64_t y = b->uses < 12 ? b->uses : 12;
  return m->policy == BLIS_TIER_LFU && x != y ? x < y : a->order < b->order;
}

static blis_block_id model_victim(const model *m) {
  blis_block_id best = BLIS_BLOCK_NONE;
  for (blis_block_id id = 1; id <= IDS; id++) {
    const known *k = &m->blocks[id];
    if (k->is_there && !k->is_incoming && k->pins == 0 &&
        (best == BLIS_BLOCK_NONE || goes_before(m, k, &m->blocks[best]))) {
      best = id;
    }
  }
  return best;
}

static void model_touch(model *m, blis_block_id id, double score) {
  known *k = &m->blocks[id];
  k->uses++;
  k->score = score;
  if (m->policy != BLIS_TIER_FIFO) {
    k->order = m->clock++;
  }
}

/* Places a block in both; they agree on the victim. */
static void reserve(blis_tier_store *s, model *m, blis_block_id id, double score) {
  blis_block_id evicted;
  bool is_done;
  bool is_full = m->count == m->capacity;
  blis_block_id victim = is_full ? model_victim(m) : BLIS_BLOCK_NONE;
  CHECK(blis_tier_store_reserve(s, id, score, &evicted, &is_done) == BLIS_OK);
  CHECK(is_done == (!is_full || victim != BLIS_BLOCK_NONE));
  CHECK(evicted == victim);
  if (!is_done) {
    return;
  }
  if (victim != BLIS_BLOCK_NONE) {
    m->blocks[victim] = (known){0};
    m->count--;
  }
  m->blocks[id] = (known){
      .is_there = true, .is_incoming = true, .uses = 1, .score = score, .order = m->clock++};
  m->count++;
}

static void settle(blis_tier_store *s, model *m, blis_block_id id, bool is_lost) {
  known *k = &m->blocks[id];
  if (is_lost) {
    blis_tier_store_abandon(s, id);
    *k = (known){0};
    m->count--;
    return;
  }
  blis_tier_store_commit(s, id);
  k->is_incoming = false;
  if (m->policy != BLIS_TIER_SCORED) {
    k->order = m->clock++;
  }
}

static void act(blis_tier_store *s, model *m, blis_random *random) {
  blis_block_id id = 1 + (blis_block_id)blis_random_intn(random, IDS);
  known *k = &m->blocks[id];
  double score = blis_random_intn(random, 6);
  int what = blis_random_intn(random, 6);
  if (!k->is_there) {
    reserve(s, m, id, score);
  } else if (k->is_incoming) {
    settle(s, m, id, what == 0);
  } else if (what == 0 || k->pins > 2) {
    if (k->pins > 0) {
      blis_tier_store_unpin(s, id);
      k->pins--;
    }
  } else if (what == 1) {
    blis_tier_store_pin(s, id);
    k->pins++;
  } else {
    blis_tier_store_touch(s, id, score);
    model_touch(m, id, score);
  }
}

static void behaves_like_the_model(blis_tier_policy policy, int capacity) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_random random;
  blis_random_init(&random, capacity * 10 + (int)policy);
  model m = {.policy = policy, .capacity = capacity};
  blis_tier_store *s = blis_tier_store_new(&alloc, capacity, policy);
  for (int round = 0; round < 4000; round++) {
    act(s, &m, &random);
    CHECK(blis_tier_store_check(s));
    CHECK_EQ_I64(blis_tier_store_get_stats(s).blocks, m.count);
    for (blis_block_id id = 1; id <= IDS; id++) {
      const known *k = &m.blocks[id];
      CHECK(blis_tier_store_has(s, id) == (k->is_there && !k->is_incoming));
      CHECK(blis_tier_store_knows(s, id) == k->is_there);
      CHECK(!k->is_there || blis_tier_store_uses(s, id) == k->uses);
    }
  }
  blis_tier_store_free(s);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void policies_agree_with_a_table(void) {
  const blis_tier_policy policies[] = {BLIS_TIER_LRU, BLIS_TIER_FIFO, BLIS_TIER_LFU,
                                       BLIS_TIER_SCORED};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    behaves_like_the_model(policies[i], 1);
    behaves_like_the_model(policies[i], 5);
    behaves_like_the_model(policies[i], CAPACITY);
  }
}

static blis_block_id put(blis_tier_store *s, blis_block_id id) {
  blis_block_id evicted;
  bool is_done;
  if (blis_tier_store_has(s, id)) {
    blis_tier_store_touch(s, id, 0);
    return BLIS_BLOCK_NONE;
  }
  CHECK(blis_tier_store_reserve(s, id, 0, &evicted, &is_done) == BLIS_OK);
  CHECK(is_done);
  blis_tier_store_commit(s, id);
  CHECK(blis_tier_store_check(s));
  return evicted;
}

/*
 * Four places. 1 and 2 are used twice; then 3, 4, and the scan 5, 6, 7, each
 * once. Least recently used would have lost 1 and 2 to the scan.
 */
static void arc_survives_a_scan(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_tier_store *s = blis_tier_store_new(&heap, 4, BLIS_TIER_ARC);
  const blis_block_id uses[] = {1, 2, 1, 2, 3, 4};
  for (int i = 0; i < 6; i++) {
    CHECK(put(s, uses[i]) == BLIS_BLOCK_NONE);
  }
  CHECK(put(s, 5) == 3);
  CHECK(put(s, 6) == 4);
  CHECK(put(s, 7) == 5);
  CHECK(blis_tier_store_has(s, 1) && blis_tier_store_has(s, 2));
  /*
   * 6 and 7 are there once, 1 and 2 again; 4 and 5 are remembered of those seen
   * once (with 6 and 7 they are four, the capacity). 4 comes back: one more of
   * its kind is wanted, and with two, more than one, the oldest of them leaves.
   */
  CHECK(put(s, 4) == 6);
  /* 6 comes back: two are wanted, there is one, 7; so 1, the oldest of the
     others, goes. */
  CHECK(put(s, 6) == 1);
  CHECK(blis_tier_store_has(s, 7) && blis_tier_store_has(s, 2));
  blis_tier_store_free(s);
}

static void arc_keeps_its_invariants(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_random random;
  blis_random_init(&random, 7);
  for (int capacity = 1; capacity < 10; capacity++) {
    blis_tier_store *s = blis_tier_store_new(&alloc, capacity, BLIS_TIER_ARC);
    for (int round = 0; round < 3000; round++) {
      blis_block_id id = 1 + (blis_block_id)blis_random_intn(&random, 30);
      put(s, round % 3 == 0 ? 1 + id % 4 : id);
      CHECK(blis_tier_store_has(s, round % 3 == 0 ? 1 + id % 4 : id));
    }
    blis_tier_store_clear(s);
    CHECK(blis_tier_store_check(s));
    CHECK(!blis_tier_store_knows(s, 1));
    blis_tier_store_free(s);
  }
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void nothing_leaves_that_is_needed(void) {
  blis_alloc heap = blis_alloc_heap();
  for (int policy = 0; policy < BLIS_TIER_POLICY_COUNT; policy++) {
    blis_tier_store *s = blis_tier_store_new(&heap, 2, (blis_tier_policy)policy);
    blis_block_id evicted;
    bool is_done;
    put(s, 1);
    CHECK(blis_tier_store_reserve(s, 2, 0, &evicted, &is_done) == BLIS_OK);
    blis_tier_store_pin(s, 1);
    CHECK(blis_tier_store_reserve(s, 3, 0, &evicted, &is_done) == BLIS_OK);
    CHECK(!is_done && !blis_tier_store_knows(s, 3));
    CHECK(blis_tier_store_evict(s) == BLIS_BLOCK_NONE);
    blis_tier_store_unpin(s, 1);
    CHECK(blis_tier_store_reserve(s, 3, 0, &evicted, &is_done) == BLIS_OK);
    CHECK(is_done && evicted == 1);
    blis_tier_store_abandon(s, 2);
    blis_tier_store_abandon(s, 3);
    CHECK_EQ_I64(blis_tier_store_get_stats(s).blocks, 0);
    CHECK(blis_tier_store_check(s));
    blis_tier_store_free(s);
  }
}

static void out_of_memory_changes_nothing(void) {
  for (int64_t fail_at = 1;; fail_at++) {
    blis_alloc_probe memory = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_tier_store *s = blis_tier_store_new(&alloc, 50, BLIS_TIER_ARC);
    bool has_failed = s == NULL;
    for (blis_block_id id = 1; s != NULL && id < 100; id++) {
      blis_block_id evicted;
      bool is_done;
      if (blis_tier_store_reserve(s, id, 0, &evicted, &is_done) != BLIS_OK) {
        has_failed = true;
        CHECK(!blis_tier_store_knows(s, id));
      } else {
        blis_tier_store_commit(s, id);
      }
      CHECK(blis_tier_store_check(s));
    }
    blis_tier_store_free(s);
    CHECK_EQ_I64(memory.live_bytes, 0);
    if (!has_failed) {
      return;
    }
  }
}

int main(void) {
  RUN(policies_agree_with_a_table);
  RUN(arc_survives_a_scan);
  RUN(arc_keeps_its_invariants);
  RUN(nothing_leaves_that_is_needed);
  RUN(out_of_memory_changes_nothing);
  return check_done();
}
