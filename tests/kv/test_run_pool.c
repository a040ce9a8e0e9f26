/*
 * The pool of runs gives the answers of the pool of single blocks: both are
 * taken through the same random life of requests, whose prompts branch off each
 * other. Now and then their tables are marked, and what they were at the mark
 * is compared with a copy.
 */
#include "kv/run_pool.h"

#include "base/random.h"
#include "check.h"
#include "kv/block_pool.h"

enum {
  MAX_BLOCKS = 200,
  BLOCK_SIZE = 4,
  REQUESTS = 12,
  PROMPTS = 8,
  PREFIX_BLOCKS = 40,
  IDS = PROMPTS * (PREFIX_BLOCKS + 8) + 1,
  OPERATIONS = CASES(6000)
};

/* A request in both pools; stored is -1 while it has no blocks. */
typedef struct twin {
  blis_block_chain chain;
  int64_t prompt_tokens;
  int64_t stored_tokens;
  bool is_tracked; /* was preempted: its own blocks are named, too */
  blis_run_holder runs;
  blis_block_list blocks;
} twin;

typedef struct world {
  blis_alloc alloc;
  blis_run_pool *runs;
  blis_block_pool *blocks;
  blis_block_list found;
  twin twins[REQUESTS];
  blis_block_id shared[PROMPTS][PREFIX_BLOCKS];
  blis_block_journal run_journal;
  blis_block_journal block_journal;
  bool was_there[IDS]; /* at the mark */
  uint64_t next_private;
  blis_random *random;
} world;

static int64_t draw(world *w, int64_t n) {
  return blis_random_intn(w->random, (int32_t)n);
}

/*
 * Each prompt begins as an earlier one does and goes on with new identities,
 * which count up but where somebody else was first.
 */
static void make_prompts(world *w) {
  blis_block_id next = 1;
  for (int p = 0; p < PROMPTS; p++) {
    int64_t kept = p == 0 ? 0 : draw(w, PREFIX_BLOCKS);
    const blis_block_id *earlier = w->shared[p == 0 ? 0 : draw(w, p)];
    for (int k = 0; k < PREFIX_BLOCKS; k++) {
      next += k >= kept && draw(w, 8) == 0 && next < (uint64_t)(p + 1) * 48 - 48;
      w->shared[p][k] = k < kept ? earlier[k] : next++;
    }
  }
  CHECK(next <= IDS);
}

/*
 * A fresh request: the beginning of a prompt, then tokens of its own. Its
 * output may be known, too.
 */
static void renew(world *w, twin *t) {
  uint32_t shared = (uint32_t)draw(w, PREFIX_BLOCKS + 1);
  bool shares_output = draw(w, 4) == 0;
  t->prompt_tokens = shares_output ? draw(w, shared * BLOCK_SIZE + 1) + 1
                                   : shared * BLOCK_SIZE + draw(w, 3 * BLOCK_SIZE) + 1;
  t->chain = (blis_block_chain){.shared = w->shared[draw(w, PROMPTS)],
                                .shared_count = shared,
                                .prompt_blocks = (uint32_t)(t->prompt_tokens / BLOCK_SIZE),
                                .private_base = BLIS_BLOCK_PRIVATE | w->next_private};
  w->next_private += 1000;
  t->stored_tokens = -1;
  t->is_tracked = false;
}

static int64_t blocks_of(int64_t tokens) {
  return (tokens + BLOCK_SIZE - 1) / BLOCK_SIZE;
}

/* All at once, or one by one. */
static void name_full_blocks(world *w, twin *t) {
  int64_t full = t->stored_tokens / BLOCK_SIZE;
  int64_t count = full < t->chain.shared_count || t->is_tracked ? full : t->chain.shared_count;
  if (draw(w, 2) == 0) {
    int64_t missing = count - t->runs.named_blocks - t->runs.anonymous;
    int64_t taken;
    CHECK(blis_run_pool_name_up_to(w->runs, &t->runs, &t->chain, count, &taken) == BLIS_OK);
    CHECK_EQ_I64(taken, missing > 0 ? missing : 0);
    return;
  }
  while (t->runs.named_blocks < count) {
    if (t->runs.anonymous == 0) {
      blis_run_pool_take(w->runs, &t->runs, 1);
    }
    CHECK(blis_run_pool_name(w->runs, &t->runs, &t->chain) == BLIS_OK);
  }
}

