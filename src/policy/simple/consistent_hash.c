/*
 * consistent_hash.c - routing policy consistent-hash: every prefix (or
 * session) has its place on a ring of instances, and moves on to the next one
 * while its own is overloaded. And three gateways' readings of that idea.
 */
#include <math.h>

#include "policy/contract/policy.h"
#include "policy/contract/stable_hash.h"
#include "policy/memory/hash_ring.h"
#include "policy/pickers/pick_rules.h"

typedef struct consistent_hash {
  blis__hash_ring ring;
  bool goes_by_session;
  bool needs_session;      /* without one, any instance */
  bool bound_is_of_now;    /* not of when the request is there */
  bool overflows_to_least; /* not to the next on the ring */
  blis_random random;      /* for requests without session */
  int64_t prefix_tokens;
  uint32_t block_size_tokens;
  double load_factor; /* 0 = no bound */
} consistent_hash;

static uint64_t key_of(const consistent_hash *self,
                       const blis_routing_request *request) {
  if (self->goes_by_session && request->session != 0 &&
      request->strings != NULL) {
    return blis_stable_hash_of_text(request, request->session);
  }
  return blis_stable_hash_of(request, self->block_size_tokens,
                             self->prefix_tokens);
}

/* Requests in flight that an instance may have and still get another. */
static double bound_of(const consistent_hash *self,
                       const blis_routing_view *view) {
  const double *load = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  double total = 0;
  for (size_t i = 0; i < view->count; i++) {
    total += load[i];
  }
  if (self->load_factor == 0) {
    return (double)INFINITY;
  }
  double counted = self->bound_is_of_now ? total : total + 1;
  return self->load_factor * counted / (double)view->count;
}

/* The first of the least loaded; home when even that is over the bound. */
static size_t least_within(const double *load, double bound, size_t home,
                           size_t count) {
  size_t least = 0;
  for (size_t i = 1; i < count; i++) {
    least = load[i] < load[least] ? i : least;
  }
  return load[home] <= bound || load[least] > bound ? home : least;
}

static blis_status choose(consistent_hash *self,
                          const blis_routing_request *request,
                          const blis_routing_view *view, size_t *chosen) {
  if (self->needs_session && request->session == 0) {
    *chosen = blis_pick_random(&self->random, view->count);
    return BLIS_OK;
  }
  uint64_t key = key_of(self, request);
  BLIS_TRY(blis__hash_ring_of(&self->ring, view));
  const double *load = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  const blis__ring_point *points = self->ring.points.items;
  size_t count = self->ring.points.count;
  size_t home = blis__hash_ring_find(&self->ring, key);
  double bound = bound_of(self, view);
  *chosen = points[home].candidate;
  if (self->overflows_to_least) {
    *chosen = least_within(load, bound, *chosen, view->count);
    return BLIS_OK;
  }
  for (size_t k = 0; k < count; k++) {
    size_t candidate = points[(home + k) % count].candidate;
    if (load[candidate] <= bound) {
      *chosen = candidate;
      return BLIS_OK;
    }
  }
  return BLIS_OK;
}

static blis_status route(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, blis_decision *decision,
                         blis_error *error) {
  size_t chosen;
  BLIS_TRY_MEM(choose(state, request, view, &chosen), error);
  *decision = (blis_decision){.chosen = chosen};
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  consistent_hash *self = state;
  blis__hash_ring_deinit(&self->ring);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_router_ops ops = {.route = route, .free = free_state};

enum { PARAM_COUNT = 5 };

static const blis_param_spec params_of[PARAM_COUNT] = {
    {.name = "key",
     .kind = BLIS_PARAM_CHOICE,
     .choices = "prefix|session",
     .unit = "",
     .summary = "what has a place on the ring; requests without session go by "
                "prefix"},
    BLIS__PREFIX_TOKENS_PARAM(256,
                              "of the prompt that are its prefix; 0 = all"),
    BLIS__BLOCK_SIZE_PARAM(
        16, "of the blocks of the prefix of which the full ones count"),
    {.name = "load_factor",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 1.25,
     .unit = "",
     .summary = "an instance with more requests in flight than this many times "
                "(all + 1) / instances is passed over; 0 = none is"},
    {.name = "virtual_nodes",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 10000,
     .fallback = 150,
     .unit = "points",
     .summary = "of an instance on the ring"},
};

static blis_status make(const blis_alloc *alloc, const blis_router_entry *entry,
                        const blis_params *params,
                        const blis_policy_context *context, blis_router *router,
                        blis_error *error) {
  consistent_hash *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  self->block_size_tokens = 16; /* where no parameter says */
  blis_policy_random_init(&self->random, context->seed, entry->name);
  blis__hash_ring_init(&self->ring, alloc,
                       (uint32_t)blis_params_number(params, entry->params,
                                                    entry->param_count,
                                                    "virtual_nodes"));
  *router = (blis_router){.ops = &ops,
                          .state = self,
                          .alloc = *alloc,
                          .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
                          .name = entry->name};
  return BLIS_OK;
}

static double number_of(const blis_params *params, const char *name) {
  return blis_params_number(params, params_of, PARAM_COUNT, name);
}

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context,
                          blis_router *router, blis_error *error) {
  BLIS_TRY(make(alloc, &blis__router_consistent_hash, params, context, router,
                error));
  consistent_hash *self = router->state;
  self->goes_by_session =
      blis_params_choice(params, params_of, PARAM_COUNT, "key") == 1;
  self->prefix_tokens = (int64_t)number_of(params, "prefix_tokens");
  self->block_size_tokens = (uint32_t)number_of(params, "block_size");
  self->load_factor = number_of(params, "load_factor");
  return BLIS_OK;
}

