/*
 * The pool of block_pool.h against a model that stores tokens and compares
 * hashes of whole prefixes, as an engine that knew nothing of identities would.
 */
#include "kv/block_pool.h"

#include "base/random.h"
#include "check.h"

enum { BLOCKS_MAX = 24, TOKENS_MAX = 64, OWNED_MAX = 70, REQUESTS = 8, GROUPS = 3 };

/* A request as the test drives it. */
typedef struct request {
  int token[2 * TOKENS_MAX]; /* prompt and output */
  int64_t prompt;
  int64_t progress;
  bool is_running;
  blis_block_id shared[TOKENS_MAX];
  blis_block_chain chain;
  blis_block_list holder;
  int owned[OWNED_MAX]; /* the same in the model */
  int owned_count;
} request;

typedef struct model_block {
  int references;
  int tokens[TOKENS_MAX];
  int count;
  uint64_t hash; /* 0 = none */
} model_block;

typedef struct model {
  int blocks;
  int size;
  model_block block[BLOCKS_MAX];
  int free[BLOCKS_MAX]; /* head first */
  int free_count;
  uint64_t table_hash[BLOCKS_MAX]; /* 0 = no entry */
  int table_block[BLOCKS_MAX];
  int hits;
  int misses;
} model;

static uint64_t hash_after(uint64_t previous, const int *tokens, int count) {
  uint64_t hash = previous ^ UINT64_C(0xcbf29ce484222325);
  for (int i = 0; i < count; i++) {
    hash = (hash ^ (uint64_t)tokens[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 29;
  }
  return hash | 1;
}

static int model_find(const model *m, uint64_t hash) {
  for (int i = 0; i < BLOCKS_MAX; i++) {
    if (m->table_hash[i] == hash) {
      return m->table_block[i];
    }
  }
  return -1;
}

static void model_forget(model *m, uint64_t hash) {
  for (int i = 0; i < BLOCKS_MAX; i++) {
    if (hash != 0 && m->table_hash[i] == hash) {
      m->table_hash[i] = 0;
    }
  }
}

static void model_register(model *m, uint64_t hash, int block) {
  model_forget(m, hash);
  for (int i = 0; i < BLOCKS_MAX; i++) {
    if (m->table_hash[i] == 0) {
      m->table_hash[i] = hash;
      m->table_block[i] = block;
      m->block[block].hash = hash;
      return;
    }
  }
  check_fail(__FILE__, __LINE__, "the table has no room");
}

static void model_init(model *m, int blocks, int size) {
  *m = (model){.blocks = blocks, .size = size, .free_count = blocks};
  for (int i = 0; i < blocks; i++) {
    m->free[i] = i;
  }
}

static void model_unfree(model *m, int block) {
  int i = 0;
  while (m->free[i] != block) {
    i++;
  }
  m->free_count--;
  memmove(&m->free[i], &m->free[i + 1], (size_t)(m->free_count - i) * sizeof *m->free);
}

static int model_match(const model *m, const request *r, int *found) {
  uint64_t hash = 0;
  int count = 0;
  for (int k = 0; k < r->prompt / m->size; k++) {
    hash = hash_after(hash, &r->token[k * m->size], m->size);
    int block = model_find(m, hash);
    if (block < 0) {
      break;
    }
    found[count++] = block;
  }
  return count;
}

static void model_hash_last(model *m, const request *r) {
  int block = r->owned[r->owned_count - 1];
  uint64_t previous = r->owned_count > 1 ? m->block[r->owned[r->owned_count - 2]].hash : 0;
  model_register(m, hash_after(previous, m->block[block].tokens, m->size), block);
}

static bool model_fits(const model *m, const request *r, int tokens, const int *cached,
                       int cached_count) {
  int need = tokens;
  if (r->owned_count > 0) {
    int spare = m->size - m->block[r->owned[r->owned_count - 1]].count;
    need -= spare < need ? spare : need;
  }
  int blocks = (need + m->size - 1) / m->size;
  for (int i = 0; i < cached_count; i++) {
    blocks += m->block[cached[i]].references == 0;
  }
  return blocks <= m->free_count;
}

static void model_claim(model *m, request *r, const int *cached, int count) {
  for (int i = 0; i < count; i++) {
    if (m->block[cached[i]].references++ == 0) {
      model_unfree(m, cached[i]);
    }
    r->owned[r->owned_count++] = cached[i];
    m->hits++;
  }
}

static bool model_allocate(model *m, request *r, int64_t start, int64_t end, const int *cached,
                           int cached_count) {
  if (!model_fits(m, r, (int)(end - start), cached, cached_count)) {
    return false;
  }
  if (start < end && r->owned_count == 0) {
    model_claim(m, r, cached, cached_count);
  }
  bool is_prompt = start < r->prompt;
  for (int64_t at = start; at < end; at++) {
    model_block *last = r->owned_count == 0 ? NULL : &m->block[r->owned[r->owned_count - 1]];
    bool is_new = last == NULL || last->count == m->size;
    if (is_new) {
      int block = m->free[0];
      model_unfree(m, block);
      model_forget(m, m->block[block].hash);
      m->block[block] = (model_block){.references = 1};
      r->owned[r->owned_count++] = block;
      last = &m->block[block];
      m->misses++;
    }
    last->tokens[last->count++] = r->token[at];
    if (last->count == m->size && (is_prompt || !is_new)) {
      model_hash_last(m, r);
    }
  }
  return true;
}

static void model_release(model *m, request *r) {
  while (r->owned_count > 0) {
    int block = r->owned[--r->owned_count];
    if (--m->block[block].references == 0) {
      m->free[m->free_count++] = block;
    }
  }
}

/* A prompt with a prefix that its group shares, and its chain. */
static void draw_request(request *r, int number, int size, blis_random *random) {
  int group = blis_random_intn(random, GROUPS);
  int shared_tokens = 10 + 5 * group;
  int prompt = blis_random_intn(random, 40);
  if (blis_random_intn(random, 3) == 0) {
    prompt -= prompt % size;
  }
  int own = prompt < shared_tokens ? prompt : shared_tokens;
  for (int i = 0; i < 2 * TOKENS_MAX; i++) {
    r->token[i] = i < own ? 1 + group * 100 + i : 1000 + number * 200 + i;
  }
  for (int k = 0; k < own / size; k++) {
    r->shared[k] = (blis_block_id)(1 + group * 100 + k);
  }
  r->prompt = prompt;
  r->progress = 0;
  r->is_running = false;
  r->chain = (blis_block_chain){
      .shared = r->shared,
      .shared_count = (uint32_t)(own / size),
      .prompt_blocks = (uint32_t)(prompt / size),
      .private_base = BLIS_BLOCK_PRIVATE | (uint64_t)number * 1000,
  };
}

typedef struct world {
  blis_block_pool *pool;
  model model;
  request requests[REQUESTS];
  blis_block_list found;
  int next_number;
} world;

static bool allocate_both(world *w, request *r, int64_t start, int64_t end, bool with_match) {
  int cached[BLOCKS_MAX];
  int count = with_match ? (int)w->found.count : 0;
  for (int i = 0; i < count; i++) {
    cached[i] = (int)w->found.items[i];
  }
  blis_block_span span = {
      .chain = &r->chain, .prompt_tokens = r->prompt, .start_tokens = start, .end_tokens = end};
  bool is_done;
  CHECK(blis_block_pool_allocate(w->pool, &r->holder, &span, with_match ? &w->found : NULL,
                                 &is_done) == BLIS_OK);
  CHECK(is_done == model_allocate(&w->model, r, start, end, cached, count));
  return is_done;
}

static void admit(world *w, request *r, blis_random *random) {
  int found[BLOCKS_MAX];
  CHECK(blis_block_pool_match(w->pool, &r->chain, &w->found) == BLIS_OK);
  int count = model_match(&w->model, r, found);
  CHECK_EQ_I64(w->found.count, count);
  for (int i = 0; i < count; i++) {
    CHECK_EQ_I64(w->found.items[i], found[i]);
  }
  int64_t cached = (int64_t)count * w->model.size;
  int64_t tokens = r->prompt - cached;
  if (tokens > 3 && blis_random_intn(random, 2) == 0) {
    tokens = 1 + blis_random_intn(random, (int32_t)tokens);
  }
  int64_t stored = r->prompt == 0 ? 1 : tokens;
  if (allocate_both(w, r, cached, cached + stored, true)) {
    r->is_running = true;
    r->progress = cached + tokens;
  }
}

static void go_on(world *w, request *r, blis_random *random) {
  int64_t tokens = 1;
  if (r->progress < r->prompt) {
    int32_t rest = (int32_t)(r->prompt - r->progress);
    tokens = 1 + blis_random_intn(random, rest);
  }
  if (r->progress + tokens >= TOKENS_MAX - 1) {
    return;
  }
  if (allocate_both(w, r, r->progress, r->progress + tokens, false)) {
    r->progress += tokens;
  }
}

static void release_both(world *w, request *r) {
  blis_block_pool_release(w->pool, &r->holder);
  model_release(&w->model, r);
  r->is_running = false;
  r->progress = 0;
}

static void change_both(world *w, blis_random *random) {
  request *r = &w->requests[blis_random_intn(random, REQUESTS)];
  if (!r->is_running) {
    admit(w, r, random);
  } else if (blis_random_intn(random, 8) > 0) {
    go_on(w, r, random);
  } else {
    release_both(w, r);
    if (blis_random_intn(random, 3) > 0) {
      draw_request(r, w->next_number++, w->model.size, random);
    }
  }
}

static void check_same(const world *w) {
  CHECK(blis_block_pool_check(w->pool));
  blis_block_pool_stats stats;
  blis_block_pool_get_stats(w->pool, &stats);
  CHECK_EQ_I64(stats.blocks, w->model.blocks);
  CHECK_EQ_I64(stats.free_blocks, w->model.free_count);
  CHECK_EQ_I64(stats.hits, w->model.hits);
  CHECK_EQ_I64(stats.misses, w->model.misses);
  int64_t references = 0;
  for (int i = 0; i < REQUESTS; i++) {
    const request *r = &w->requests[i];
    int found[BLOCKS_MAX];
    CHECK_EQ_I64(blis_block_pool_count_cached(w->pool, &r->chain),
                 model_match(&w->model, r, found));
    CHECK_EQ_I64(r->holder.count, r->owned_count);
    for (int k = 0; k < r->owned_count; k++) {
      CHECK_EQ_I64(r->holder.items[k], r->owned[k]);
    }
    references += r->owned_count;
  }
  CHECK_EQ_I64(stats.references, references);
}

static void behaves_like_the_model(int blocks, int size) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_error error;
  blis_random random;
  blis_random_init(&random, 100 * blocks + size);
  world w = {.next_number = 1};
  model_init(&w.model, blocks, size);
  CHECK_OK(blis_block_pool_new(&alloc, blocks, size, &w.pool, &error), &error);
  for (int i = 0; i < REQUESTS; i++) {
    draw_request(&w.requests[i], w.next_number++, size, &random);
  }
  for (int round = 0; round < 20000; round++) {
    change_both(&w, &random);
    check_same(&w);
  }
  CHECK(w.model.hits > 0 && w.model.misses > 0);
  for (int i = 0; i < REQUESTS; i++) {
    blis_array_deinit(&alloc, &w.requests[i].holder);
  }
  blis_array_deinit(&alloc, &w.found);
  blis_block_pool_free(w.pool);
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void test_random_operations(void) {
  static const int sizes[][2] = {{24, 4}, {10, 4}, {24, 1}, {16, 2}, {5, 16}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    behaves_like_the_model(sizes[i][0], sizes[i][1]);
  }
}

static blis_block_chain own_chain(uint64_t number, uint32_t prompt_blocks) {
  return (blis_block_chain){.prompt_blocks = prompt_blocks,
                            .private_base = BLIS_BLOCK_PRIVATE | number * 1000};
}

static void test_identity_on_and_off_the_chain(void) {
  blis_block_chain chain = own_chain(7, 2);
  blis_block_id base = chain.private_base;
  CHECK(blis__block_identity(BLIS_BLOCK_NONE, &chain, 0, 4) == base);
  CHECK(blis__block_identity(base + 1, &chain, 8, 4) == base + 2);
  /* Output of a fully cached prompt, which holds no blocks. */
  blis_block_id output = blis__block_identity(BLIS_BLOCK_NONE, &chain, 8, 4);
  CHECK((output & BLIS_BLOCK_OFF_CHAIN) != 0);
  CHECK(blis__block_identity(BLIS_BLOCK_NONE, &chain, 8, 4) == output);
  CHECK(blis__block_identity(output, &chain, 12, 4) != base + 3);
  /* A chunk that ends inside a block that was found whole. */
  blis_block_id shifted = blis__block_identity(base, &chain, 3, 4);
  CHECK((shifted & BLIS_BLOCK_OFF_CHAIN) != 0 && shifted != output);
  blis_block_chain other = own_chain(8, 2);
  CHECK(blis__block_identity(BLIS_BLOCK_NONE, &other, 8, 4) != output);
}

static void test_wrong_sizes(void) {
  static const struct {
    int64_t blocks;
    int64_t size;
    const char *part;
  } cases[] = {
      {0, 16, "number of KV blocks is 0"},
      {-5, 16, "number of KV blocks is -5"},
      {INT64_MAX, 16, "expected 1 to 4294967294"},
      {1, 0, "KV block size in tokens is 0"},
      {1, UINT32_MAX, "KV block size in tokens is 4294967295"},
  };
  blis_alloc alloc = blis_alloc_heap();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_block_pool *pool;
    blis_error error;
    CHECK_STATUS(blis_block_pool_new(&alloc, cases[i].blocks, cases[i].size, &pool, &error),
                 BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].part);
  }
  blis_block_pool_free(NULL);
}

