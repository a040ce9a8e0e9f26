/*
 * no_hit_lru.c - scorers no-hit-lru and llm-d.no-hit-lru-scorer: spread requests without a cache
 * hit over the instances, least recently used first. no-hit-lru forgets instances that are not
 * candidates. The llm-d scorer ranks the candidates among all instances that it has seen, up to a
 * limit.
 *
 * The order of instances is a list of numbers, oldest first. A decision costs O(candidates).
 */
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "policy/contract/entry.h"

typedef struct no_hit_lru {
  BLIS_ARRAY(uint32_t) order; /* instances that got a cold request, oldest first */
  BLIS_ARRAY(size_t) places;  /* candidate + 1 by instance number; 0 = none */
  bool is_cold;               /* whether the current request has no cache hit */
  int64_t most;               /* maximum number of items in order; 0 = drops instances that are
                                 not candidates */
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

static blis_status note_places(no_hit_lru *self, const blis_routing_view *view) {
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

/* Returns the index of the candidate with this instance, plus 1; 0 = none. */
static size_t place_of(const no_hit_lru *self, uint32_t instance) {
  return instance < self->places.count ? self->places.items[instance] : 0;
}

/* Forgets instances that are not candidates. */
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

/* Ranks new instances first, in candidate order, then the others from oldest to newest. */
static void score_by_rank(const no_hit_lru *self, size_t count, double *scores) {
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

static blis_status score(const blis_question *q, double *scores) {
  const blis_routing_view *view = q->view;
  no_hit_lru *self = q->state;
  self->is_cold = !is_warm(view);
  if (!self->is_cold || view->count == 1) {
    for (size_t i = 0; i < view->count; i++) {
      scores[i] = self->is_cold ? 1 : 0.5;
    }
    return BLIS_OK;
  }
  BLIS_TRY_MEM(note_places(self, view), q->error);
  if (self->most == 0) {
    prune(self);
  }
  score_by_rank(self, view->count, scores);
  return BLIS_OK;
}

static blis_status observe(const blis_question *q, size_t chosen) {
  no_hit_lru *self = q->state;
  if (!self->is_cold) {
    return BLIS_OK;
  }
  uint32_t instance = q->view->instances[chosen];
  size_t kept = 0;
  for (size_t k = 0; k < self->order.count; k++) {
    if (self->order.items[k] != instance) {
      self->order.items[kept++] = self->order.items[k];
    }
  }
  self->order.count = kept;
  if (self->most > 0 && kept == (size_t)self->most) {
    memmove(self->order.items, self->order.items + 1, (kept - 1) * sizeof *self->order.items);
    self->order.count--;
  }
  BLIS_TRY_MEM(blis_array_push(&self->alloc, &self->order, instance), q->error);
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  no_hit_lru *self = state;
  blis_array_deinit(alloc, &self->order);
  blis_array_deinit(alloc, &self->places);
}

static const blis_scorer_ops ops = {.score = score, .observe = observe, .free = free_state};

static blis_status init(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)error;
  ((no_hit_lru *)state)->alloc = *setup->alloc;
  return BLIS_OK;
}

const blis_policy_entry blis__scorer_no_hit_lru = {
    .kind = BLIS_POLICY_SCORER,
    .name = "no-hit-lru",
    .summary = "0.5 if any cache has a block of the prompt, else from 1 for "
               "the least recently used instance down to 0",
    .source = "llm-d no-hit-lru-scorer; BLIS (Go) v0.7.1",
    .ops = &ops,
    .state_size = sizeof(no_hit_lru),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
    .init = init,
};

static const blis_param_spec llmd_params[] = {
    BLIS__INTEGER("lru_size", 1, 1 << 30, 1024, "instances",
                  "instances remembered; non-candidates count in the order, so "
                  "that others may drop to 0",
                  BLIS__INTO(no_hit_lru, most)),
};

const blis_policy_entry blis__scorer_llmd_no_hit_lru = {
    .kind = BLIS_POLICY_SCORER,
    .name = "llm-d.no-hit-lru-scorer",
    .summary = "no-hit-lru with a limit on remembered instances",
    .source = "llm-d router ebab6879",
    BLIS__PARAMS(llmd_params),
    .ops = &ops,
    .state_size = sizeof(no_hit_lru),
    .needs = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS),
    .init = init,
};
