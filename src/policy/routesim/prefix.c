/*
 * prefix.c - the algorithms of RouteSim that combine cache and load: prefix_aware (whether the
 * prefix is cached) and prefix_overlap (how many of its blocks are cached).
 *
 * Score of a candidate:
 *
 *   score = w * cache + (1 - w) * (1 - load / max_queue_depth)
 *
 * RouteSim queries sets of prefix hashes and block ids. This implementation queries the instances'
 * own caches, in which a block depends on all blocks before it. For prefix_aware, the declared
 * prefix is cached if all its full blocks are cached. A prompt that shares content without a
 * declared prefix is a hit if its first block is cached. prefix_overlap counts the leading run of
 * cached blocks. Neither counts a cached block whose predecessors are not cached.
 *
 * prefix_overlap needs the ids of the prompt's blocks, which traces with hash ids and conversations
 * contain. In RouteSim, a prompt with only a prefix hash has no block ids and is sent to the
 * instance with the fewest outstanding requests. In blis, the blocks of every prompt can be looked
 * up; the parameter `blocks` enables this.
 */
#include "policy/routesim/routesim.h"

typedef struct prefix_router {
  blis__routesim base;
  double cache_weight;
  double breaker;          /* minimum load / depth at which the breaker acts; 0 = none */
  double imbalance;        /* load / mean load at which the breaker acts; 0 = none */
  bool breaker_at_limit;   /* also at exactly that ratio */
  bool clamps_ratio;       /* used by prefix_overlap, like the next member */
  bool takes_all_blocks;   /* including prompts without ids */
  int64_t kv_block_tokens; /* KV block size of the instances */
  blis_tie tie;
} prefix_router;

static blis_status choose_highest(prefix_router *self, const blis_routing_view *view,
                                  size_t *chosen) {
  for (size_t i = 0; i < view->count; i++) {
    if (blis__routesim_is_full(&self->base, i)) {
      self->base.scores.items[i] = -INFINITY;
    }
  }
  self->base.has_scores = true;
  *chosen = blis_tie_pick_max(&self->tie, self->base.scores.items, view);
  return BLIS_OK;
}

static double ratio_of(const prefix_router *self, size_t candidate) {
  return self->base.loads.items[candidate] / self->base.max_queue_depth;
}

static bool is_broken(const prefix_router *self, double ratio) {
  return self->breaker > 0 &&
         (ratio > self->breaker || (self->breaker_at_limit && ratio == self->breaker));
}

/*
 * Returns the load from which a cached prefix no longer counts. With only the document's weights,
 * the requests of a prefix would always be sent to the instance that caches it, at any load. Ten
 * prefixes would then use only four of eight instances.
 */
static double load_limit(const prefix_router *self, const blis_routing_view *view) {
  double sum = 0;
  double count = 0;
  for (size_t i = 0; i < view->count; i++) {
    if (!blis__routesim_is_full(&self->base, i)) {
      sum += self->base.loads.items[i];
      count++;
    }
  }
  return self->imbalance > 0 ? self->imbalance * (1 + sum / count) : (double)INFINITY;
}

/* Computes the minimum number of cached tokens at which the prefix counts as cached; 0 = no
   prefix. */
static blis_status prefix_size(const prefix_router *self, const blis_routing_request *request,
                               double *tokens) {
  if (request->prefix_tokens > 0) {
    int64_t rest = request->prefix_tokens % self->kv_block_tokens;
    *tokens = (double)(request->prefix_tokens - rest);
    return BLIS_OK;
  }
  const blis_block_chain *chain =
      request->chain(request->chain_ud, (uint32_t)self->kv_block_tokens);
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  *tokens = chain->shared_count > 0 ? (double)self->kv_block_tokens : 0;
  return BLIS_OK;
}

static blis_status choose_aware(const blis_question *q, size_t *chosen) {
  const blis_routing_view *view = q->view;
  prefix_router *self = q->state;
  double needed;
  BLIS_TRY_MEM(prefix_size(self, q->request, &needed), q->error);
  if (needed == 0) {
    *chosen = blis__routesim_least_outstanding(&self->base, view);
    return BLIS_OK;
  }
  const double *cached = view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  double w = self->cache_weight;
  double limit = load_limit(self, view);
  for (size_t i = 0; i < view->count; i++) {
    double ratio = ratio_of(self, i);
    bool counts = !is_broken(self, ratio) && self->base.loads.items[i] <= limit;
    double has_prefix = cached[i] >= needed && counts ? 1 : 0;
    double load = ratio < 1 ? 1 - ratio : 0;
    self->base.scores.items[i] = w * has_prefix + (1 - w) * load;
  }
  BLIS_TRY_MEM(choose_highest(self, view, chosen), q->error);
  return BLIS_OK;
}

/* Determines whether the prompt has block ids beyond a declared prefix. */
static blis_status has_block_ids(const prefix_router *self, const blis_routing_request *request,
                                 bool *has) {
  *has = request->prompt_tokens >= self->kv_block_tokens;
  if (!*has || self->takes_all_blocks) {
    return BLIS_OK;
  }
  const blis_block_chain *chain =
      request->chain(request->chain_ud, (uint32_t)self->kv_block_tokens);
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  int64_t known_tokens = (int64_t)chain->shared_count * self->kv_block_tokens;
  *has = known_tokens > request->prefix_tokens;
  return BLIS_OK;
}

