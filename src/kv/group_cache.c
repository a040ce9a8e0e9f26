#include "kv/group_cache.h"

#include <string.h>

#include "base/invariant.h"
#include "base/minmax.h"

struct blis_group_cache {
  blis_alloc alloc;
  blis_kv_layout layout;
  blis_block_pool *pool;
  int64_t identity_tokens;
  int64_t drafts;
  int64_t hit_tokens;
  bool has_hits;
  size_t count;
  const blis_kv_group *groups[BLIS_KV_LAYOUT_GROUPS]; /* identical groups are listed individually */
};

blis_group_cache *blis_group_cache_new(const blis_alloc *alloc, const blis_kv_layout *layout,
                                       blis_block_pool *pool, int64_t identity_tokens,
                                       int64_t drafts) {
  blis_group_cache *cache = blis_alloc_zeroed(alloc, 1, sizeof *cache);
  if (cache == NULL) {
    return NULL;
  }
  cache->alloc = *alloc;
  cache->layout = *layout;
  cache->pool = pool;
  cache->identity_tokens = identity_tokens;
  cache->drafts = drafts;
  cache->hit_tokens = blis_kv_layout_hit_tokens(layout);
  cache->has_hits = !blis_kv_layout_has_no_hits(layout);
  for (size_t i = 0; i < layout->count; i++) {
    for (int64_t k = 0; k < layout->groups[i].count; k++) {
      cache->groups[cache->count++] = &cache->layout.groups[i];
    }
  }
  return cache;
}

void blis_group_cache_free(blis_group_cache *cache) {
  if (cache != NULL) {
    blis_alloc alloc = cache->alloc;
    blis_alloc_free(&alloc, cache, sizeof *cache);
  }
}

void blis_group_holder_deinit(const blis_alloc *alloc, blis_group_holder *holder) {
  for (size_t g = 0; g < holder->count; g++) {
    blis_array_deinit(alloc, &holder->groups[g].blocks);
  }
  blis_array_deinit(alloc, &holder->drafts);
  blis_alloc_free(alloc, holder->groups, holder->count * sizeof *holder->groups);
  *holder = (blis_group_holder){0};
}

/* Prefixes. */

static blis_block_id identity(const blis_group_cache *cache, size_t group,
                              const blis_block_chain *chain, int64_t block) {
  int64_t ratio = cache->groups[group]->block_tokens / cache->identity_tokens;
  return blis_block_chain_at(chain, (uint32_t)((block + 1) * ratio - 1)) +
         blis_kv_group_mark(group);
}

static bool is_cached(const blis_group_cache *cache, size_t group, const blis_block_chain *chain,
                      int64_t block, bool at_mark) {
  blis_block_id id = identity(cache, group, chain, block);
  return at_mark ? blis__block_pool_had(cache->pool, id) : blis__block_pool_has(cache->pool, id);
}

/* Returns the length of the longest prefix, at most `tokens`, that is a hit for this group. */
static int64_t longest_of_group(const blis_group_cache *cache, size_t group,
                                const blis_block_chain *chain, int64_t tokens, bool at_mark) {
  const blis_kv_group *kind = cache->groups[group];
  while (tokens > 0) {
    int64_t first = blis_kv_group_first(&cache->layout, kind, tokens);
    int64_t block = blis_kv_group_end(kind, tokens) - 1;
    while (block >= first && is_cached(cache, group, chain, block, at_mark)) {
      block--;
    }
    if (block < first) {
      return tokens;
    }
    /* Every longer candidate also needs this block, which is missing. */
    tokens = block * kind->block_tokens / cache->hit_tokens * cache->hit_tokens;
  }
  return 0;
}

int64_t blis_group_cache_count(const blis_group_cache *cache, const blis_block_chain *chain,
                               int64_t limit_tokens, bool at_mark) {
  if (!cache->has_hits) {
    return 0;
  }
  int64_t tokens = limit_tokens / cache->hit_tokens * cache->hit_tokens;
  for (size_t agreed = 0, g = 0; agreed < cache->count && tokens > 0; g = (g + 1) % cache->count) {
    int64_t longest = longest_of_group(cache, g, chain, tokens, at_mark);
    agreed = longest < tokens ? 1 : agreed + 1;
    tokens = longest;
  }
  return tokens;
}

