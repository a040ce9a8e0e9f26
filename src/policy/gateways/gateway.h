/*
 * gateway.h - shared state of the routing policies of deployed gateways: a memory
 * of prompts, sessions bound to instances, a random stream, a count of decisions.
 *
 * Such a policy is a rule: a function that chooses among the candidates with the
 * numbers of its parameters. The shared state records its choice.
 */
#ifndef BLIS_POLICY_GATEWAYS_GATEWAY_H
#define BLIS_POLICY_GATEWAYS_GATEWAY_H

#include "base/array.h"
#include "base/random.h"
#include "policy/contract/entry.h"
#include "policy/gateways/least.h"
#include "policy/memory/bindings.h"
#include "policy/memory/prefix_memory.h"

enum { BLIS__GATEWAY_PARAM_MAX = 12 };

typedef struct blis__gateway blis__gateway;

typedef struct blis__gateway_rule {
  /*
   * A candidate; view->count rejects the request, reason no-candidate. The
   * state is the gateway. With a memory it has been looked up. NULL takes the
   * candidate of the least.
   */
  blis_status (*choose)(const blis_question *q, size_t *chosen);
  blis__least least;
  /* For a choose that several rules share: the part of each rule. */
  size_t (*pick)(const blis_question *q);
  bool has_memory; /* of prompts; takes parameters block_size, capacity */
  /* The rule's own state, zeroed, in gateway->own. */
  size_t own_size;
  void (*init_own)(blis__gateway *gateway);
  void (*deinit_own)(blis__gateway *gateway); /* of what init_own has begun */
  /* What blis_router_ops has; NULL when not wanted. */
  void (*first_token)(blis__gateway *gateway, blis_ticket *ticket, uint32_t instance,
                      const blis_request_times *times);
  void (*ended)(blis__gateway *gateway, blis_ticket *ticket, uint32_t instance,
                const blis_request_times *times);
} blis__gateway_rule;

struct blis__gateway {
  blis_alloc alloc;
  const blis__gateway_rule *rule;
  blis__prefix_memory memory;
  blis__bindings sessions;
  blis_random random; /* "policy/<name>" */
  /* Numbers of the parameters, and indices of choices, in their order. */
  double values[BLIS__GATEWAY_PARAM_MAX];
  BLIS_ARRAY(int64_t) sent;  /* requests so far, by instance number */
  BLIS_ARRAY(int64_t) bound; /* the same for what rules count themselves */
  BLIS_ARRAY(size_t) order;  /* capacity for one per candidate */
  void *own;
};

/* The usual parameters of a memory, at the end of a list. */
#define BLIS__GATEWAY_MEMORY_PARAMS(block_tokens, blocks)                                          \
  BLIS__BLOCK_SIZE_PARAM(block_tokens, "block size for comparing prompts"),                        \
      BLIS__INDEX_CAPACITY_PARAM(blocks, "remembered per instance")

blis_status blis__gateway_init(void *state, blis_policy_setup *setup, blis_error *error);
extern const blis_router_ops blis__gateway_ops;

/* The members of an entry with this rule; signals are its inputs. */
#define BLIS__GATEWAY(signals, ...)                                                                \
  .ops = &blis__gateway_ops, .state_size = sizeof(blis__gateway), .needs = (signals),              \
  .rule = &(const blis__gateway_rule){__VA_ARGS__}, .init = blis__gateway_init

/* Requests that the policy has sent to a candidate so far. */
static inline int64_t blis__gateway_sent(const blis__gateway *gateway,
                                         const blis_routing_view *view, size_t candidate) {
  return gateway->sent.items[view->instances[candidate]];
}

/* Inputs of a rule with a memory: 0 - tokens of the prompt in the memory, blocks. */
double blis__known_negated(const blis_question *q, size_t i);
double blis__memory_size(const blis_question *q, size_t i);

/* A random candidate among those with the least value. */
size_t blis__any_least(blis_random *random, const double *values, size_t count);

/* The lesser of two random candidates, the first drawn of equal ones. */
size_t blis__less_of_two(const blis_question *q, blis__figure *figure);

/* Lowest and highest of values. */
typedef struct blis__range {
  double low;
  double high;
} blis__range;
blis__range blis__range_of(const double *values, size_t count);

/*
 * (value - low) / (high - low); 0 where all are equal.
 */
static inline double blis__range_share(blis__range range, double value) {
  return range.high > range.low ? (value - range.low) / (range.high - range.low) : 0;
}

/* Mean + deviations x sample standard deviation, which is 0 for one value. */
double blis__mean_bound(const double *values, size_t count, double deviations);

#endif
