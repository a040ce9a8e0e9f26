/* Blocks of several KV groups: worked examples, and random sequences against definitions. */
#include "kv/group_cache.h"

#include "base/minmax.h"
#include "check.h"
#include "kv_layouts.h"

enum { IDS = 64, SEQUENCES = 6, TEXTS = 3 };

typedef struct sequence {
  blis_group_holder holder;
  blis_block_chain chain;
  int64_t computed; /* 0 = not running */
  int64_t length;
  bool was_brought;
} sequence;

typedef struct world {
  blis_alloc alloc;
  blis_kv_layout layout;
  blis_block_pool *pool;
  blis_group_cache *cache;
  int64_t size;
  int64_t drafts;
  sequence sequences[SEQUENCES];
  uint64_t next_private;
} world;

static blis_block_id texts[TEXTS][IDS];

static void begin(world *w, const blis_kv_layout *layout, int64_t blocks, int64_t size) {
  blis_error error;
  *w = (world){.alloc = blis_alloc_heap(), .layout = *layout, .size = size};
  CHECK_OK(blis_kv_layout_check(layout, size, &error), &error);
  CHECK_OK(blis_block_pool_new(&w->alloc, blocks, size, &w->pool, &error), &error);
  w->cache = blis_group_cache_new(&w->alloc, layout, w->pool, size, w->drafts);
  CHECK(w->cache != NULL);
}

static void end(world *w) {
  for (int i = 0; i < SEQUENCES; i++) {
    blis_group_cache_release(w->cache, &w->sequences[i].holder);
    blis_group_holder_deinit(&w->alloc, &w->sequences[i].holder);
  }
  blis_group_cache_free(w->cache);
  blis_block_pool_free(w->pool);
}

static blis_block_id id_of(const world *w, size_t kind, size_t group, const blis_block_chain *chain,
                           int64_t block) {
  int64_t ratio = w->layout.groups[kind].block_tokens / w->size;
  return blis_block_chain_at(chain, (uint32_t)((block + 1) * ratio - 1)) +
         blis_kv_group_mark(group);
}

/* By definition: every group has all blocks that a sequence of that length keeps. */
static bool is_hit(const world *w, const blis_block_chain *chain, int64_t tokens) {
  size_t group = 0;
  for (size_t i = 0; i < w->layout.count; i++) {
    const blis_kv_group *kind = &w->layout.groups[i];
    for (int64_t k = 0; k < kind->count; k++, group++) {
      for (int64_t b = blis_kv_group_first(&w->layout, kind, tokens);
           b < blis_kv_group_end(kind, tokens); b++) {
        if (!blis__block_pool_has(w->pool, id_of(w, i, group, chain, b))) {
          return false;
        }
      }
    }
  }
  return true;
}

static int64_t longest_hit(const world *w, const blis_block_chain *chain, int64_t limit) {
  int64_t step = blis_kv_layout_hit_tokens(&w->layout);
  int64_t tokens = blis_kv_layout_has_no_hits(&w->layout) ? 0 : limit / step * step;
  while (tokens > 0 && !is_hit(w, chain, tokens)) {
    tokens -= step;
  }
  return tokens;
}

/* Blocks are conserved: each is free, or held by the sequences that count it. */
static void check_world(const world *w) {
  blis_block_pool_stats stats;
  int64_t held = 0;
  CHECK(blis_block_pool_check(w->pool));
  blis_block_pool_get_stats(w->pool, &stats);
  for (int i = 0; i < SEQUENCES; i++) {
    held += w->sequences[i].holder.held;
  }
  CHECK_EQ_I64(held, stats.references);
}

static void check_held(const world *w, const sequence *s, int64_t before, int64_t after) {
  size_t group = 0;
  for (size_t i = 0; i < w->layout.count; i++) {
    const blis_kv_group *kind = &w->layout.groups[i];
    bool skips = kind->kind == BLIS_KV_STATE && kind->states == BLIS_KV_STATES_AT_STEPS;
    for (int64_t k = 0; k < kind->count; k++, group++) {
      const blis_group_blocks *list = &s->holder.groups[group];
      int64_t first = blis_kv_group_first(&w->layout, kind, before);
      int64_t last = blis_kv_group_end(kind, after);
      int64_t count = (int64_t)list->blocks.count;
      CHECK_EQ_I64(list->first + count, last);
      CHECK(list->first >= first && (list->first == first || s->was_brought || count == 0));
      int64_t real = 0;
      for (int64_t b = 0; b < count; b++) {
        real += list->blocks.items[b] != BLIS_KV_NO_BLOCK;
      }
      CHECK(skips ? real <= 2 : real == count);
    }
  }
}

