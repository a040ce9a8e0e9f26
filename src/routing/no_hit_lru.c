/*
 * no_hit_lru.c - scorer no-hit-lru: spreads requests that no cache knows to
 * the instances that got such a request longest ago.
 *
 * The order of instances is a list of numbers, oldest first, so one decision
 * is O(candidates).
 */
#include <stdbool.h>

#include "base/array.h"
#include "routing/policy.h"

typedef struct no_hit_lru {
  BLIS_ARRAY(uint32_t) order; /* got a cold request; oldest first */
  BLIS_ARRAY(size_t) places;  /* candidate + 1 by instance number; 0 = none */
  bool is_cold;               /* the request being decided about */
  blis_alloc alloc;
} no_hit_lru;

static bool is_warm(const blis_routing_view *view) {
  const double *cached = view->columns[BLIS_SIGNAL_CACHED_TOKENS];
  for (size_t i = 0; i < view->count; i++) {
    if (cached[i] > 0) {
      return true;
    }
  }
  return false;
}

static blis_status note_places(no_hit_lru *self,
                               const blis_routing_view *view) {
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->order, instances));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->places, instances));
  while (self->places.count < instances) {
    self->places.items[self->places.count++] = 0;
  }
  for (size_t i = 0; i < self->places.count; i++) {
    self->places.items[i] = 0;
  }
  for (size_t i = 0; i < view->count; i++) {
    self->places.items[view->instances[i]] = i + 1;
  }
  return BLIS_OK;
}

/* Forgets instances that are no candidates. */
static void prune(no_hit_lru *self) {
  size_t kept = 0;
  for (size_t k = 0; k < self->order.count; k++) {
    uint32_t instance = self->order.items[k];
    if (instance < self->places.count && self->places.items[instance] > 0) {
      self->order.items[kept++] = instance;
    }
  }
  self->order.count = kept;
}

/* New ones first, in candidate order, then from oldest to newest. */
static void score_by_rank(const no_hit_lru *self, size_t count,
                          double *scores) {
  for (size_t i = 0; i < count; i++) {
    scores[i] = -1;
  }
  double last = (double)(count - 1);
  size_t rank = count - self->order.count;
  for (size_t k = 0; k < self->order.count; k++, rank++) {
    size_t place = self->places.items[self->order.items[k]] - 1;
    scores[place] = 1 - (double)rank / last;
  }
  rank = 0;
  for (size_t i = 0; i < count; i++) {
    if (scores[i] < 0) {
      scores[i] = 1 - (double)rank++ / last;
    }
  }
}

static blis_status score(void *state, const blis_routing_request *request,
                         const blis_routing_view *view, double *scores,
                         blis_error *error) {
  (void)request;
  no_hit_lru *self = state;
  self->is_cold = !is_warm(view);
  if (!self->is_cold || view->count == 1) {
    for (size_t i = 0; i < view->count; i++) {
      scores[i] = self->is_cold ? 1 : 0.5;
    }
    return BLIS_OK;
  }
  if (note_places(self, view) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  prune(self);
  score_by_rank(self, view->count, scores);
  return BLIS_OK;
}

static blis_status observe(void *state, const blis_routing_request *request,
                           const blis_routing_view *view, size_t chosen,
                           blis_error *error) {
  (void)request;
  no_hit_lru *self = state;
  if (!self->is_cold) {
    return BLIS_OK;
  }
  uint32_t instance = view->instances[chosen];
  size_t kept = 0;
  for (size_t k = 0; k < self->order.count; k++) {
    if (self->order.items[k] != instance) {
      self->order.items[kept++] = self->order.items[k];
    }
  }
  self->order.count = kept;
  if (blis_array_push(&self->alloc, &self->order, instance) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  no_hit_lru *self = state;
  blis_array_deinit(alloc, &self->order);
  blis_array_deinit(alloc, &self->places);
  blis_alloc_free(alloc, self, sizeof *self);
}

static const blis_scorer_ops ops = {
    .score = score, .observe = observe, .free = free_state};

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context,
                          blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context;
  no_hit_lru *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  if (self == NULL) {
    return blis_fail_nomem(error);
  }
  self->alloc = *alloc;
  *scorer = (blis_scorer){.ops = &ops,
                          .state = self,
                          .alloc = *alloc,
                          .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
                          .name = "no-hit-lru"};
  return BLIS_OK;
}

const blis_scorer_entry blis__scorer_no_hit_lru = {
    .name = "no-hit-lru",
    .aliases = "",
    .summary = "0.5 when some cache has a block of the prompt, else 1 for the "
               "instance that got such a request longest ago, down to 0",
    .source = "llm-d no-hit-lru-scorer; BLIS (Go) v0.7.1",
    .create = create,
};
