/*
 * routesim.h - shared parts of the seven RouteSim algorithms: candidates, load, and the accounting
 * of a request.
 *
 * Candidates are the instances with fewer than max_queue_depth waiting requests. If there are none,
 * the request is rejected. With count_prefilling, the load of an instance is its queue plus its
 * batch, as in RouteSim's documentation. Without count_prefilling, as in RouteSim's code, it is
 * waiting plus decoding requests. Requests in prefill do not count then, and decoding requests are
 * the router's count of requests with a first token. Ties are broken by the lowest number, which is
 * the first in candidate order.
 *
 * An algorithm consists of a struct whose first member is a blis__routesim and a function that
 * chooses a candidate; blis__routesim_route does the rest. O(candidates).
 */
#ifndef BLIS_POLICY_ROUTESIM_ROUTESIM_H
#define BLIS_POLICY_ROUTESIM_ROUTESIM_H

#include <math.h>

#include "policy/contract/entry.h"
#include "policy/memory/load_counters.h"

#define BLIS__ROUTESIM_SOURCE "RouteSim Design Document; RouteSim 65e0004"

/* Maximum number of custom metrics of an algorithm. */
enum { BLIS__ROUTESIM_MAX_FACTS = 3 };

/*
 * Chooses one of the candidates that are not full; at least one exists. The state
 * belongs to the algorithm.
 */
typedef blis_status (*blis__routesim_choose)(const blis_question *q, size_t *chosen);

typedef struct blis__routesim {
  blis_alloc alloc;
  blis__routesim_choose choose;
  double max_queue_depth;
  bool counts_prefilling;
  blis__load_counters counters;
  BLIS_ARRAY(double) loads;  /* one per candidate; INFINITY = its queue is full */
  BLIS_ARRAY(double) scores; /* one per candidate; written by the algorithm */
  bool has_scores;           /* the decision includes scores */
  blis_decision_fact facts[BLIS__ROUTESIM_MAX_FACTS]; /* custom metrics */
  size_t fact_count;
} blis__routesim;

/* Parameters of every algorithm, at the start of its list. */
#define BLIS__ROUTESIM_PARAMS                                                                      \
  BLIS__INTEGER("max_queue_depth", 1, 1e9, 256, "requests",                                        \
                "an instance with this many waiting requests takes no more",                       \
                BLIS__INTO(blis__routesim, max_queue_depth)),                                      \
      BLIS__BOOLEAN("count_prefilling", 1,                                                         \
                    "requests in prefill count as load, as documented; "                           \
                    "RouteSim's code leaves them out",                                             \
                    BLIS__INTO(blis__routesim, counts_prefilling))

/* Signals that every algorithm reads. */
#define BLIS__ROUTESIM_NEEDS                                                                       \
  (BLIS_SIGNAL_BIT(BLIS_SIGNAL_QUEUE_DEPTH) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_BATCH_SIZE))

/* The differences between the algorithms. */
typedef struct blis__routesim_rule {
  blis__routesim_choose choose;
} blis__routesim_rule;

/* The init function of an algorithm, and the function that starts other init functions. */
blis_status blis__routesim_init(void *state, blis_policy_setup *setup, blis_error *error);

/* Initializers of an entry; signals are added to BLIS__ROUTESIM_NEEDS. */
#define BLIS__ROUTESIM(type, operations, begin, chooser, signals)                                  \
  .ops = &(operations), .state_size = sizeof(type), .needs = BLIS__ROUTESIM_NEEDS | (signals),     \
  .rule = &(const blis__routesim_rule){chooser}, .init = (begin)

/* The operations of an algorithm that keeps no further state. */
extern const blis_router_ops blis__routesim_ops;

/* The functions of blis__routesim_ops, for all other algorithms. */
blis_status blis__routesim_route(const blis_question *q, blis_decision *decision);
void blis__routesim_first_token(void *state, blis_ticket *ticket, uint32_t instance,
                                const blis_request_times *times);
void blis__routesim_ended(void *state, blis_ticket *ticket, uint32_t instance,
                          const blis_request_times *times);
void blis__routesim_free(const blis_alloc *alloc, void *state);

/* For choose functions. */
static inline bool blis__routesim_is_full(const blis__routesim *self, size_t candidate) {
  return isinf(self->loads.items[candidate]);
}

/* Adds a custom metric to the current decision; name is static. */
static inline void blis__routesim_tell(blis__routesim *self, const char *name, double value) {
  self->facts[self->fact_count++] = (blis_decision_fact){name, value};
}

/* Returns the first candidate with the lowest load. */
size_t blis__routesim_least_outstanding(const blis__routesim *self, const blis_routing_view *view);

#endif
