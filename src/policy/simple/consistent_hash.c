/*
 * consistent_hash.c - routing policy consistent-hash: every prefix (or session) belongs to an
 * instance on a ring, and uses the next instance while its own is overloaded. Also contains the
 * variants of three gateways.
 */
#include <math.h>

#include "policy/contract/entry.h"
#include "policy/contract/stable_hash.h"
#include "policy/memory/hash_ring.h"
#include "policy/pickers/pick_rules.h"

/* The differences between the four policies. */
typedef struct rule {
  bool needs_session;      /* hashes the session; requests without a session go to any instance */
  bool bound_is_of_now;    /* uses the current load, not the load after adding the request */
  bool overflows_to_least; /* overflow goes to the least loaded instance, not to the next on the
                              ring */
} rule;

typedef struct consistent_hash {
  blis__hash_ring ring;
  const rule *rule;
  bool goes_by_session; /* hashes the session if the request has one */
  blis_random random;   /* for requests without a session */
  int64_t prefix_tokens;
  uint32_t block_size_tokens;
  double load_factor; /* 0 = no bound */
} consistent_hash;

static uint64_t key_of(const consistent_hash *self, const blis_routing_request *request) {
  if (self->goes_by_session && request->session != 0 && request->strings != NULL) {
    return blis_stable_hash_of_text(request, request->session);
  }
  return blis_stable_hash_of(request, self->block_size_tokens, self->prefix_tokens);
}

/* Returns the number of requests in flight up to which an instance still accepts another
   request. */
static double bound_of(const consistent_hash *self, const blis_routing_view *view) {
  const double *load = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  double total = 0;
  for (size_t i = 0; i < view->count; i++) {
    total += load[i];
  }
  if (self->load_factor == 0) {
    return (double)INFINITY;
  }
  double counted = self->rule->bound_is_of_now ? total : total + 1;
  return self->load_factor * counted / (double)view->count;
}

/* Returns the first of the least loaded instances, or home if even its load exceeds the bound. */
static size_t least_within(const double *load, double bound, size_t home, size_t count) {
  size_t least = 0;
  for (size_t i = 1; i < count; i++) {
    least = load[i] < load[least] ? i : least;
  }
  return load[home] <= bound || load[least] > bound ? home : least;
}

/* Follows the ring of the view from the point of key. */
static size_t follow_ring(const consistent_hash *self, uint64_t key,
                          const blis_routing_view *view) {
  const double *load = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  const blis__ring_point *points = self->ring.points.items;
  size_t count = self->ring.points.count;
  size_t home = blis__hash_ring_find(&self->ring, key);
  double bound = bound_of(self, view);
  if (self->rule->overflows_to_least) {
    return least_within(load, bound, points[home].candidate, view->count);
  }
  for (size_t k = 0; k < count; k++) {
    size_t candidate = points[(home + k) % count].candidate;
    if (load[candidate] <= bound) {
      return candidate;
    }
  }
  return points[home].candidate;
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  consistent_hash *self = q->state;
  *decision = (blis_decision){0};
  if (self->rule->needs_session && q->request->session == 0) {
    decision->chosen = blis_pick_random(&self->random, q->view->count);
    return BLIS_OK;
  }
  uint64_t key = key_of(self, q->request);
  BLIS_TRY_MEM(blis__hash_ring_of(&self->ring, q->view), q->error);
  decision->chosen = follow_ring(self, key, q->view);
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  (void)alloc;
  consistent_hash *self = state;
  blis__hash_ring_deinit(&self->ring);
}

static const blis_router_ops ops = {.route = route, .free = free_state};

#define VIRTUAL_NODES                                                                              \
  BLIS__INTEGER("virtual_nodes", 1, 10000, 150, "points", "points of an instance on the ring",     \
                BLIS__INTO(consistent_hash, ring.points_per_candidate))

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  consistent_hash *self = state;
  self->rule = setup->entry->rule;
  self->goes_by_session |= self->rule->needs_session;
  if (self->block_size_tokens == 0) {
    self->block_size_tokens = 16; /* used if no parameter sets it */
  }
  blis_setup_random(setup, &self->random);
  blis__hash_ring_init(&self->ring, setup->alloc, self->ring.points_per_candidate);
  return BLIS_OK;
}