blis_status blis_group_cache_match(const blis_group_cache *cache, const blis_block_chain *chain,
                                   int64_t limit_tokens, blis_group_found *found) {
  found->blocks.count = 0;
  found->tokens = blis_group_cache_count(cache, chain, limit_tokens, false);
  for (size_t g = 0; g < cache->count && found->tokens > 0; g++) {
    const blis_kv_group *kind = cache->groups[g];
    int64_t end = blis_kv_group_end(kind, found->tokens);
    for (int64_t k = blis_kv_group_first(&cache->layout, kind, found->tokens); k < end; k++) {
      uint32_t index;
      bool is_there = blis__block_pool_find(cache->pool, identity(cache, g, chain, k), &index);
      BLIS_ASSERT(is_there);
      BLIS_TRY(blis_array_push(&cache->alloc, &found->blocks, index));
    }
  }
  return BLIS_OK;
}

/* Holders. */

static blis_status prepare(const blis_group_cache *cache, blis_group_holder *holder) {
  if (holder->groups == NULL) {
    holder->groups = blis_alloc_zeroed(&cache->alloc, cache->count, sizeof *holder->groups);
    holder->count = holder->groups == NULL ? 0 : cache->count;
  }
  return holder->groups == NULL ? BLIS_ERR_NOMEM : BLIS_OK;
}

static int64_t end_of(const blis_group_blocks *list) {
  return list->first + (int64_t)list->blocks.count;
}

/* Returns the blocks of the list before index first to the pool, the deepest one first. */
static void give_front(blis_group_cache *cache, blis_group_holder *holder, blis_group_blocks *list,
                       int64_t first) {
  int64_t count = blis_min_i64(first, end_of(list)) - list->first;
  if (count <= 0) {
    return;
  }
  for (int64_t i = count; i-- > 0;) {
    if (list->blocks.items[i] != BLIS_KV_NO_BLOCK) {
      blis__block_pool_give(cache->pool, list->blocks.items[i]);
      holder->held--;
    }
  }
  list->blocks.count -= (size_t)count;
  memmove(list->blocks.items, list->blocks.items + count,
          list->blocks.count * sizeof *list->blocks.items);
  list->first += count;
}

static bool skips_borders(const blis_kv_group *kind) {
  return kind->kind == BLIS_KV_STATE && kind->states == BLIS_KV_STATES_AT_STEPS;
}

/* The range of new blocks of a group, and how many of them are taken. */
typedef struct new_blocks {
  int64_t first; /* first new index; of the new indexes, only the last `taken` get blocks */
  int64_t end;
  int64_t taken;
} new_blocks;

static new_blocks plan_blocks(const blis_group_cache *cache, size_t group, int64_t held_end,
                              int64_t computed, int64_t end_tokens) {
  const blis_kv_group *kind = cache->groups[group];
  int64_t first = blis_max_i64(held_end, blis_kv_group_first(&cache->layout, kind, computed));
  int64_t end = blis_max_i64(blis_kv_group_end(kind, end_tokens), first);
  int64_t count = end - first;
  return (new_blocks){first, end, skips_borders(kind) ? blis_min_i64(count, 1) : count};
}

/*
 * Returns the number of leading found blocks that are not needed. Sets the range of found blocks.
 */
static int64_t dropped_of_found(const blis_group_cache *cache, size_t group, int64_t found_tokens,
                                int64_t computed, int64_t *first, int64_t *end) {
  const blis_kv_group *kind = cache->groups[group];
  *first = blis_kv_group_first(&cache->layout, kind, found_tokens);
  *end = blis_kv_group_end(kind, found_tokens);
  int64_t needed = blis_kv_group_first(&cache->layout, kind, computed);
  return blis_min_i64(blis_max_i64(needed - *first, 0), *end - *first);
}

