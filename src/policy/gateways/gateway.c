#include "policy/gateways/gateway.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "policy/pickers/pick_rules.h"

static blis_status make_room(blis__gateway *self, const blis_routing_view *view) {
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->sent, instances));
  BLIS_TRY(blis_array_reserve(&self->alloc, &self->bound, instances));
  while (self->sent.count < instances) {
    self->sent.items[self->sent.count++] = 0;
    self->bound.items[self->bound.count++] = 0;
  }
  return blis_array_reserve(&self->alloc, &self->order, view->count);
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  const blis_routing_view *view = q->view;
  blis__gateway *self = q->state;
  bool has_memory = self->rule->has_memory;
  size_t chosen;
  BLIS_TRY_MEM(make_room(self, view), q->error);
  if (has_memory) {
    BLIS_TRY_MEM(blis__prefix_memory_look_up(&self->memory, q->request, view), q->error);
  }
  if (self->rule->choose != NULL) {
    BLIS_TRY(self->rule->choose(q, &chosen));
  } else {
    chosen = blis__least_of(q, &self->rule->least);
  }
  if (chosen == view->count) {
    *decision = (blis_decision){.rejected = "no-candidate"};
    return BLIS_OK;
  }
  BLIS_ASSERT(chosen < view->count);
  *decision = (blis_decision){.chosen = chosen};
  self->sent.items[view->instances[chosen]]++;
  if (!has_memory) {
    return BLIS_OK;
  }
  decision->has_belief = true;
  decision->believed_tokens = blis__prefix_memory_tokens(&self->memory, view, chosen);
  BLIS_ASSERT(self->memory.blocks.items[view->instances[chosen]] <= self->memory.prompt_blocks);
  BLIS_TRY_MEM(blis__prefix_memory_observe(&self->memory, q->request, view->instances[chosen]),
               q->error);
  return BLIS_OK;
}

/* A rule without a memory stores nothing. */
static blis_status learn(const blis_question *q, size_t chosen) {
  blis__gateway *self = q->state;
  if (self->rule->has_memory) {
    BLIS_TRY_MEM(blis__prefix_memory_observe(&self->memory, q->request, q->view->instances[chosen]),
                 q->error);
  }
  return BLIS_OK;
}

static void free_state(const blis_alloc *alloc, void *state) {
  blis__gateway *self = state;
  if (self->own != NULL && self->rule->deinit_own != NULL) {
    self->rule->deinit_own(self);
  }
  blis_alloc_free(alloc, self->own, self->rule->own_size);
  blis__prefix_memory_deinit(&self->memory);
  blis__bindings_deinit(&self->sessions);
  blis_array_deinit(alloc, &self->sent);
  blis_array_deinit(alloc, &self->bound);
  blis_array_deinit(alloc, &self->order);
}

static void first_token(void *state, blis_ticket *ticket, uint32_t instance,
                        const blis_request_times *times) {
  blis__gateway *self = state;
  if (self->rule->first_token != NULL) {
    self->rule->first_token(self, ticket, instance, times);
  }
}

static void ended(void *state, blis_ticket *ticket, uint32_t instance,
                  const blis_request_times *times) {
  blis__gateway *self = state;
  if (self->rule->ended != NULL) {
    self->rule->ended(self, ticket, instance, times);
  }
}

const blis_router_ops blis__gateway_ops = {
    .route = route, .first_token = first_token, .ended = ended, .learn = learn, .free = free_state};

static void read_values(blis__gateway *self, const blis_policy_setup *setup) {
  const blis_policy_entry *entry = setup->entry;
  BLIS_ASSERT(entry->param_count <= BLIS__GATEWAY_PARAM_MAX);
  for (size_t i = 0; i < entry->param_count; i++) {
    const blis_param_spec *spec = &entry->params[i];
    self->values[i] = spec->kind == BLIS_PARAM_CHOICE ? blis_param_choice(spec, setup->params)
                                                      : blis_param_number(spec, setup->params);
  }
}

static blis_status init_own(blis__gateway *self) {
  if (self->rule->own_size == 0) {
    return BLIS_OK;
  }
  self->own = blis_alloc_zeroed(&self->alloc, 1, self->rule->own_size);
  if (self->own == NULL) {
    return BLIS_ERR_NOMEM;
  }
  if (self->rule->init_own != NULL) {
    self->rule->init_own(self);
  }
  return BLIS_OK;
}

blis_status blis__gateway_init(void *state, blis_policy_setup *setup, blis_error *error) {
  blis__gateway *self = state;
  const blis__gateway_rule *rule = setup->entry->rule;
  self->alloc = *setup->alloc;
  self->rule = rule;
  blis__bindings_init(&self->sessions, setup->alloc);
  read_values(self, setup);
  blis_setup_random(setup, &self->random);
  setup->is_blind = setup->needs == 0 && rule->first_token == NULL && rule->ended == NULL;
  BLIS_TRY_MEM(init_own(self), error);
  if (rule->has_memory) {
    BLIS_TRY_MEM(blis__prefix_memory_setup(&self->memory, setup), error);
  }
  return BLIS_OK;
}

double blis__known_negated(const blis_question *q, size_t i) {
  const blis__gateway *self = q->state;
  return 0 - (double)blis__prefix_memory_tokens(&self->memory, q->view, i);
}

double blis__memory_size(const blis_question *q, size_t i) {
  const blis__gateway *self = q->state;
  return (double)blis_prefix_index_size(self->memory.index, q->view->instances[i]);
}

blis__range blis__range_of(const double *values, size_t count) {
  blis__range range = {values[0], values[0]};
  for (size_t i = 1; i < count; i++) {
    range.low = values[i] < range.low ? values[i] : range.low;
    range.high = values[i] > range.high ? values[i] : range.high;
  }
  return range;
}

double blis__mean_bound(const double *values, size_t count, double deviations) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    sum += values[i];
  }
  double mean = sum / (double)count;
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    squares += (values[i] - mean) * (values[i] - mean);
  }
  double variance = count > 1 ? squares / (double)(count - 1) : 0;
  return mean + deviations * sqrt(variance);
}

size_t blis__any_least(blis_random *random, const double *values, size_t count) {
  double least = blis__range_of(values, count).low;
  size_t tied = 0;
  for (size_t i = 0; i < count; i++) {
    tied += values[i] == least;
  }
  BLIS_ASSERT(tied > 0); /* values contain no NaN */
  size_t skipped = blis_pick_random(random, tied);
  size_t i = 0;
  while (values[i] != least || skipped-- > 0) {
    i++;
  }
  return i;
}

size_t blis__less_of_two(const blis_question *q, blis__figure *figure) {
  blis__gateway *self = q->state;
  if (q->view->count == 1) {
    return 0;
  }
  size_t first;
  size_t second;
  blis_pick_two(&self->random, q->view->count, &first, &second);
  return figure(q, second) < figure(q, first) ? second : first;
}
