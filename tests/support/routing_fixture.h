/*
 * routing_fixture.h - views and requests made by hand, for tests of policies.
 */
#ifndef BLIS_ROUTING_FIXTURE_H
#define BLIS_ROUTING_FIXTURE_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "policy/contract/view.h"
#include "policy/registry.h"

enum { FIXTURE_MAX = 12 };

/* n instances, all columns there and zero. */
typedef struct fixture {
  blis_routing_view view;
  uint32_t instances[FIXTURE_MAX];
  char id_texts[FIXTURE_MAX][32];
  const char *ids[FIXTURE_MAX];
  uint32_t id_ranks[FIXTURE_MAX];
  double columns[BLIS_SIGNAL_COUNT][FIXTURE_MAX];
} fixture;

static inline void fixture_init(fixture *f, size_t n) {
  memset(f, 0, sizeof *f);
  for (size_t i = 0; i < n; i++) {
    f->instances[i] = (uint32_t)i;
    snprintf(f->id_texts[i], sizeof f->id_texts[i], "instance_%zu", i);
    f->ids[i] = f->id_texts[i];
    for (size_t k = 0; k < i; k++) {
      bool is_before = strcmp(f->ids[k], f->ids[i]) < 0;
      f->id_ranks[is_before ? i : k]++;
    }
  }
  f->view = (blis_routing_view){
      .count = n, .instances = f->instances, .ids = f->ids, .id_ranks = f->id_ranks};
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    f->view.columns[s] = f->columns[s];
  }
}

/* A view of one candidate only. */
static inline blis_routing_view fixture_only(const fixture *f, size_t i) {
  blis_routing_view view = f->view;
  view.count = 1;
  view.instances += i;
  view.ids += i;
  view.id_ranks += i;
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    view.columns[s] += i;
  }
  return view;
}

static inline void fixture_set(fixture *f, blis_signal signal, const double *values) {
  memcpy(f->columns[signal], values, f->view.count * sizeof *values);
}

static inline const blis_block_chain *fixture_chain(void *chain_ud, uint32_t block_size) {
  (void)block_size;
  return chain_ud;
}

static inline blis_routing_request fixture_request(int64_t number, int64_t prompt_tokens,
                                                   blis_block_chain *chain, blis_ticket *ticket) {
  *ticket = (blis_ticket){{0, 0}};
  return (blis_routing_request){.number = number,
                                .prompt_tokens = prompt_tokens,
                                .output_tokens = -1,
                                .ticket = ticket,
                                .chain = fixture_chain,
                                .chain_ud = chain};
}

static inline blis_policy_context fixture_context(void) {
  return (blis_policy_context){
      .instance_count = 4, .kv_block_size_tokens = 16, .kv_blocks = 1000, .seed = 42};
}

static inline blis_router fixture_router(const blis_alloc *alloc, const char *name,
                                         const blis_params *params,
                                         const blis_policy_context *context) {
  blis_router router = {0};
  blis_error error;
  CHECK_OK(blis_router_create(alloc, name, params, context, &router, &error), &error);
  return router;
}

static inline blis_decision fixture_route(const blis_router *router,
                                          const blis_routing_request *request,
                                          const blis_routing_view *view) {
  blis_decision decision = {0};
  blis_error error;
  CHECK_OK(router->ops->route(&(blis_question){router->state, request, view, &error}, &decision),
           &error);
  CHECK(decision.chosen < view->count);
  return decision;
}

/* What a decision tells under a name; NAN = nothing. */
static inline double fixture_fact(const blis_decision *decision, const char *name) {
  for (size_t i = 0; i < decision->fact_count; i++) {
    if (strcmp(decision->facts[i].name, name) == 0) {
      return decision->facts[i].value;
    }
  }
  return NAN;
}

/* What a router hears, where it does not matter when. */
static inline void fixture_first_token(const blis_router *router, blis_ticket *ticket,
                                       uint32_t instance) {
  const blis_request_times times = {.ttft_us = 1000};
  router->ops->first_token(router->state, ticket, instance, &times);
}

static inline void fixture_ended(const blis_router *router, blis_ticket *ticket,
                                 uint32_t instance) {
  const blis_request_times times = {.ttft_us = -1};
  router->ops->ended(router->state, ticket, instance, &times);
}

#endif
