/* stages.h - the path of a request through the cluster: arrival, admission, routing, and delivery
 * to its instance.
 *
 * Each stage is an event that schedules the next stage. If the next stage would be the next event
 * anyway, it is executed immediately. */
#ifndef BLIS_CLUSTER_STAGES_H
#define BLIS_CLUSTER_STAGES_H

#include "cluster/state.h"

/* Takes the next request from the source, if it has one. */
BLIS_MUSTUSE blis_status blis__cluster_fetch_arrival(blis_cluster *cluster, blis_error *error);

/* Executes the arrival that was fetched, and fetches the next one. */
BLIS_MUSTUSE blis_status blis__cluster_arrive(blis_cluster *cluster, blis_error *error);

BLIS_MUSTUSE blis_status blis__cluster_admit(blis_cluster *cluster, blis__cluster_request *request,
                                             blis_error *error);

/* Schedules the routing of an admitted request after the routing latency. */
BLIS_MUSTUSE blis_status blis__cluster_go_to_routing(blis_cluster *cluster,
                                                     blis__cluster_request *request,
                                                     blis_error *error);

BLIS_MUSTUSE blis_status blis__cluster_route(blis_cluster *cluster, blis__cluster_request *request,
                                             blis_error *error);

/* A routing decision: the policy and the candidates. */
typedef struct blis__stage {
  const blis_router *router;
  blis_ticket *ticket;
  uint32_t role; /* role of the candidates; 0 = no roles */
  int64_t peer;  /* instance of the other stage; -1 = none */
} blis__stage;

/* The result of a routing decision. */
typedef struct blis__choice {
  blis_routing_request shown;
  const blis_routing_view *view;
  blis_decision decision;
  uint32_t instance;  /* only set if the decision is not a rejection */
  const char *policy; /* name of the policy */
  bool is_told;
} blis__choice;

/* Calls the policy. The decision about the request must have begun (chain_cache.h). */
BLIS_MUSTUSE blis_status blis__cluster_choose(blis_cluster *cluster, blis__cluster_request *request,
                                              const blis__stage *stage, blis__choice *choice,
                                              blis_error *error);

/* Notifies listeners of a choice, once, before the next choice. */
BLIS_MUSTUSE blis_status blis__cluster_tell_choice(blis_cluster *cluster,
                                                   blis__cluster_request *request,
                                                   blis__choice *choice, blis_error *error);

/* Sends the request to a serving instance, which performs all its stages. */
BLIS_MUSTUSE blis_status blis__cluster_send(blis_cluster *cluster, blis__cluster_request *request,
                                            uint32_t instance, blis_error *error);

/* Executes the arrival of a follow-up. */
BLIS_MUSTUSE blis_status blis__cluster_follow_up_arrives(blis_cluster *cluster, uint32_t index,
                                                         blis_error *error);

#endif