static void take_blocks(blis_block_pool *pool, blis_block_list *holder,
                        const blis_block_chain *chain, int64_t tokens) {
  const blis_block_span span = {.chain = chain, .prompt_tokens = tokens, .end_tokens = tokens};
  bool is_done;
  CHECK_STATUS(blis_block_pool_allocate(pool, holder, &span, NULL, &is_done), BLIS_OK);
  CHECK(is_done);
}

/* What is put back is taken again, and others lose no named block for it. */
static void test_put_back(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_block_pool *pool;
  blis_block_list named = {0};
  blis_block_list ahead = {0};
  blis_block_list found = {0};
  blis_block_chain chain = own_chain(1, 50);
  CHECK_STATUS(blis_block_pool_new(&alloc, 8, 4, &pool, NULL), BLIS_OK);
  take_blocks(pool, &named, &chain, 24);
  blis_block_pool_release(pool, &named); /* six of the eight are findable */
  for (int i = 0; i < 20; i++) {
    take_blocks(pool, &ahead, NULL, 8);
    CHECK_EQ_I64(ahead.count, 2);
    CHECK(i == 0 || ahead.items[0] < ahead.items[1]);
    blis_block_pool_put_back(pool, &ahead);
    CHECK_EQ_I64(ahead.count, 0);
    CHECK(blis_block_pool_check(pool));
    blis_block_pool_stats stats;
    blis_block_pool_get_stats(pool, &stats);
    CHECK_EQ_I64(stats.free_blocks, 8);
  }
  CHECK_STATUS(blis_block_pool_match(pool, &chain, &found), BLIS_OK);
  CHECK_EQ_I64(found.count, 6);
  blis_array_deinit(&alloc, &named);
  blis_array_deinit(&alloc, &ahead);
  blis_array_deinit(&alloc, &found);
  blis_block_pool_free(pool);
}

