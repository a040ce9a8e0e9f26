/*
 * router.h - a routing policy: picks one candidate for one request.
 *
 * The one interface behind which built-in policies and Lua functions stand;
 * the cluster cannot tell them apart.
 */
#ifndef BLIS_ROUTING_ROUTER_H
#define BLIS_ROUTING_ROUTER_H

#include "base/alloc.h"
#include "base/error.h"
#include "routing/view.h"

typedef struct blis_decision {
  size_t chosen; /* candidate index, < view->count */
  double score;  /* of the chosen one; 0 for policies without scores */
  /*
   * One score per candidate, or NULL for policies without scores. The
   * router's own, valid until its next decision.
   */
  const double *scores;
} blis_decision;

typedef struct blis_router_ops {
  /* BLIS_ERR_POLICY (or NOMEM) stops the run with *error. */
  blis_status (*route)(void *state, const blis_routing_request *request,
                       const blis_routing_view *view, blis_decision *decision,
                       blis_error *error);
  /*
   * A request that was routed to instance got a first token (again, after a
   * preemption), or has ended in whatever way. NULL when not wanted.
   */
  void (*first_token)(void *state, blis_ticket *ticket, uint32_t instance);
  void (*ended)(void *state, blis_ticket *ticket, uint32_t instance);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_router_ops;

typedef struct blis_router {
  const blis_router_ops *ops;
  void *state;
  blis_alloc alloc;
  blis_signal_set needs; /* columns it reads; more by view->column */
  const char *name;      /* static, or owned by state */
} blis_router;

/* Idempotent; an all-zero router is allowed. */
void blis_router_free(blis_router *router);

#endif