/* Stores tokens up to `end` in both pools, if there is room. */
static void store(world *w, twin *t, int64_t end, uint32_t cached) {
  bool is_new = t->stored_tokens < 0;
  int64_t start = is_new ? (int64_t)cached * BLOCK_SIZE : t->stored_tokens;
  blis_block_span span = {.chain = &t->chain,
                          .prompt_tokens = t->prompt_tokens,
                          .start_tokens = start,
                          .end_tokens = end};
  bool is_done = false;
  CHECK(blis_block_pool_allocate(w->blocks, &t->blocks, &span, is_new ? &w->found : NULL,
                                 &is_done) == BLIS_OK);
  int64_t unused = 0;
  if (is_new) {
    blis_run_pool_match(w->runs, &t->chain, cached, &unused);
  }
  int64_t needed = blocks_of(end) - blocks_of(start) + unused;
  CHECK(is_done == (needed <= blis_run_pool_free_blocks(w->runs)));
  if (!is_done) {
    return;
  }
  if (is_new) {
    CHECK(blis_run_pool_claim(w->runs, &t->runs, &t->chain, cached) == BLIS_OK);
  }
  t->stored_tokens = end;
  name_full_blocks(w, t);
  blis_run_pool_take(w->runs, &t->runs, blocks_of(end) - t->runs.named_blocks - t->runs.anonymous);
}

static void begin(world *w, twin *t) {
  uint32_t cached = blis_run_pool_match(w->runs, &t->chain, t->chain.prompt_blocks, NULL);
  CHECK(blis_block_pool_match(w->blocks, &t->chain, &w->found) == BLIS_OK);
  CHECK_EQ_I64(cached, w->found.count);
  int64_t left = t->prompt_tokens - (int64_t)cached * BLOCK_SIZE;
  if (left > 0) {
    store(w, t, (int64_t)cached * BLOCK_SIZE + 1 + draw(w, left), cached);
  }
}

static void end(world *w, twin *t) {
  blis_block_pool_release(w->blocks, &t->blocks);
  CHECK(blis_run_pool_release(w->runs, &t->runs) == BLIS_OK);
  renew(w, t);
}

/* It may come again, and find what it has stored. */
static void preempt(world *w, twin *t) {
  t->is_tracked = true;
  name_full_blocks(w, t);
  blis_block_pool_release(w->blocks, &t->blocks);
  CHECK(blis_run_pool_release(w->runs, &t->runs) == BLIS_OK);
  t->stored_tokens = -1;
}

static void act(world *w, twin *t) {
  if (t->stored_tokens < 0) {
    begin(w, t);
  } else if (draw(w, 6) == 0) {
    end(w, t);
  } else if (draw(w, 12) == 0) {
    preempt(w, t);
  } else if (t->stored_tokens < t->prompt_tokens) {
    int64_t left = t->prompt_tokens - t->stored_tokens;
    store(w, t, t->stored_tokens + 1 + draw(w, left), 0);
  } else {
    store(w, t, t->stored_tokens + 1, 0);
  }
}

/* What nobody holds can be found no more. */
static void forget(world *w) {
  int64_t free_blocks = blis_run_pool_free_blocks(w->runs);
  CHECK(blis_run_pool_forget(w->runs) == BLIS_OK);
  blis_block_pool_forget(w->blocks);
  CHECK_EQ_I64(blis_run_pool_free_blocks(w->runs), free_blocks);
  CHECK(blis_block_pool_check(w->blocks));
  CHECK(blis_run_pool_next_are_anonymous(w->runs, free_blocks));
}

static bool is_there(const world *w, blis_block_id id) {
  blis_block_chain one = {.shared = &id, .shared_count = 1, .prompt_blocks = 1};
  return blis_run_pool_match(w->runs, &one, 1, NULL) == 1;
}

static void mark(world *w) {
  blis_block_journal_mark(&w->run_journal);
  blis_block_journal_mark(&w->block_journal);
  for (blis_block_id id = 1; id < IDS; id++) {
    w->was_there[id] = is_there(w, id);
  }
}

static blis_block_chain whole_prompt(const world *w, int prompt) {
  return (blis_block_chain){
      .shared = w->shared[prompt], .shared_count = PREFIX_BLOCKS, .prompt_blocks = PREFIX_BLOCKS};
}

static void check_the_mark(const world *w) {
  for (int p = 0; p < PROMPTS; p++) {
    blis_block_chain chain = whole_prompt(w, p);
    uint32_t count = 0;
    while (count < PREFIX_BLOCKS && w->was_there[w->shared[p][count]]) {
      count++;
    }
    CHECK_EQ_I64(blis_run_pool_match_at_mark(w->runs, &chain), count);
    CHECK_EQ_I64(blis_block_pool_count_at_mark(w->blocks, &chain), count);
  }
}