static int64_t states_of_drafts(const blis_group_cache *cache) {
  int64_t states = 0;
  for (size_t g = 0; g < cache->count; g++) {
    states += cache->groups[g]->kind == BLIS_KV_STATE ? cache->drafts : 0;
  }
  return states;
}

/*
 * Returns the number of free blocks that the allocation needs: new blocks, and found blocks that no
 * sequence holds.
 */
static int64_t needed_blocks(const blis_group_cache *cache, const blis_group_holder *holder,
                             int64_t computed, int64_t end_tokens, const blis_group_found *found) {
  int64_t needed = holder->held == 0 ? states_of_drafts(cache) : 0;
  size_t offset = 0;
  for (size_t g = 0; g < cache->count; g++) {
    int64_t held_end = end_of(&holder->groups[g]);
    if (found != NULL) {
      int64_t first;
      int64_t dropped = dropped_of_found(cache, g, found->tokens, computed, &first, &held_end);
      size_t count = (size_t)(held_end - first);
      blis_block_list claimed = {.items = found->blocks.items + offset + dropped,
                                 .count = count - (size_t)dropped};
      needed += count == 0 ? 0 : blis__block_pool_count_idle(cache->pool, &claimed);
      offset += count;
    }
    needed += plan_blocks(cache, g, held_end, computed, end_tokens).taken;
  }
  return needed;
}

static blis_status reserve(blis_group_cache *cache, blis_group_holder *holder, int64_t computed,
                           int64_t end_tokens) {
  int64_t all = 0;
  for (size_t g = 0; g < cache->count; g++) {
    blis_group_blocks *list = &holder->groups[g];
    int64_t first = list->first;
    if (list->blocks.count == 0) {
      first = blis_kv_group_first(&cache->layout, cache->groups[g], computed);
    }
    int64_t most = blis_kv_group_end(cache->groups[g], end_tokens) - first;
    most = blis_max_i64(most, (int64_t)list->blocks.count);
    BLIS_TRY(blis_array_reserve(&cache->alloc, &list->blocks, (size_t)most));
    all += most;
  }
  BLIS_TRY(blis_array_reserve(&cache->alloc, &holder->drafts, (size_t)states_of_drafts(cache)));
  return blis__block_pool_reserve_names(cache->pool, all);
}

static void claim(blis_group_cache *cache, blis_group_holder *holder, int64_t computed,
                  const blis_group_found *found) {
  size_t offset = 0;
  for (size_t g = 0; g < cache->count; g++) {
    blis_group_blocks *list = &holder->groups[g];
    int64_t first;
    int64_t end;
    int64_t dropped = dropped_of_found(cache, g, found->tokens, computed, &first, &end);
    size_t count = (size_t)(end - first - dropped);
    BLIS_ASSERT(list->blocks.count == 0);
    list->first = first + dropped;
    list->named = end;
    if (count > 0) {
      blis__block_pool_claim(cache->pool, &list->blocks,
                             &found->blocks.items[offset + (size_t)dropped], count);
    }
    holder->held += (int64_t)count;
    offset += (size_t)(end - first);
  }
}

static void take(blis_group_cache *cache, blis_group_holder *holder, int64_t computed,
                 int64_t end_tokens) {
  for (size_t g = 0; g < cache->count; g++) {
    blis_group_blocks *list = &holder->groups[g];
    new_blocks more = plan_blocks(cache, g, end_of(list), computed, end_tokens);
    if (list->blocks.count == 0) {
      list->first = more.first;
    }
    list->named = blis_max_i64(list->named, list->first);
    for (int64_t k = more.first; k < more.end; k++) {
      bool is_real = k >= more.end - more.taken;
      list->blocks.items[list->blocks.count++] =
          is_real ? blis__block_pool_take(cache->pool) : BLIS_KV_NO_BLOCK;
      holder->held += is_real;
    }
  }
}

static void take_drafts(blis_group_cache *cache, blis_group_holder *holder) {
  for (int64_t n = states_of_drafts(cache); n > 0; n--) {
    holder->drafts.items[holder->drafts.count++] = blis__block_pool_take(cache->pool);
    holder->held++;
  }
}

