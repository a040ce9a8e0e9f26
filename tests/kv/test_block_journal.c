/* A table as it was at a mark, against a copy made at the mark. */
#include "kv/block_journal.h"

#include "base/random.h"
#include "check.h"

enum { IDS = 500, ROUNDS = 20000 };

/* A table that changes, and its copy of the last mark. */
typedef struct world {
  blis_block_journal journal;
  bool is_there[IDS];
  bool was_there[IDS];
} world;

/* Two rows of neighbours. */
static blis_block_id id_of(int index) {
  return index < IDS / 2 ? (blis_block_id)index + 1 : BLIS_BLOCK_PRIVATE | (blis_block_id)index;
}

static void change(world *w, int first, int count) {
  int end = first < IDS / 2 ? IDS / 2 : IDS;
  count = count < end - first ? count : end - first;
  for (int i = first; i < first + count; i++) {
    w->is_there[i] = !w->is_there[i];
  }
  blis_block_journal_toggle(&w->journal, id_of(first), (uint64_t)count);
}

/* How many come before one that differs. */
static int count_equal(const world *w, int first, int count) {
  int equal = 0;
  while (equal < count && w->is_there[first + equal] == w->was_there[first + equal]) {
    equal++;
  }
  return equal;
}

static void mark(world *w) {
  memcpy(w->was_there, w->is_there, sizeof w->was_there);
  blis_block_journal_mark(&w->journal);
  CHECK_EQ_I64(blis_block_journal_count(&w->journal), 0);
}

static void check_all(const world *w) {
  size_t differences = 0;
  for (int i = 0; i < IDS; i++) {
    CHECK(blis_block_journal_had(&w->journal, id_of(i), w->is_there[i]) == w->was_there[i]);
    differences += w->is_there[i] != w->was_there[i];
    int count = (i < IDS / 2 ? IDS / 2 : IDS) - i;
    count = count > 1 ? count - i % 2 : count;
    CHECK_EQ_I64(blis_block_journal_equal(&w->journal, id_of(i), (uint64_t)count),
                 count_equal(w, i, count));
  }
  CHECK_EQ_I64(blis_block_journal_count(&w->journal), differences);
  CHECK(!blis_block_journal_is_broken(&w->journal));
}

/* Marks come after a handful of changes, and after very many. */
static void same_as_a_copy(void) {
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  blis_random random;
  blis_random_init(&random, 5);
  static world w;
  w = (world){.is_there = {false}};
  blis_block_journal_init(&w.journal, &alloc);
  check_all(&w);
  for (int i = 0, left = 0; i < ROUNDS; i++, left--) {
    if (left == 0) {
      mark(&w);
      left = 1 + blis_random_intn(&random, blis_random_intn(&random, 4) == 0 ? 3000 : 8);
      check_all(&w);
    }
    bool is_run = blis_random_intn(&random, 2) == 0;
    change(&w, blis_random_intn(&random, IDS), is_run ? blis_random_intn(&random, IDS) : 1);
    if (i % 64 == 0) {
      check_all(&w);
    }
  }
  blis_block_journal_deinit(&w.journal);
  CHECK_EQ_I64(probe.live_bytes, 0);
  CHECK(probe.peak_bytes < 64 * 1024); /* not by the changes, by the tables */
}

static void no_memory_breaks_it_until_the_next_mark(void) {
  long failures = 0;
  for (long fail_at = 1; fail_at < 12; fail_at++) {
    blis_alloc_probe probe = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&probe);
    static world w;
    w = (world){.is_there = {false}};
    blis_block_journal_init(&w.journal, &alloc);
    for (int i = 0; i < IDS; i++) {
      change(&w, i, 1);
    }
    if (blis_block_journal_is_broken(&w.journal)) {
      failures++;
      mark(&w);
      change(&w, 3, 1);
    }
    check_all(&w);
    blis_block_journal_deinit(&w.journal);
    CHECK_EQ_I64(probe.live_bytes, 0);
  }
  CHECK(failures >= 2);
}

int main(void) {
  RUN(same_as_a_copy);
  RUN(no_memory_breaks_it_until_the_next_mark);
  return check_done();
}
