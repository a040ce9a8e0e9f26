/*
 * The order of SGLang's wait queue. Policies that use the cache also detect prompts in the queue
 * that share a prefix. Only the first of these is computed now; the others find its prefix in the
 * cache later.
 */
#include <string.h>

#include "base/invariant.h"
#include "base/minmax.h"
#include "instance/parts/rules.h"
#include "instance/sglang/sglang.h"

enum {
  MATCHED_WAITING_MAX = 128, /* longer queues are not sorted by prefix */
  /* up to this number of hits, the queue is searched for similar prompts */
  FEW_HITS_TOKENS = 32,
  SHARED_TOKENS = 32 /* shared tokens for which a prompt waits */
};

typedef bool goes_before(const blis__sglang *s, const blis__sglang_place *a,
                         const blis__sglang_place *b);

static bool has_lower_key(const blis__sglang *s, const blis__sglang_place *a,
                          const blis__sglang_place *b) {
  (void)s;
  return a->key != b->key ? a->key < b->key : a->index < b->index;
}

/* Traverses the tree depth first: children with more waiting requests first, and each node after
   its children. */
static bool is_visited_first(const blis__sglang *s, const blis__sglang_place *a,
                             const blis__sglang_place *b) {
  uint32_t x = a->node;
  uint32_t y = b->node;
  uint32_t depth_x = blis_radix_tree_depth(s->tree, x);
  uint32_t depth_y = blis_radix_tree_depth(s->tree, y);
  for (uint32_t d = depth_x; d > depth_y; d--) {
    x = blis_radix_tree_parent(s->tree, x);
  }
  for (uint32_t d = depth_y; d > depth_x; d--) {
    y = blis_radix_tree_parent(s->tree, y);
  }
  if (x == y) {
    return depth_x != depth_y ? depth_x > depth_y : a->index < b->index;
  }
  while (blis_radix_tree_parent(s->tree, x) != blis_radix_tree_parent(s->tree, y)) {
    x = blis_radix_tree_parent(s->tree, x);
    y = blis_radix_tree_parent(s->tree, y);
  }
  int64_t weight_x = s->weights.items[x];
  int64_t weight_y = s->weights.items[y];
  return weight_x != weight_y ? weight_x > weight_y : s->firsts.items[x] < s->firsts.items[y];
}

/* Sorts the places with a bottom-up merge sort. */
static void sort(blis__sglang *s, goes_before *before) {
  size_t count = s->places.count;
  for (size_t width = 1; width < count; width *= 2) {
    const blis__sglang_place *from = s->places.items;
    blis__sglang_place *to = s->merged.items;
    for (size_t low = 0; low < count; low += 2 * width) {
      size_t middle = low + width < count ? low + width : count;
      size_t high = low + 2 * width < count ? low + 2 * width : count;
      size_t i = low;
      size_t k = middle;
      for (size_t out = low; out < high; out++) {
        bool takes_right = k < high && (i == middle || before(s, &from[k], &from[i]));
        to[out] = takes_right ? from[k++] : from[i++];
      }
    }
    memcpy(s->places.items, s->merged.items, count * sizeof *s->places.items);
  }
}

/* Finds out whether a prompt with few hits shares a prefix with an earlier prompt in the queue. */
static blis_status finds_equal(blis__sglang *s, const blis_live_request *request, int64_t pages,
                               bool *is_equal) {
  blis_radix_path path;
  int64_t added;
  int64_t found = blis_radix_tree_count(s->scratch, &request->chain, pages) * s->page_tokens;
  *is_equal = found >= SHARED_TOKENS;
  return *is_equal ? BLIS_OK
                   : blis_radix_tree_insert(s->scratch, &request->chain, pages, &path, &added);
}

