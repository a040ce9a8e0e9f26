/*
 * router.h - a routing policy: picks one candidate for one request.
 *
 * Built-in policies and Lua functions have this interface; the cluster treats them alike.
 */
#ifndef BLIS_POLICY_CONTRACT_ROUTER_H
#define BLIS_POLICY_CONTRACT_ROUTER_H

#include "base/alloc.h"
#include "base/error.h"
#include "policy/contract/view.h"

/* A component of the scores of all candidates. */
typedef struct blis_score_part {
  const char *scorer;   /* name of the scorer */
  double weight;        /* normalized: all weights sum to 1 */
  const double *scores; /* one per candidate, 0 to 1 */
} blis_score_part;

/* A custom metric of a policy about its decision. */
typedef struct blis_decision_fact {
  const char *name; /* static; an identifier that includes its unit, if any */
  double value;
} blis_decision_fact;

typedef struct blis_decision {
  size_t chosen; /* candidate index, < view->count */
  double score;  /* score of the chosen candidate; 0 for policies without scores */
  /* One score per candidate, or NULL for policies without scores; -INFINITY for excluded
     candidates. Also NULL if the policy did not evaluate every candidate, unless
     request->wants_parts. Owned by the router, valid until its next decision. */
  const double *scores;
  /* If not NULL: no candidate is selected, for this reason, and the request is rejected; chosen
     is ignored. Static, or owned by the router until its next decision. */
  const char *rejected;
  const char *reason; /* of the choice, for logs; NULL: the name of the policy. As rejected. */
  /*
   * If request->wants_parts: the components of the scores, or NULL for policies
   * that do not add them up. Owned by the router, valid until its next decision.
   */
  const blis_score_part *parts;
  size_t part_count;
  /*
   * If request->wants_parts: further facts that led to the choice, or NULL. The
   * router's own, valid until its next decision.
   */
  const blis_decision_fact *facts;
  size_t fact_count;
  /* For decode routing in a disaggregated cluster: the router also selects the prefill instance,
     and no disaggregation policy is called. May equal the decode instance. */
  bool has_prefill;
  int64_t prefill;
  /* New priority of the request, higher is more urgent; passed to its instances. The last stage
     that sets it takes precedence. */
  bool has_priority;
  double priority;
  /* Leading prompt tokens that the policy predicts to be cached on the chosen instance, if it
     uses cache information. */
  bool has_belief;
  int64_t believed_tokens;
} blis_decision;

typedef struct blis_router_ops {
  /* BLIS_ERR_POLICY or BLIS_ERR_NOMEM stops the run with *error. */
  blis_status (*route)(const blis_question *q, blis_decision *decision);
  /*
   * Called when a request that was routed to instance gets its first token (again after a
   * preemption), and when it has ended for any reason. NULL if not needed.
   */
  void (*first_token)(void *state, blis_ticket *ticket, uint32_t instance,
                      const blis_request_times *times);
  void (*ended)(void *state, blis_ticket *ticket, uint32_t instance,
                const blis_request_times *times);
  /*
   * Called when another replica of the policy has sent the request to a candidate. It stores what
   * route() would store about the decision, without counting the request. NULL: unsupported. See
   * policy/replicas.
   */
  blis_status (*learn)(const blis_question *q, size_t chosen);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_router_ops;

typedef struct blis_router {
  const blis_router_ops *ops;
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  blis_signal_set needs;          /* columns that it reads; view->column can add others */
  blis_signal_set needs_extremes; /* columns whose extremes it reads in view->extremes */
  bool needs_least_load;          /* it reads view->least_load, and needs effective_load */
  /* The router reads no columns, not even on demand, and does not depend on the times of first
     tokens and ends. Instances therefore need not be up to date. */
  bool is_blind;
  const char *name;                      /* static or owned by state */
  const struct blis_policy_entry *entry; /* NULL = not built in */
} blis_router;

/* Idempotent; an all-zero router is allowed. */
void blis_router_free(blis_router *router);

#endif
