/*
 * core_listeners.h - listeners of the core. Each function adds its listener if it is configured;
 * otherwise, it does nothing.
 */
#ifndef BLIS_CLUSTER_CORE_LISTENERS_H
#define BLIS_CLUSTER_CORE_LISTENERS_H

#include "cluster/state.h"

/* feedback.c: reports the outcome of requests to the router that routed them. */
BLIS_MUSTUSE blis_status blis__add_router_feedback(blis_cluster *cluster);
/* feedback.c: the same for another router, which routes attempts of a feature. */
BLIS_MUSTUSE blis_status blis__add_feedback_of(blis_cluster *cluster, const blis_router *router);
/* feedback.c: reports the outcome of admitted requests to the admission policy. */
BLIS_MUSTUSE blis_status blis__add_admission_feedback(blis_cluster *cluster);

/* core_listeners.c: applies config.priority to arrivals. */
BLIS_MUSTUSE blis_status blis__add_priority(blis_cluster *cluster);

/* core_listeners.c: a request with an ambiguous model is an error. */
BLIS_MUSTUSE blis_status blis__add_clear_models(blis_cluster *cluster);

/* core_listeners.c: every admission also refreshes stale signals. */
BLIS_MUSTUSE blis_status blis__add_late_signals(blis_cluster *cluster);

/*
 * prefill_history.c: maintains the signals of BLIS_SIGNALS_WITH_HISTORY if they are among the
 * columns in use. May be called again.
 */
BLIS_MUSTUSE blis_status blis__add_prefill_history(blis_cluster *cluster);

/* traffic_state.c: records the traffic of tenants, with config.keeps_traffic. */
BLIS_MUSTUSE blis_status blis__add_traffic_state(blis_cluster *cluster);
void blis__free_traffic_state(blis_cluster *cluster);

/* core_listeners.c: reports ends of requests to the source, which may send follow-ups. */
BLIS_MUSTUSE blis_status blis__add_follow_ups(blis_cluster *cluster);

/* life_cycle.c, waiting_room.c: these are created when they are first needed. */
void blis__free_life_cycle(blis_cluster *cluster);
void blis__free_waiting_room(blis_cluster *cluster);

#endif