/* Finds the cached prefixes of all places, and sets the keys according to their lengths. */
static blis_status match(blis__stepwise *engine) {
  blis__sglang *s = blis__sglang_of(engine);
  if (s->scratch == NULL) {
    s->scratch = blis_radix_tree_new(&engine->alloc);
    if (s->scratch == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  blis_radix_tree_clear(s->scratch);
  for (size_t i = 0; i < s->places.count; i++) {
    blis__sglang_place *place = &s->places.items[i];
    const blis_live_request *request = place->sequence->place.request;
    int64_t pages = request->prefill_tokens / s->page_tokens;
    blis_radix_path path;
    bool waits = false;
    BLIS_TRY(blis_radix_tree_match(s->tree, &request->chain, pages, &path));
    int64_t hits = path.pages * s->page_tokens;
    if (hits <= FEW_HITS_TOKENS) {
      BLIS_TRY(finds_equal(s, request, pages, &waits));
    }
    place->node = path.node;
    place->key = waits ? INT64_MAX : -blis_min_i64(hits, request->prefill_tokens - 1);
  }
  return BLIS_OK;
}

/* A later match may have split the last node of an earlier match, which then ends at the parent. */
static blis_status weigh(blis__stepwise *engine) {
  blis__sglang *s = blis__sglang_of(engine);
  size_t nodes = blis_radix_tree_nodes(s->tree);
  BLIS_TRY(blis_array_reserve(&engine->alloc, &s->weights, nodes));
  BLIS_TRY(blis_array_reserve(&engine->alloc, &s->firsts, nodes));
  memset(s->weights.items, 0, nodes * sizeof *s->weights.items);
  for (size_t i = 0; i < s->places.count; i++) {
    for (uint32_t n = s->places.items[i].node; n != BLIS_RADIX_ROOT;
         n = blis_radix_tree_parent(s->tree, n)) {
      if (s->weights.items[n]++ == 0) {
        s->firsts.items[n] = i;
      }
    }
  }
  return BLIS_OK;
}

static void shuffle(blis__sglang *s) {
  for (size_t i = s->places.count; i > 1; i--) {
    size_t k = (size_t)(blis_random_uint64(&s->random) % i);
    blis__sglang_place swapped = s->places.items[k];
    s->places.items[k] = s->places.items[i - 1];
    s->places.items[i - 1] = swapped;
  }
}

static blis_status list_places(blis__stepwise *engine) {
  blis__sglang *s = blis__sglang_of(engine);
  size_t count = (size_t)engine->waiting.count;
  BLIS_TRY(blis_array_reserve(&engine->alloc, &s->places, count));
  BLIS_TRY(blis_array_reserve(&engine->alloc, &s->merged, count));
  s->places.count = 0;
  for (blis__waiting *node = engine->waiting.head; node != NULL; node = node->after) {
    s->places.items[s->places.count] = (blis__sglang_place){
        .sequence = blis__sequence_at(node),
        .key = -blis__sglang_max_new(engine, node->request),
        .index = s->places.count,
    };
    s->places.count++;
  }
  return BLIS_OK;
}

static void relink(blis__stepwise *engine) {
  const blis__sglang *s = blis__sglang_of(engine);
  for (size_t i = 0; i < s->places.count; i++) {
    blis__waiting *node = &s->places.items[i].sequence->place;
    blis__wait_queue_remove(&engine->waiting, node);
    blis__wait_queue_push_back(&engine->waiting, node);
  }
}

/* Without a cache, policies that use the cache behave like FCFS. */
static blis_sglang_policy active(const blis__stepwise *engine) {
  const blis_sglang_config *config = blis__sglang_of(engine)->config;
  bool is_aware = config->policy == BLIS_SGLANG_LPM || config->policy == BLIS_SGLANG_DFS_WEIGHT;
  bool is_long = engine->waiting.count > MATCHED_WAITING_MAX;
  return is_aware && (!config->has_cache || (is_long && config->policy == BLIS_SGLANG_LPM))
             ? BLIS_SGLANG_FCFS
             : config->policy;
}

blis_status blis__sglang_order(blis__stepwise *engine) {
  blis__sglang *s = blis__sglang_of(engine);
  blis_sglang_policy policy = active(engine);
  if (policy == BLIS_SGLANG_FCFS || engine->waiting.count == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(list_places(engine));
  switch (policy) {
  case BLIS_SGLANG_LPM:
    BLIS_TRY(match(engine));
    sort(s, has_lower_key);
    break;
  case BLIS_SGLANG_DFS_WEIGHT:
    BLIS_TRY(match(engine));
    BLIS_TRY(weigh(engine));
    sort(s, is_visited_first);
    break;
  case BLIS_SGLANG_RANDOM:
    shuffle(s);
    break;
  case BLIS_SGLANG_LOF:
    sort(s, has_lower_key);
    break;
  case BLIS_SGLANG_FCFS:
    break;
  }
  relink(engine);
  return BLIS_OK;
}
