/*
 * The tree of cached prefixes: worked examples, and random operations beside a plain list of the
 * pages that must be there.
 */
#include "base/random.h"
#include "check.h"
#include "kv/radix_tree.h"

/* A chain of pages that are called base + 1, base + 2, ... after the first pages of another. */
typedef struct prompt {
  blis_block_id ids[64];
  blis_block_chain chain;
} prompt;

static void make(prompt *p, const prompt *start, uint32_t shared, blis_block_id base,
                 uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    p->ids[i] = i < shared ? start->ids[i] : base + i + 1;
  }
  p->chain = (blis_block_chain){.shared = p->ids, .shared_count = count, .prompt_blocks = count};
}

static blis_radix_tree *new_tree(const blis_alloc *alloc) {
  blis_radix_tree *tree = blis_radix_tree_new(alloc);
  CHECK(tree != NULL);
  return tree;
}

static blis_radix_path insert(blis_radix_tree *tree, const prompt *p, int64_t pages,
                              int64_t added) {
  blis_radix_path path;
  int64_t n;
  CHECK(blis_radix_tree_insert(tree, &p->chain, pages, &path, &n) == BLIS_OK);
  CHECK_EQ_I64(n, added);
  CHECK_EQ_I64(path.pages, pages);
  CHECK(blis_radix_tree_check(tree));
  return path;
}

static int64_t evict(blis_radix_tree *tree, int64_t pages) {
  int64_t evicted;
  CHECK(blis_radix_tree_evict(tree, pages, &evicted) == BLIS_OK);
  CHECK(blis_radix_tree_check(tree));
  return evicted;
}

/* S(20) with the children a(10) and b(10), a unused for longer; 12 pages are wanted: a and b go,
   and S is the next leaf. */
static void test_leaves_go_first(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_radix_tree *tree = new_tree(&alloc);
  prompt a, b;
  make(&a, NULL, 0, 1000, 30);
  make(&b, &a, 20, 2000, 30);
  insert(tree, &a, 30, 30);
  insert(tree, &b, 30, 10);
  CHECK_EQ_I64(blis_radix_tree_pages(tree), 40);
  CHECK_EQ_I64(evict(tree, 12), 20);
  CHECK_EQ_I64(blis_radix_tree_count(tree, &a.chain, 30), 20);
  CHECK_EQ_I64(blis_radix_tree_count(tree, &b.chain, 30), 20);
  CHECK_EQ_I64(evict(tree, 1), 20);
  CHECK_EQ_I64(blis_radix_tree_pages(tree), 0);
  CHECK_EQ_I64(evict(tree, 1), 0);
  blis_radix_tree_free(tree);
}

static void test_locks_hold_the_path(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_radix_tree *tree = new_tree(&alloc);
  prompt a, b;
  make(&a, NULL, 0, 1000, 30);
  make(&b, &a, 20, 2000, 30);
  blis_radix_path path = insert(tree, &a, 30, 30);
  blis_radix_tree_lock(tree, path.node);
  insert(tree, &b, 30, 10); /* splits a locked node */
  CHECK_EQ_I64(blis_radix_tree_evictable(tree), 10);
  CHECK_EQ_I64(blis_radix_tree_depth(tree, path.node), 2);
  CHECK_EQ_I64(evict(tree, 100), 10);
  CHECK_EQ_I64(blis_radix_tree_count(tree, &a.chain, 30), 30);
  blis_radix_tree_unlock(tree, path.node);
  CHECK_EQ_I64(blis_radix_tree_evictable(tree), 30);
  blis_radix_tree_clear(tree);
  CHECK(blis_radix_tree_check(tree));
  CHECK_EQ_I64(blis_radix_tree_pages(tree), 0);
  blis_radix_tree_free(tree);
}