/* Names the full blocks of holder. The table must have reserved capacity. */
static void name(blis_group_cache *cache, blis_group_holder *holder, const blis_block_chain *chain,
                 int64_t tokens) {
  for (size_t g = 0; g < cache->count && cache->has_hits; g++) {
    blis_group_blocks *list = &holder->groups[g];
    int64_t full = blis_min_i64(tokens / cache->groups[g]->block_tokens, end_of(list));
    for (int64_t k = blis_max_i64(list->named, list->first); k < full; k++) {
      uint32_t index = list->blocks.items[k - list->first];
      if (index != BLIS_KV_NO_BLOCK) {
        blis__block_pool_register(cache->pool, index, identity(cache, g, chain, k));
      }
    }
    list->named = blis_max_i64(list->named, full);
  }
}

blis_status blis_group_cache_allocate(blis_group_cache *cache, blis_group_holder *holder,
                                      const blis_block_span *span, int64_t computed_tokens,
                                      const blis_group_found *found, bool *is_done) {
  BLIS_TRY(prepare(cache, holder));
  bool is_new = holder->held == 0;
  for (size_t g = 0; g < cache->count; g++) {
    give_front(cache, holder, &holder->groups[g],
               blis_kv_group_first(&cache->layout, cache->groups[g], computed_tokens));
  }
  const blis_group_found *claimed = is_new ? found : NULL;
  blis_block_pool_stats stats;
  blis_block_pool_get_stats(cache->pool, &stats);
  *is_done =
      needed_blocks(cache, holder, computed_tokens, span->end_tokens, claimed) <= stats.free_blocks;
  if (!*is_done || span->end_tokens == span->start_tokens) {
    return BLIS_OK;
  }
  BLIS_TRY(reserve(cache, holder, computed_tokens, span->end_tokens));
  if (claimed != NULL) {
    claim(cache, holder, computed_tokens, claimed);
  }
  take(cache, holder, computed_tokens, span->end_tokens);
  if (is_new) {
    take_drafts(cache, holder);
  }
  if (span->chain != NULL) {
    name(cache, holder, span->chain, span->end_tokens);
  }
  return BLIS_OK;
}

blis_status blis_group_cache_name(blis_group_cache *cache, blis_group_holder *holder,
                                  const blis_block_chain *chain, int64_t tokens) {
  BLIS_TRY(blis__block_pool_reserve_names(cache->pool, holder->held));
  name(cache, holder, chain, tokens);
  return BLIS_OK;
}

int64_t blis_group_cache_need(const blis_group_cache *cache, const blis_group_holder *holder,
                              int64_t computed_tokens, int64_t end_tokens) {
  int64_t needed = 0;
  for (size_t g = 0; g < cache->count; g++) {
    int64_t held_end = holder->groups == NULL ? 0 : end_of(&holder->groups[g]);
    needed += plan_blocks(cache, g, held_end, computed_tokens, end_tokens).taken;
  }
  return needed;
}

int64_t blis_group_cache_lacking(const blis_group_cache *cache, const blis_group_holder *holder,
                                 int64_t end_tokens) {
  int64_t blocks = 0;
  for (size_t g = 0; g < cache->count; g++) {
    if (cache->groups[g]->kind != BLIS_KV_STATE) {
      blocks += blis_max_i64(
          blis_kv_group_end(cache->groups[g], end_tokens) - end_of(&holder->groups[g]), 0);
    }
  }
  return blocks;
}

void blis_group_cache_release(blis_group_cache *cache, blis_group_holder *holder) {
  for (size_t g = 0; g < holder->count; g++) {
    give_front(cache, holder, &holder->groups[g], INT64_MAX);
    holder->groups[g].first = 0;
    holder->groups[g].named = 0;
  }
  while (holder->drafts.count > 0) {
    blis__block_pool_give(cache->pool, holder->drafts.items[--holder->drafts.count]);
    holder->held--;
  }
  BLIS_ASSERT(holder->held == 0);
}
