/*
 * gateway_fixture.h - a site of instances, one routing policy, and the requests
 * it gets: for the worked examples of the policies of gateways.
 */
#ifndef BLIS_GATEWAY_FIXTURE_H
#define BLIS_GATEWAY_FIXTURE_H

#include "cluster/gateway/gateway.h"
#include "routing_fixture.h"

enum { BLOCKS_MAX = 2100 };

/* A site of instances, one policy, and the requests it gets. */
typedef struct gateway {
  blis_alloc_probe memory;
  blis_alloc alloc;
  fixture f;
  blis_router router;
  blis_ticket tickets[16];
  size_t sent;
  blis_intern *strings; /* text k is "s<k>" */
} gateway;

enum { SESSIONS = 10 };

static blis_block_id shared_ids[BLOCKS_MAX];

static inline void open_with(gateway *g, const char *policy, size_t instances,
                             const blis_param *params, size_t param_count) {
  *g = (gateway){0};
  g->alloc = blis_alloc_probed(&g->memory);
  fixture_init(&g->f, instances);
  for (size_t i = 0; i < BLOCKS_MAX; i++) {
    shared_ids[i] = i + 1;
  }
  g->strings = blis_intern_new(&g->alloc);
  for (int k = 1; k <= SESSIONS; k++) {
    char text[8];
    int length = snprintf(text, sizeof text, "s%d", k);
    uint32_t number;
    CHECK(blis_intern_add(g->strings, text, (size_t)length, &number) == BLIS_OK);
    CHECK_EQ_I64(number, k);
  }
  blis_policy_context context = fixture_context();
  const blis_params given = {params, param_count};
  g->router = fixture_router(&g->alloc, policy, &given, &context);
}

static inline void open_policy(gateway *g, const char *policy, size_t instances) {
  open_with(g, policy, instances, NULL, 0);
}

static inline void close_policy(gateway *g) {
  blis_router_free(&g->router);
  blis_intern_free(g->strings);
  CHECK_EQ_I64(g->memory.live_bytes, 0);
}

/* What a request is like; the rest of its blocks are its own. */
typedef struct given_request {
  int64_t prompt_tokens;
  uint32_t blocks;
  uint32_t shared_blocks;
  uint32_t session;
  uint32_t tenant;
} given_request;

#define TURN(tokens, blocks, shared, session)                                                      \
  ((given_request){(tokens), (blocks), (shared), (session), 0})
#define PROMPT(tokens, blocks, shared) TURN(tokens, blocks, shared, 0)

static inline blis_decision send_to(gateway *g, const blis_routing_view *view,
                                    given_request given) {
  static uint64_t next_private = 1;
  static blis_block_chain chain;
  chain = (blis_block_chain){shared_ids, given.shared_blocks, given.blocks,
                             BLIS_BLOCK_PRIVATE | (next_private++ * BLOCKS_MAX)};
  blis_ticket *ticket = &g->tickets[g->sent++ % 16];
  blis_routing_request request =
      fixture_request((int64_t)g->sent, given.prompt_tokens, &chain, ticket);
  const blis_segment prefix = {.length_tokens = 16 * given.shared_blocks};
  request.segments = &prefix;
  request.segment_count = 1;
  request.session = given.session;
  request.tenant = given.tenant;
  request.strings = g->strings;
  blis_decision decision = {0};
  blis_error error;
  CHECK_OK(
      g->router.ops->route(&(blis_question){g->router.state, &request, view, &error}, &decision),
      &error);
  return decision;
}

static inline size_t route_one(gateway *g, given_request given) {
  blis_decision decision = send_to(g, &g->f.view, given);
  CHECK(decision.rejected == NULL);
  return decision.chosen;
}

/* Sends it to one instance, which then knows the shared blocks. */
static inline void teach(gateway *g, size_t instance, given_request given) {
  blis_routing_view only = fixture_only(&g->f, instance);
  send_to(g, &only, given);
}

static inline void first_token_of_last(gateway *g, uint32_t instance) {
  fixture_first_token(&g->router, &g->tickets[(g->sent - 1) % 16], instance);
}

/* What the last request is told of itself. */
static inline void tell_first_token(gateway *g, uint32_t instance, int64_t ttft_us) {
  const blis_request_times times = {.ttft_us = ttft_us};
  g->router.ops->first_token(g->router.state, &g->tickets[(g->sent - 1) % 16], instance, &times);
}

static inline void loads(gateway *g, const double *values) {
  fixture_set(&g->f, BLIS_SIGNAL_IN_FLIGHT, values);
}

#endif