/* One allocation after the other, each repeated until memory suffices. */
static void grow_under_pressure(blis_block_pool *pool, const blis_alloc *alloc, int64_t *failures) {
  blis_block_list holder = {0};
  blis_block_list found = {0};
  blis_block_chain chain = own_chain(1, 50);
  for (int64_t at = 0; at < 200; at += 10) {
    blis_block_span span = {
        .chain = &chain, .prompt_tokens = 200, .start_tokens = at, .end_tokens = at + 10};
    blis_block_pool_stats before;
    blis_block_pool_stats after;
    bool is_done = false;
    blis_block_pool_get_stats(pool, &before);
    while (blis_block_pool_allocate(pool, &holder, &span, NULL, &is_done) != BLIS_OK) {
      ++*failures;
      blis_block_pool_get_stats(pool, &after);
      CHECK(memcmp(&before, &after, sizeof before) == 0);
      CHECK(blis_block_pool_check(pool));
    }
    CHECK(is_done);
    while (blis_block_pool_match(pool, &chain, &found) != BLIS_OK) {
      ++*failures;
    }
    CHECK_EQ_I64(found.count, (at + 10) / 4);
  }
  blis_array_deinit(alloc, &holder);
  blis_array_deinit(alloc, &found);
}

static void test_out_of_memory(void) {
  int64_t failures = 0;
  for (long fail_at = 1; fail_at < 40; fail_at++) {
    blis_alloc_probe memory = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_block_pool *pool;
    if (blis_block_pool_new(&alloc, 60, 4, &pool, NULL) != BLIS_OK) {
      CHECK_EQ_I64(memory.live_bytes, 0);
      failures++;
      continue;
    }
    grow_under_pressure(pool, &alloc, &failures);
    blis_block_pool_free(pool);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(failures >= 8);
}

int main(void) {
  RUN(test_random_operations);
  RUN(test_identity_on_and_off_the_chain);
  RUN(test_put_back);
  RUN(test_wrong_sizes);
  RUN(test_out_of_memory);
  return check_done();
}