const blis_router_entry blis__router_consistent_hash = {
    .name = "consistent-hash",
    .aliases = "",
    .summary = "the instance that follows the prefix or session on a hash "
               "ring and has room under a bound on its load",
    .source = "Mirrokni, Thorup, Zadimoghaddam, Consistent Hashing with "
              "Bounded Loads, arXiv 1608.01350; bound of SMG prefix_hash "
              "73da68ca, ring of SMG consistent_hashing with XXH64",
    .params = params_of,
    .param_count = PARAM_COUNT,
    .create = create,
};

#define VIRTUAL_NODES                                                          \
  {                                                                            \
    .name = "virtual_nodes", .kind = BLIS_PARAM_INTEGER, .minimum = 1,         \
    .maximum = 10000, .fallback = 150, .unit = "points",                       \
    .summary = "of an instance on the ring"                                    \
  }

static const blis_param_spec session_params[] = {VIRTUAL_NODES};

static blis_status create_session(const blis_alloc *alloc,
                                  const blis_params *params,
                                  const blis_policy_context *context,
                                  blis_router *router, blis_error *error) {
  BLIS_TRY(make(alloc, &blis__router_smg_consistent_hashing, params, context,
                router, error));
  consistent_hash *self = router->state;
  self->goes_by_session = true;
  self->needs_session = true;
  return BLIS_OK;
}

const blis_router_entry blis__router_smg_consistent_hashing = {
    .name = "smg.consistent_hashing",
    .aliases = "",
    .summary = "the instance that follows the session on a hash ring; any one "
               "without session",
    .source = "SMG 73da68ca, with XXH64 in place of BLAKE3",
    .params = session_params,
    .param_count = 1,
    .create = create_session,
};

enum { PREFIX_HASH_PARAM_COUNT = 4 };

static const blis_param_spec prefix_hash_params[PREFIX_HASH_PARAM_COUNT] = {
    {.name = "prefix_token_count",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 0,
     .maximum = 1 << 30,
     .fallback = 256,
     .unit = "tokens",
     .summary = "of the prompt that are hashed; 0 = all"},
    BLIS__BLOCK_SIZE_PARAM(
        16, "of the blocks of these tokens of which the full ones count"),
    {.name = "load_factor",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 1.25,
     .unit = "",
     .summary = "an instance is overloaded above this many times (all + 1) / "
                "instances; 0 = never"},
    VIRTUAL_NODES,
};

static blis_status create_prefix_hash(const blis_alloc *alloc,
                                      const blis_params *params,
                                      const blis_policy_context *context,
                                      blis_router *router, blis_error *error) {
  const blis_router_entry *entry = &blis__router_smg_prefix_hash;
  BLIS_TRY(make(alloc, entry, params, context, router, error));
  consistent_hash *self = router->state;
  self->prefix_tokens = (int64_t)blis_params_number(
      params, entry->params, entry->param_count, "prefix_token_count");
  self->block_size_tokens = (uint32_t)blis_params_number(
      params, entry->params, entry->param_count, "block_size");
  self->load_factor = blis_params_number(params, entry->params,
                                         entry->param_count, "load_factor");
  self->overflows_to_least = true;
  return BLIS_OK;
}

const blis_router_entry blis__router_smg_prefix_hash = {
    .name = "smg.prefix_hash",
    .aliases = "",
    .summary = "the instance that follows the first tokens on a hash ring; "
               "when it is overloaded the least loaded one",
    .source = "SMG 73da68ca, with XXH64 over blocks",
    .params = prefix_hash_params,
    .param_count = PREFIX_HASH_PARAM_COUNT,
    .create = create_prefix_hash,
};

enum { BOUNDED_PARAM_COUNT = 2 };

static const blis_param_spec bounded_params[BOUNDED_PARAM_COUNT] = {
    {.name = "max_load_skew",
     .kind = BLIS_PARAM_NUMBER,
     .minimum = 0,
     .maximum = 1e9,
     .fallback = 1.5,
     .unit = "",
     .summary = "an instance with more than this many times the mean load is "
                "passed over; 0 = none is"},
    VIRTUAL_NODES,
};

static blis_status create_bounded(const blis_alloc *alloc,
                                  const blis_params *params,
                                  const blis_policy_context *context,
                                  blis_router *router, blis_error *error) {
  const blis_router_entry *entry =
      &blis__router_sglang_bounded_consistent_hashing;
  BLIS_TRY(make(alloc, entry, params, context, router, error));
  consistent_hash *self = router->state;
  self->load_factor = blis_params_number(params, entry->params,
                                         entry->param_count, "max_load_skew");
  self->goes_by_session = true;
  self->needs_session = true;
  self->bound_is_of_now = true;
  return BLIS_OK;
}

const blis_router_entry blis__router_sglang_bounded_consistent_hashing = {
    .name = "sglang.bounded_consistent_hashing",
    .aliases = "",
    .summary = "the instance that follows the session on a hash ring and has "
               "no more than its share of the load; any one without session",
    .source = "SGLang gateway 1cfac30c, with XXH64 in place of BLAKE3",
    .params = bounded_params,
    .param_count = BOUNDED_PARAM_COUNT,
    .create = create_bounded,
};