static void check_matches(world *w) {
  for (int p = 0; p < PROMPTS; p++) {
    blis_block_chain chain = whole_prompt(w, p);
    int64_t unused = 0;
    CHECK(blis_block_pool_match(w->blocks, &chain, &w->found) == BLIS_OK);
    CHECK_EQ_I64(blis_run_pool_match(w->runs, &chain, PREFIX_BLOCKS, &unused), w->found.count);
    CHECK_EQ_I64(unused, blis__block_pool_count_idle(w->blocks, &w->found));
  }
}

static void open_journals(world *w) {
  blis_block_journal_init(&w->run_journal, &w->alloc);
  blis_block_journal_init(&w->block_journal, &w->alloc);
  blis_run_pool_set_journal(w->runs, &w->run_journal);
  blis_block_pool_set_journal(w->blocks, &w->block_journal);
}

static void same_answers(int64_t block_count, int seed) {
  blis_alloc_probe probe = {0};
  blis_random random;
  blis_random_init(&random, seed);
  world w = {.alloc = blis_alloc_probed(&probe), .random = &random};
  blis_error error;
  w.runs = blis_run_pool_new(&w.alloc, block_count);
  CHECK_OK(blis_block_pool_new(&w.alloc, block_count, BLOCK_SIZE, &w.blocks, &error), &error);
  make_prompts(&w);
  for (int i = 0; i < REQUESTS; i++) {
    renew(&w, &w.twins[i]);
  }
  open_journals(&w);
  for (int i = 0; i < OPERATIONS; i++) {
    if (i % 37 == 36) {
      mark(&w);
    }
    if (draw(&w, 200) == 0) {
      forget(&w);
    }
    act(&w, &w.twins[draw(&w, REQUESTS)]);
    blis_block_pool_stats stats;
    blis_block_pool_get_stats(w.blocks, &stats);
    CHECK_EQ_I64(blis_run_pool_free_blocks(w.runs), stats.free_blocks);
    CHECK(blis_run_pool_check(w.runs));
    check_matches(&w);
    check_the_mark(&w);
  }
  blis_block_journal_deinit(&w.run_journal);
  blis_block_journal_deinit(&w.block_journal);
  for (int i = 0; i < REQUESTS; i++) {
    end(&w, &w.twins[i]);
    blis_run_pool_drop_holder(w.runs, &w.twins[i].runs);
    blis_array_deinit(&w.alloc, &w.twins[i].blocks);
  }
  blis_array_deinit(&w.alloc, &w.found);
  blis_run_pool_free(w.runs);
  blis_block_pool_free(w.blocks);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

/* Always short of blocks, now and then, and never. */
static void same_answers_as_single_blocks(void) {
  for (int seed = 1; seed <= 4; seed++) {
    same_answers(40, seed);
    same_answers(MAX_BLOCKS / 2, seed);
    same_answers(MAX_BLOCKS, seed);
    same_answers(REQUESTS * (PREFIX_BLOCKS + 80), seed);
  }
}

static blis_status life(const blis_alloc *alloc) {
  static const blis_block_id shared[3] = {1, 2, 3};
  blis_block_chain chain = {.shared = shared, .shared_count = 3, .prompt_blocks = 3};
  blis_run_pool *pool = blis_run_pool_new(alloc, 8);
  if (pool == NULL) {
    return BLIS_ERR_NOMEM;
  }
  blis_run_holder holder = {0};
  blis_run_pool_take(pool, &holder, 1);
  int64_t taken;
  blis_status status = blis_run_pool_name(pool, &holder, &chain);
  CHECK(blis_run_pool_check(pool));
  if (status == BLIS_OK) {
    status = blis_run_pool_name_up_to(pool, &holder, &chain, 3, &taken);
  }
  while (status == BLIS_OK && (holder.named_blocks > 0 || holder.anonymous > 0)) {
    status = blis_run_pool_release(pool, &holder);
  }
  if (status == BLIS_OK) {
    CHECK_EQ_I64(blis_run_pool_match(pool, &chain, 3, NULL), 3);
  }
  holder.named_blocks = 0;
  holder.anonymous = 0;
  blis_run_pool_drop_holder(pool, &holder);
  blis_run_pool_free(pool);
  return status;
}

static void no_memory_is_an_error(void) {
  for (long n = 1;; n++) {
    blis_alloc_probe probe = {.fail_at = n};
    blis_alloc alloc = blis_alloc_probed(&probe);
    blis_status status = life(&alloc);
    CHECK_EQ_I64(probe.live_bytes, 0);
    if (status == BLIS_OK) {
      CHECK(n > 3);
      return;
    }
    CHECK_STATUS(status, BLIS_ERR_NOMEM);
  }
}

int main(void) {
  RUN(same_answers_as_single_blocks);
  RUN(no_memory_is_an_error);
  return check_done();
}
