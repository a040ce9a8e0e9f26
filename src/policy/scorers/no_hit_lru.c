/*
 * no_hit_lru.c - scorers no-hit-lru and llm-d.no-hit-lru-scorer: spread
 * requests that no cache knows to the instances that got such a request longest
 * ago. The first forgets instances that are no candidates; the second ranks
 * candidates among all instances it remembers, and remembers so many.
 *
 * The order of instances is a list of numbers, oldest first, so one decision
 * is O(candidates).
 */
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "policy/contract/policy.h"

typedef struct no_hit_lru {
  BLIS_ARRAY(uint32_t) order; /* got a cold request; oldest first */
  BLIS_ARRAY(size_t) places;  /* candidate + 1 by instance number; 0 = none */
  bool is_cold;               /* the request being decided about */
  size_t most;                /* in order; 0 = forgets who is no candidate */
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

/* The candidate that this is, plus 1; 0 = none. */
static size_t place_of(const no_hit_lru *self, uint32_t instance) {
  return instance < self->places.count ? self->places.items[instance] : 0;
}

/* Forgets instances that are no candidates. */
static void prune(no_hit_lru *self) {
  size_t kept = 0;
  for (size_t k = 0; k < self->order.count; k++) {
    uint32_t instance = self->order.items[k];
    if (place_of(self, instance) > 0) {
      self->order.items[kept++] = instance;
    }
  }
  self->order.count = kept;
}

static double score_of_rank(size_t rank, size_t count) {
  size_t last = count - 1;
  return rank < last ? 1 - (double)rank / (double)last : 0;
}

/* New ones first, in candidate order, then from oldest to newest. */
static void score_by_rank(const no_hit_lru *self, size_t count,
                          double *scores) {
  size_t rank = count;
  for (size_t k = 0; k < self->order.count; k++) {
    rank -= place_of(self, self->order.items[k]) > 0;
  }
  for (size_t i = 0; i < count; i++) {
    scores[i] = -1;
  }
  for (size_t k = 0; k < self->order.count; k++, rank++) {
    size_t place = place_of(self, self->order.items[k]);
    if (place > 0) {
      scores[place - 1] = score_of_rank(rank, count);
    }
  }
  rank = 0;
  for (size_t i = 0; i < count; i++) {
    if (scores[i] < 0) {
      scores[i] = score_of_rank(rank++, count);
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
  BLIS_TRY_MEM(note_places(self, view), error);
  if (self->most == 0) {
    prune(self);
  }
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
  if (self->most > 0 && kept == self->most) {
    memmove(self->order.items, self->order.items + 1,
            (kept - 1) * sizeof *self->order.items);
    self->order.count--;
  }
  BLIS_TRY_MEM(blis_array_push(&self->alloc, &self->order, instance), error);
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

static blis_status make(const blis_alloc *alloc, const char *name, size_t most,
                        blis_scorer *scorer, blis_error *error) {
  no_hit_lru *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  self->alloc = *alloc;
  self->most = most;
  *scorer = (blis_scorer){.ops = &ops,
                          .state = self,
                          .alloc = *alloc,
                          .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
                          .name = name};
  return BLIS_OK;
}

static blis_status create(const blis_alloc *alloc, const blis_params *params,
                          const blis_policy_context *context,
                          blis_scorer *scorer, blis_error *error) {
  (void)params, (void)context;
  return make(alloc, "no-hit-lru", 0, scorer, error);
}

const blis_scorer_entry blis__scorer_no_hit_lru = {
    .name = "no-hit-lru",
    .aliases = "",
    .summary = "0.5 when some cache has a block of the prompt, else 1 for the "
               "instance that got such a request longest ago, down to 0",
    .source = "llm-d no-hit-lru-scorer; BLIS (Go) v0.7.1",
    .create = create,
};

static const blis_param_spec llmd_params[] = {
    {.name = "lru_size",
     .kind = BLIS_PARAM_INTEGER,
     .minimum = 1,
     .maximum = 1 << 30,
     .fallback = 1024,
     .unit = "instances",
     .summary = "that are remembered; those that are no candidates count in "
                "the order, so that others may come to 0"},
};

static blis_status create_llmd(const blis_alloc *alloc,
                               const blis_params *params,
                               const blis_policy_context *context,
                               blis_scorer *scorer, blis_error *error) {
  (void)context;
  double most = blis_params_number(params, llmd_params, 1, "lru_size");
  return make(alloc, "llm-d.no-hit-lru-scorer", (size_t)most, scorer, error);
}

const blis_scorer_entry blis__scorer_llmd_no_hit_lru = {
    .name = "llm-d.no-hit-lru-scorer",
    .aliases = "",
    .summary = "no-hit-lru with a limit of instances that are remembered",
    .source = "llm-d router ebab6879",
    .params = llmd_params,
    .param_count = 1,
    .create = create_llmd,
};