/* A match marks its path as used. */
static void test_least_recently_used(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_radix_tree *tree = new_tree(&alloc);
  prompt p[3];
  blis_radix_path path;
  for (uint32_t i = 0; i < 3; i++) {
    make(&p[i], NULL, 0, 1000 * (i + 1), 10);
    insert(tree, &p[i], 10, 10);
  }
  CHECK(blis_radix_tree_match(tree, &p[0].chain, 4, &path) == BLIS_OK);
  CHECK_EQ_I64(path.pages, 4);
  CHECK_EQ_I64(evict(tree, 1), 10);
  CHECK_EQ_I64(blis_radix_tree_count(tree, &p[1].chain, 10), 0);
  CHECK_EQ_I64(evict(tree, 1), 10);
  CHECK_EQ_I64(blis_radix_tree_count(tree, &p[2].chain, 10), 0);
  CHECK_EQ_I64(evict(tree, 1), 6); /* the part that the match did not reach is a leaf */
  CHECK_EQ_I64(blis_radix_tree_count(tree, &p[0].chain, 10), 4);
  blis_radix_tree_free(tree);
}

enum { PROMPTS = 12, LOCKS = 6 };

/* A forest of prompts with common beginnings. */
static void make_prompts(blis_random *r, prompt *p) {
  for (uint32_t i = 0; i < PROMPTS; i++) {
    uint32_t parent = i == 0 ? 0 : (uint32_t)(blis_random_uint64(r) % i);
    uint32_t shared = i == 0 ? 0 : (uint32_t)(blis_random_uint64(r) % 40);
    shared = i == 0 || shared < p[parent].chain.shared_count ? shared : 0;
    make(&p[i], &p[parent], shared, 1000 * (i + 1),
         shared + 1 + (uint32_t)(blis_random_uint64(r) % 20));
  }
}

static void test_random_operations(void) {
  blis_random r;
  blis_random_init(&r, 7);
  for (int k = 0; k < CASES(300); k++) {
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_radix_tree *tree = new_tree(&alloc);
    blis_block_journal journal;
    prompt p[PROMPTS];
    blis_radix_path locked[LOCKS];
    const prompt *owner[LOCKS];
    int64_t at_mark[PROMPTS] = {0};
    int locks = 0;
    blis_block_journal_init(&journal, &alloc);
    blis_radix_tree_set_journal(tree, &journal);
    make_prompts(&r, p);
    for (int n = 0; n < 60; n++) {
      const prompt *one = &p[blis_random_uint64(&r) % PROMPTS];
      int64_t pages = (int64_t)(blis_random_uint64(&r) % (one->chain.shared_count + 1));
      blis_radix_path path = {0};
      int64_t moved = 0;
      switch (blis_random_uint64(&r) % 5) {
      case 0:
      case 1:
        CHECK(blis_radix_tree_insert(tree, &one->chain, pages, &path, &moved) == BLIS_OK);
        CHECK(blis_radix_tree_count(tree, &one->chain, pages) == pages);
        break;
      case 2:
        CHECK(blis_radix_tree_match(tree, &one->chain, pages, &path) == BLIS_OK);
        CHECK_EQ_I64(path.pages, blis_radix_tree_count(tree, &one->chain, pages));
        break;
      case 3: {
        int64_t most = blis_radix_tree_evictable(tree);
        CHECK(blis_radix_tree_evict(tree, pages, &moved) == BLIS_OK);
        CHECK(moved >= (pages < most ? pages : most) && moved <= most);
        break;
      }
      default:
        blis_block_journal_mark(&journal);
        for (int i = 0; i < PROMPTS; i++) {
          at_mark[i] = blis_radix_tree_count(tree, &p[i].chain, p[i].chain.shared_count);
        }
      }
      if (path.pages > 0 && locks < LOCKS) {
        owner[locks] = one;
        locked[locks++] = path;
        blis_radix_tree_lock(tree, path.node);
      } else if (locks > 0 && n % 3 == 0) {
        blis_radix_tree_unlock(tree, locked[--locks].node);
      }
      CHECK(blis_radix_tree_check(tree));
      for (int i = 0; i < locks; i++) {
        CHECK(blis_radix_tree_count(tree, &owner[i]->chain, 64) >= locked[i].pages);
      }
      for (int i = 0; i < PROMPTS; i++) {
        CHECK_EQ_I64(blis_radix_tree_count_at_mark(tree, &p[i].chain, p[i].chain.shared_count),
                     at_mark[i]);
      }
    }
    blis_radix_tree_free(tree);
    blis_block_journal_deinit(&journal);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

int main(void) {
  RUN(test_leaves_go_first);
  RUN(test_locks_hold_the_path);
  RUN(test_least_recently_used);
  RUN(test_random_operations);
  return check_done();
}
