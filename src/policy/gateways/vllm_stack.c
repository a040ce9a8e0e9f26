/*
 * vllm_stack.c - routing policies of the vLLM production stack: vllm-stack.session,
 * vllm-stack.prefixaware, vllm-stack.kvaware. Requests to which the rule does not apply are sent to
 * the instance with the lowest recent request rate.
 */
#include <math.h>

#include "policy/contract/stable_hash.h"
#include "policy/gateways/gateway.h"
#include "policy/memory/hash_ring.h"
#include "policy/memory/recent.h"
#include "policy/pickers/pick_rules.h"

/* The common first parameters. */
enum { QPS_WINDOW, VIRTUAL_NODES, STACK_PARAM_COUNT };

#define STACK_PARAMS                                                                               \
  BLIS__INTEGER("qps_window_us", 1, 1e15, 60e6, "us",                                              \
                "window over which requests per second are counted"),                              \
      BLIS__INTEGER("virtual_nodes", 1, 10000, 150, "points",                                      \
                    "points points of an instance on the ring of sessions")

#define STACK_SOURCE "vLLM production-stack a6c01db0"

typedef struct stack {
  blis__hash_ring ring;
  blis__recent recent;        /* decisions, by instance */
  BLIS_ARRAY(int64_t) counts; /* number of recent decisions, by instance number */
} stack;

static void init_stack(blis__gateway *self) {
  stack *own = self->own;
  blis__hash_ring_init(&own->ring, &self->alloc, (uint32_t)self->values[VIRTUAL_NODES]);
}

static void deinit_stack(blis__gateway *self) {
  stack *own = self->own;
  blis__hash_ring_deinit(&own->ring);
  blis__recent_deinit(&self->alloc, &own->recent);
  blis_array_deinit(&self->alloc, &own->counts);
}

/* Updates the counts of every candidate and removes decisions from before the window. */
static blis_status update_counts(blis__gateway *self, const blis_routing_view *view) {
  stack *own = self->own;
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->counts, instances));
  while (own->counts.count < instances) {
    own->counts.items[own->counts.count++] = 0;
  }
  int64_t begin_us = view->now_us - (int64_t)self->values[QPS_WINDOW];
  blis__recent_item item;
  while (blis__recent_expire(&own->recent, begin_us, &item)) {
    own->counts.items[item.key]--;
  }
  return BLIS_OK;
}

static double was_sent_one(const blis_question *q, size_t i) {
  return blis__gateway_sent(q->state, q->view, i) > 0;
}

static double recent_requests(const blis_question *q, size_t i) {
  const stack *own = ((const blis__gateway *)q->state)->own;
  return (double)own->counts.items[q->view->instances[i]];
}

static size_t lowest_qps(const blis_question *q) {
  static const blis__least lowest = {.by = {was_sent_one, recent_requests}};
  return blis__least_of(q, &lowest);
}

/* Chooses the instance that follows the session on the ring; without a session, the instance
   with the lowest QPS. */
static blis_status follow_session(const blis_question *q, size_t *chosen) {
  stack *own = ((blis__gateway *)q->state)->own;
  const blis_routing_request *request = q->request;
  if (request->session == 0 || request->strings == NULL) {
    *chosen = lowest_qps(q);
    return BLIS_OK;
  }
  BLIS_TRY(blis__hash_ring_of(&own->ring, q->view));
  uint64_t key = blis_stable_hash_of_text(request, request->session);
  size_t point = blis__hash_ring_find(&own->ring, key);
  *chosen = own->ring.points.items[point].candidate;
  return BLIS_OK;
}

static blis_status count_decision(blis__gateway *self, const blis_routing_view *view,
                                  size_t chosen) {
  stack *own = self->own;
  const blis__recent_item item = {.at_us = view->now_us, .key = view->instances[chosen]};
  own->counts.items[item.key]++;
  return blis__recent_add(&self->alloc, &own->recent, &item);
}