static blis_status choose_overlap(const blis_question *q, size_t *chosen) {
  const blis_routing_view *view = q->view;
  prefix_router *self = q->state;
  bool has_ids;
  BLIS_TRY_MEM(has_block_ids(self, q->request, &has_ids), q->error);
  if (!has_ids) {
    *chosen = blis__routesim_least_outstanding(&self->base, view);
    return BLIS_OK;
  }
  const double *hit = view->columns[BLIS_SIGNAL_PREFIX_HIT];
  double w = self->cache_weight;
  for (size_t i = 0; i < view->count; i++) {
    double ratio = ratio_of(self, i);
    double cache = is_broken(self, ratio) ? 0 : hit[i];
    ratio = self->clamps_ratio && ratio > 1 ? 1 : ratio;
    self->base.scores.items[i] = w * cache + (1 - w) * (1 - ratio);
  }
  BLIS_TRY_MEM(choose_highest(self, view, chosen), q->error);
  return BLIS_OK;
}

#define CACHE_WEIGHT(default_value)                                                                \
  BLIS__NUMBER("cache_weight", 0, 1, default_value, "0 to 1",                                      \
               "w: weight of the cache in the score", BLIS__INTO(prefix_router, cache_weight))

#define BREAKER(default_value, text)                                                               \
  BLIS__NUMBER("breaker", 0, 1e9, default_value, "",                                               \
               "ignore the cache above this load / max_queue_depth; 0 = never" text)

#define TIE BLIS__CHOICE("tie", BLIS_TIE_CHOICES_FIRST, "tie break (profile routesim: last)")

static const blis_param_spec aware_params[] = {
    BLIS__ROUTESIM_PARAMS,
    CACHE_WEIGHT(0.8),
    BREAKER(0, " (profile routesim: 0.9)"),
    BLIS__NUMBER("imbalance", 0, 1e9, 1.5, "",
                 "ignore the cache above this times 1 + the mean load; 0 = "
                 "never, as printed (profile routesim: 0)"),
    TIE,
    BLIS__CHOICE("profile", "design|routesim",
                 "the design document, or the code: breaker 0.9, and already "
                 "at that load; ties to the last")};

static const blis_param_spec overlap_params[] = {
    BLIS__ROUTESIM_PARAMS,
    CACHE_WEIGHT(0.7),
    BREAKER(0.9, ""),
    TIE,
    BLIS__CHOICE("blocks", "named|all",
                 "named: prompts with block ids beyond a declared prefix, "
                 "others go to the least outstanding; all: every prompt's"),
    BLIS__CHOICE("profile", "design|routesim",
                 "the design document, or the code: breaker already at that load; a "
                 "load above the depth counts as the depth; ties to the last")};

#define CODE_BREAKER 0.9

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  prefix_router *self = state;
  bool is_code = blis_setup_choice(setup, "profile") == 1;
  self->breaker = blis_setup_number_or(setup, "breaker", is_code, CODE_BREAKER);
  self->base.counts_prefilling = blis_setup_number_or(setup, "count_prefilling", is_code, 0) != 0;
  self->breaker_at_limit = is_code;
  self->clamps_ratio = is_code;
  self->takes_all_blocks =
      blis_setup_has(setup, "blocks") && blis_setup_choice(setup, "blocks") == 1;
  self->kv_block_tokens = setup->context->kv_block_size_tokens;
  blis_setup_tie(setup, &self->tie);
  if (is_code && !blis_setup_has(setup, "tie")) {
    self->tie.rule = BLIS_TIE_LAST;
  }
  return blis__routesim_init(state, setup, error);
}

static blis_status init_aware(void *state, blis_policy_setup *setup, blis_error *error) {
  prefix_router *self = state;
  bool is_code = blis_setup_choice(setup, "profile") == 1;
  self->imbalance = blis_setup_number_or(setup, "imbalance", is_code, 0);
  return init(state, setup, error);
}

const blis_policy_entry blis__router_routesim_prefix_aware = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "routesim.prefix_aware",
    .aliases = "prefix_aware",
    .summary = "highest 0.8 [the prefix is cached] + 0.2 (1 - load / depth); "
               "overloaded instances as if they had none",
    .source = BLIS__ROUTESIM_SOURCE,
    BLIS__PARAMS(aware_params),
    BLIS__ROUTESIM(prefix_router, blis__routesim_ops, init_aware, choose_aware,
                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS)),
};

const blis_policy_entry blis__router_routesim_prefix_overlap = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "routesim.prefix_overlap",
    .aliases = "prefix_overlap",
    .summary = "highest 0.7 (share of the prompt's blocks cached) + 0.3 (1 - "
               "load / depth)",
    .source = BLIS__ROUTESIM_SOURCE,
    BLIS__PARAMS(overlap_params),
    BLIS__ROUTESIM(prefix_router, blis__routesim_ops, init, choose_overlap,
                   BLIS_SIGNAL_BIT(BLIS_SIGNAL_PREFIX_HIT)),
};