/* Initializers of an entry with this rule. */
#define CONSISTENT_HASH(...)                                                                       \
  .ops = &ops, .state_size = sizeof(consistent_hash),                                              \
  .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .rule = &(const rule){__VA_ARGS__},             \
  .init = init

static const blis_param_spec params_of[] = {
    BLIS__CHOICE("key", "prefix|session",
                 "key on the ring; requests without a session use the prefix",
                 BLIS__INTO(consistent_hash, goes_by_session)),
    BLIS__PREFIX_TOKENS_PARAM(256, "prompt tokens that form the prefix; 0 = all",
                              BLIS__INTO(consistent_hash, prefix_tokens)),
    BLIS__BLOCK_SIZE_PARAM(16, "block size; only full blocks of the prefix count",
                           BLIS__INTO(consistent_hash, block_size_tokens)),
    BLIS__NUMBER("load_factor", 0, 1e9, 1.25, "",
                 "skip an instance with more requests in flight than this "
                 "multiple of (all + 1) / instances; 0 = never",
                 BLIS__INTO(consistent_hash, load_factor)),
    VIRTUAL_NODES,
};

const blis_policy_entry blis__router_consistent_hash = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "consistent-hash",
    .summary = "the next instance after the prefix or session on a hash ring "
               "whose load is within a bound",
    .source = "Mirrokni, Thorup, Zadimoghaddam, Consistent Hashing with "
              "Bounded Loads, arXiv 1608.01350; bound of SMG prefix_hash "
              "73da68ca, ring of SMG consistent_hashing with XXH64",
    BLIS__PARAMS(params_of),
    CONSISTENT_HASH(0),
};

static const blis_param_spec session_params[] = {VIRTUAL_NODES};

const blis_policy_entry blis__router_smg_consistent_hashing = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "smg.consistent_hashing",
    .summary = "the next instance after the session on a hash ring; without a "
               "session any instance",
    .source = "SMG 73da68ca, with XXH64 in place of BLAKE3",
    BLIS__PARAMS(session_params),
    CONSISTENT_HASH(.needs_session = true),
};

static const blis_param_spec prefix_hash_params[] = {
    BLIS__INTEGER("prefix_token_count", 0, 1 << 30, 256, "tokens",
                  "prompt tokens that are hashed; 0 = all",
                  BLIS__INTO(consistent_hash, prefix_tokens)),
    BLIS__BLOCK_SIZE_PARAM(16, "block size; only full blocks of these tokens count",
                           BLIS__INTO(consistent_hash, block_size_tokens)),
    BLIS__NUMBER("load_factor", 0, 1e9, 1.25, "",
                 "an instance is overloaded above this multiple of (all + 1) / "
                 "instances; 0 = never",
                 BLIS__INTO(consistent_hash, load_factor)),
    VIRTUAL_NODES,
};

const blis_policy_entry blis__router_smg_prefix_hash = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "smg.prefix_hash",
    .summary = "the next instance after the first tokens on a hash ring; if it "
               "is overloaded, the least loaded one",
    .source = "SMG 73da68ca, with XXH64 over blocks",
    BLIS__PARAMS(prefix_hash_params),
    CONSISTENT_HASH(.overflows_to_least = true),
};

static const blis_param_spec bounded_params[] = {
    BLIS__NUMBER("max_load_skew", 0, 1e9, 1.5, "",
                 "skip an instance with more than this multiple of the mean "
                 "load; 0 = never",
                 BLIS__INTO(consistent_hash, load_factor)),
    VIRTUAL_NODES,
};

const blis_policy_entry blis__router_sglang_bounded_consistent_hashing = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "sglang.bounded_consistent_hashing",
    .summary = "the next instance after the session on a hash ring with no more than "
               "its share of the load; without a session any instance",
    .source = "SGLang gateway 1cfac30c, with XXH64 in place of BLAKE3",
    BLIS__PARAMS(bounded_params),
    CONSISTENT_HASH(.needs_session = true, .bound_is_of_now = true),
};
