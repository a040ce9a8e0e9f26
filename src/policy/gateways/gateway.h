/*
 * gateway.h - shared state of the routing policies of deployed gateways: an index of sent prompts,
 * sessions bound to instances, a random stream, and a count of decisions.
 *
 * Each policy is a rule: a function that chooses a candidate, given the values of the policy's
 * parameters. The shared state records the choice.
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
   * Chooses a candidate; view->count rejects the request with reason no-candidate. The state is the
   * gateway. If the rule has a memory, the prompt has already been looked up. NULL takes the
   * candidate with the lowest value.
   */
  blis_status (*choose)(const blis_question *q, size_t *chosen);
  blis__least least;
  /* For a choose function that several rules share: the part that differs. */
  size_t (*pick)(const blis_question *q);
  bool has_memory; /* index of prompts; adds parameters block_size and capacity */
  /* Size of the rule's own state, which is zeroed and stored in gateway->own. */
  size_t own_size;
  void (*init_own)(blis__gateway *gateway);
  void (*deinit_own)(blis__gateway *gateway); /* frees what init_own has allocated, even
                                                 partially */
  /* Same meaning as in blis_router_ops; NULL if not needed. */
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
  blis_random random; /* stream "policy/<name>" */
  /* Values of the parameters in their order; for choices, the index. */
  double values[BLIS__GATEWAY_PARAM_MAX];
  BLIS_ARRAY(int64_t) sent;  /* requests sent so far, by instance number */
  BLIS_ARRAY(int64_t) bound; /* counters that the rules maintain, by instance number */
  BLIS_ARRAY(size_t) order;  /* capacity for one per candidate */
  void *own;
};

/* The standard parameters of an index of prompts, at the end of a list. */
#define BLIS__GATEWAY_MEMORY_PARAMS(block_tokens, blocks)                                          \
  BLIS__BLOCK_SIZE_PARAM(block_tokens, "block size for comparing prompts"),                        \
      BLIS__INDEX_CAPACITY_PARAM(blocks, "remembered per instance")

blis_status blis__gateway_init(void *state, blis_policy_setup *setup, blis_error *error);
extern const blis_router_ops blis__gateway_ops;

/* Initializers of an entry with this rule; signals are its inputs. */
#define BLIS__GATEWAY(signals, ...)                                                                \
  .ops = &blis__gateway_ops, .state_size = sizeof(blis__gateway), .needs = (signals),              \
  .rule = &(const blis__gateway_rule){__VA_ARGS__}, .init = blis__gateway_init

/* Returns the number of requests that the policy has sent to a candidate. */
static inline int64_t blis__gateway_sent(const blis__gateway *gateway,
                                         const blis_routing_view *view, size_t candidate) {
  return gateway->sent.items[view->instances[candidate]];
}

/* Inputs of a rule with a memory: the negated number of prompt tokens in the memory, and the
   number of blocks. */
double blis__known_negated(const blis_question *q, size_t i);
double blis__memory_size(const blis_question *q, size_t i);

/* Returns a random candidate among those with the lowest value. */
size_t blis__any_least(blis_random *random, const double *values, size_t count);

/* Returns the lesser of two random candidates; if they are equal, the one drawn first. */
size_t blis__less_of_two(const blis_question *q, blis__figure *figure);

/* Lowest and highest value of a set. */
typedef struct blis__range {
  double low;
  double high;
} blis__range;
blis__range blis__range_of(const double *values, size_t count);

/* Returns (value - low) / (high - low); 0 if low and high are equal. */
static inline double blis__range_share(blis__range range, double value) {
  return range.high > range.low ? (value - range.low) / (range.high - range.low) : 0;
}

/* Returns mean + deviations x sample standard deviation. The standard deviation of one value is
   0. */
double blis__mean_bound(const double *values, size_t count, double deviations);

#endif