static void start(world *w, blis_random *random, sequence *s) {
  int text = blis_random_intn(random, TEXTS);
  s->length = 1 + blis_random_intn(random, (int32_t)(IDS * w->size) - 1);
  int64_t shared = blis_random_intn(random, 3) == 0 ? 0 : s->length / w->size;
  s->chain = (blis_block_chain){.shared = texts[text],
                                .shared_count = (uint32_t)shared,
                                .prompt_blocks = (uint32_t)(s->length / w->size),
                                .private_base = BLIS_BLOCK_PRIVATE | (w->next_private += 1000)};
}

static bool store(world *w, sequence *s, int64_t from, int64_t to, int64_t computed,
                  const blis_group_found *found) {
  blis_block_pool_stats before;
  blis_block_pool_stats after;
  bool is_done;
  blis_block_pool_get_stats(w->pool, &before);
  const blis_block_span span = {
      .chain = &s->chain, .prompt_tokens = s->length, .start_tokens = from, .end_tokens = to};
  CHECK(blis_group_cache_allocate(w->cache, &s->holder, &span, computed, found, &is_done) ==
        BLIS_OK);
  blis_block_pool_get_stats(w->pool, &after);
  CHECK(is_done || after.free_blocks >= before.free_blocks);
  check_world(w);
  return is_done;
}

static void begin_sequence(world *w, blis_random *random, sequence *s) {
  blis_group_found found = {0};
  start(w, random, s);
  int64_t limit = (s->length - 1) / w->size * w->size;
  CHECK(blis_group_cache_match(w->cache, &s->chain, limit, &found) == BLIS_OK);
  CHECK_EQ_I64(found.tokens, longest_hit(w, &s->chain, limit));
  CHECK_EQ_I64(found.tokens, blis_group_cache_count(w->cache, &s->chain, limit, false));
  CHECK(found.tokens < s->length);
  int64_t to = found.tokens + 1 + blis_random_intn(random, (int32_t)(s->length - found.tokens));
  s->was_brought = blis_random_intn(random, 4) == 0;
  int64_t computed = s->was_brought ? to : found.tokens;
  if (store(w, s, found.tokens, to, computed, &found)) {
    check_held(w, s, computed, to);
    s->computed = to;
  } else {
    CHECK_EQ_I64(s->holder.held, 0);
  }
  blis_array_deinit(&w->alloc, &found.blocks);
}

static void go_on(world *w, blis_random *random, sequence *s) {
  int64_t left = s->length - s->computed;
  if (left == 0 || blis_random_intn(random, 6) == 0) {
    blis_group_cache_release(w->cache, &s->holder);
    s->computed = 0;
    check_world(w);
    return;
  }
  int64_t to = s->computed + 1 +
               (blis_random_intn(random, 2) == 0 ? 0 : blis_random_intn(random, (int32_t)left));
  if (store(w, s, s->computed, to, s->computed, NULL)) {
    check_held(w, s, s->computed, to);
    s->computed = to;
  }
}

static void sequences_follow_the_definitions(void) {
  static const int64_t sizes[] = {1, 2, 4};
  for (int64_t seed = 0; seed < CASES(1500); seed++) {
    blis_random random;
    blis_random_init(&random, seed);
    world w;
    int64_t size = sizes[blis_random_intn(&random, 3)];
    blis_kv_layout layout = draw_kv_layout(&random, size, true);
    begin(&w, &layout, 20 + blis_random_intn(&random, 300), size);
    for (int step = 0; step < 120; step++) {
      sequence *s = &w.sequences[blis_random_intn(&random, SEQUENCES)];
      if (s->computed == 0) {
        begin_sequence(&w, &random, s);
      } else {
        go_on(&w, &random, s);
      }
    }
    end(&w);
  }
}

/* A window of 8 with blocks of 4: the blocks behind the window return and keep their
   names, and a hit needs only the last ones. */
