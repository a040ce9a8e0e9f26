/*
 * consistent_hash.c - routing policy consistent-hash: every prefix (or
 * session) has its place on a ring of instances, and moves on to the next one
 * while its own is overloaded.
 */
#include <math.h>

#include "base/hash.h"
#include "routing/hash_ring.h"
#include "routing/policy.h"
#include "routing/stable_hash.h"

typedef struct consistent_hash {
  blis__hash_ring ring;
  bool goes_by_session;
  int64_t prefix_tokens;
  uint32_t block_size_tokens;
  double load_factor; /* 0 = no bound */
} consistent_hash;

static blis_status key_of(const consistent_hash *self,
                          const blis_routing_request *request, uint64_t *key) {
  if (self->goes_by_session && request->session != 0 &&
      request->strings != NULL) {
    const blis_hash_part name = {
        blis_intern_text(request->strings, request->session),
        blis_intern_length(request->strings, request->session)};
    *key = blis_xxh64(&name, 1);
    return BLIS_OK;
  }
  return blis_stable_hash_of(request, self->block_size_tokens,
                             self->prefix_tokens, key);
}

/* Requests in flight that an instance may have and still get another. */
static double bound_of(const consistent_hash *self,
                       const blis_routing_view *view) {
  const double *load = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  double total = 0;
  for (size_t i = 0; i < view->count; i++) {
    total += load[i];
  }
  return self->load_factor > 0
             ? self->load_factor * (total + 1) / (double)view->count
             : (double)INFINITY;
}

static blis_status choose(consistent_hash *self,
                          const blis_routing_request *request,
                          const blis_routing_view *view, size_t *chosen) {
  uint64_t key;
  BLIS_TRY(key_of(self, request, &key));
  BLIS_TRY(blis__hash_ring_of(&self->ring, view));
  const double *load = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  const blis__ring_point *points = self->ring.points.items;
  size_t count = self->ring.points.count;
  size_t home = blis__hash_ring_find(&self->ring, key);
  double bound = bound_of(self, view);
  *chosen = points[home].candidate;
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
  if (choose(state, request, view, &chosen) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
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
    {.name = "prefix_tokens",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 0,
     .maximum = 1 << 30,
     .fallback = 256,
     .unit = "tokens",
     .summary = "of the prompt that are its prefix; 0 = all"},
    {.name = "block_size",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 1 << 20,
     .fallback = 16,
     .unit = "tokens",
     .summary = "of the blocks of the prefix of which the full ones count"},
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

static double number_of(const blis_params *params, const char *name) {
  return blis_params_number(params, params_of, PARAM_COUNT, name);
}

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context,
                          blis_router *router, blis_error *error) {
  (void)context;
  consistent_hash *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  if (self == NULL) {
    return blis_fail_nomem(error);
  }
  blis__hash_ring_init(&self->ring, alloc,
                       (uint32_t)number_of(params, "virtual_nodes"));
  self->goes_by_session =
      blis_params_choice(params, params_of, PARAM_COUNT, "key") == 1;
  self->prefix_tokens = (int64_t)number_of(params, "prefix_tokens");
  self->block_size_tokens = (uint32_t)number_of(params, "block_size");
  self->load_factor = number_of(params, "load_factor");
  *router = (blis_router){.ops = &ops,
                          .state = self,
                          .alloc = *alloc,
                          .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT),
                          .name = "consistent-hash"};
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