/* Chooses by the rule; if the rule selects no instance, by session. */
static blis_status choose(const blis_question *q, size_t *chosen) {
  const blis__gateway *self = q->state;
  size_t none = q->view->count;
  BLIS_TRY_MEM(update_counts(q->state, q->view), q->error);
  *chosen = self->rule->pick != NULL ? self->rule->pick(q) : none;
  if (*chosen == none) {
    BLIS_TRY_MEM(follow_session(q, chosen), q->error);
  }
  BLIS_TRY_MEM(count_decision(q->state, q->view, *chosen), q->error);
  return BLIS_OK;
}

/* Initializers of an entry that uses choose. */
#define STACK(signals, ...)                                                                        \
  BLIS__GATEWAY(signals, .choose = choose, .own_size = sizeof(stack), .init_own = init_stack,      \
                .deinit_own = deinit_stack, __VA_ARGS__)

static const blis_param_spec session_params[] = {STACK_PARAMS};

const blis_policy_entry blis__router_vllm_stack_session = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "vllm-stack.session",
    .summary = "the next instance after the session on a hash ring; without a "
               "session the lowest QPS",
    .source = STACK_SOURCE ", with XXH64 on its ring",
    BLIS__PARAMS(session_params),
    STACK(0, .has_memory = false),
};

enum { THRESHOLD = STACK_PARAM_COUNT };

static const blis_param_spec kvaware_params[] = {
    STACK_PARAMS,
    BLIS__INTEGER("threshold", 0, 1e15, 2000, "tokens",
                  "prompt tokens that may be missing in the chosen cache"),
};

/* Returns the first candidate with the most cached tokens, if nearly the whole prompt is cached. */
static size_t pick_kvaware(const blis_question *q) {
  static const blis__least most_cached = {.by = {blis__cached_negated}};
  const blis__gateway *self = q->state;
  size_t best = blis__least_of(q, &most_cached);
  double cached = 0 - blis__cached_negated(q, best);
  double prompt = (double)q->request->prompt_tokens;
  double wanted = fmax(prompt - self->values[THRESHOLD], 0);
  return cached > 0 && cached >= wanted ? best : q->view->count;
}

const blis_policy_entry blis__router_vllm_stack_kvaware = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "vllm-stack.kvaware",
    .summary = "most cached tokens if they cover nearly the whole prompt; else "
               "by session on a hash ring, else the lowest QPS",
    .source = STACK_SOURCE ", with XXH64 on its ring",
    BLIS__PARAMS(kvaware_params),
    STACK(BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS), .pick = pick_kvaware),
};

enum { MIN_MATCH = STACK_PARAM_COUNT };

static const blis_param_spec prefixaware_params[] = {
    STACK_PARAMS,
    BLIS__INTEGER("prefix_min_match_tokens", 0, 1e15, 0, "tokens",
                  "minimum match; below it the lowest QPS"),
    BLIS__GATEWAY_MEMORY_PARAMS(32, 1 << 24),
};

/* Returns a random candidate with the longest match. */
static size_t pick_prefixaware(const blis_question *q) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  int64_t longest = 0;
  size_t tied = 0;
  for (size_t i = 0; i < view->count; i++) {
    int64_t matched = blis__prefix_memory_tokens(&self->memory, view, i);
    if (matched > longest) {
      longest = matched;
      tied = 0;
    }
    if (matched == longest) {
      self->order.items[tied++] = i;
    }
  }
  return (double)longest < self->values[MIN_MATCH]
             ? lowest_qps(q)
             : self->order.items[blis_pick_random(&self->random, tied)];
}

const blis_policy_entry blis__router_vllm_stack_prefixaware = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "vllm-stack.prefixaware",
    .summary = "longest match, ties at random",
    .source = STACK_SOURCE "; 32 tokens in place of 128 characters",
    BLIS__PARAMS(prefixaware_params),
    STACK(0, .pick = pick_prefixaware, .has_memory = true),
};