static void windows_return_blocks_that_stay_findable(void) {
  const blis_kv_layout layout = {
      .groups = {{.kind = BLIS_KV_FULL, .block_tokens = 4, .count = 1},
                 {.kind = BLIS_KV_WINDOW, .block_tokens = 4, .span_tokens = 8, .count = 1}},
      .count = 2};
  world w;
  blis_block_pool_stats stats;
  begin(&w, &layout, 40, 4);
  sequence *a = &w.sequences[0];
  a->chain = (blis_block_chain){.shared = texts[0], .shared_count = 5, .prompt_blocks = 5};
  a->length = 20;
  CHECK(store(&w, a, 0, 20, 0, NULL));
  CHECK_EQ_I64(a->holder.held, 10); /* the chunk that is computed stays whole */
  CHECK(store(&w, a, 20, 21, 20, NULL));
  CHECK_EQ_I64(a->holder.held, 6 + 3); /* tokens 13 to 20 of the window */
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 20, false), 20);
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 12, false), 12);
  blis_block_pool_get_stats(w.pool, &stats);
  CHECK_EQ_I64(stats.free_blocks, 40 - 9);
  sequence *b = &w.sequences[1]; /* takes all blocks that never had a name */
  b->chain = (blis_block_chain){.private_base = BLIS_BLOCK_PRIVATE | 1, .prompt_blocks = 15};
  CHECK(store(&w, b, 0, 56, 0, NULL));
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 12, false), 12);
  CHECK(store(&w, b, 56, 60, 56, NULL)); /* takes blocks 2 and 1 of a's window */
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 20, false), 20);
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 12, false), 4);
  end(&w);
}

/* States at the ends of steps: two at most, found only at the borders where a step ended. */
static void states_are_found_where_steps_ended(void) {
  const blis_kv_layout layout = {.groups = {{.kind = BLIS_KV_FULL, .block_tokens = 4, .count = 1},
                                            {.kind = BLIS_KV_STATE,
                                             .block_tokens = 4,
                                             .count = 3,
                                             .states = BLIS_KV_STATES_AT_STEPS}},
                                 .count = 2};
  world w;
  begin(&w, &layout, 40, 4);
  sequence *a = &w.sequences[0];
  a->chain = (blis_block_chain){.shared = texts[0], .shared_count = 5, .prompt_blocks = 5};
  a->length = 20;
  CHECK(store(&w, a, 0, 12, 0, NULL));
  CHECK_EQ_I64(a->holder.held, 3 + 3);
  CHECK(store(&w, a, 12, 20, 12, NULL));
  CHECK_EQ_I64(a->holder.held, 5 + 6);
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 20, false), 20);
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 19, false), 12);
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 11, false), 0);
  CHECK(store(&w, a, 20, 21, 20, NULL));
  CHECK_EQ_I64(a->holder.held, 6 + 6);
  end(&w);
}

/* A chunk of 8 with blocks of 4: nothing is needed at a border. */
static void chunks_need_nothing_at_their_border(void) {
  const blis_kv_layout layout = {
      .groups = {{.kind = BLIS_KV_CHUNK, .block_tokens = 4, .span_tokens = 8, .count = 1}},
      .count = 1};
  world w;
  begin(&w, &layout, 40, 4);
  sequence *a = &w.sequences[0];
  a->chain = (blis_block_chain){.shared = texts[0], .shared_count = 5, .prompt_blocks = 5};
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 19, false), 16);
  CHECK(store(&w, a, 0, 20, 0, NULL));
  CHECK_EQ_I64(a->holder.held, 5);
  CHECK(store(&w, a, 20, 21, 20, NULL));
  CHECK_EQ_I64(a->holder.held, 2);
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &a->chain, 20, false), 20);
  end(&w);
}

static void drafts_have_states_of_their_own(void) {
  const blis_kv_layout layout = {
      .groups = {{.kind = BLIS_KV_STATE, .count = 2, .states = BLIS_KV_STATES_NONE}}, .count = 1};
  world w;
  begin(&w, &layout, 9, 4);
  blis_group_cache_free(w.cache);
  w.cache = blis_group_cache_new(&w.alloc, &layout, w.pool, 4, 3);
  CHECK(store(&w, &w.sequences[0], 0, 1000, 0, NULL));
  CHECK_EQ_I64(w.sequences[0].holder.held, 8);
  CHECK(!store(&w, &w.sequences[1], 0, 1, 0, NULL));
  CHECK(store(&w, &w.sequences[0], 1000, 1001, 1000, NULL));
  CHECK_EQ_I64(w.sequences[0].holder.held, 8);
  CHECK_EQ_I64(blis_group_cache_count(w.cache, &w.sequences[0].chain, 1000, false), 0);
  end(&w);
}

int main(void) {
  for (int t = 0; t < TEXTS; t++) {
    for (int k = 0; k < IDS; k++) {
      texts[t][k] = (blis_block_id)(1 + (k < 9 && t > 0 ? 0 : t) * IDS + k);
    }
  }
  RUN(sequences_follow_the_definitions);
  RUN(windows_return_blocks_that_stay_findable);
  RUN(states_are_found_where_steps_ended);
  RUN(chunks_need_nothing_at_their_border);
  RUN(drafts_have_states_of_their_own);
  return check_done();
}
