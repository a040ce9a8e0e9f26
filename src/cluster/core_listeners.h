/*
 * core_listeners.h - listeners of the core. Each function adds a listener if it is
 * configured, and does nothing otherwise.
 */
#ifndef BLIS_CLUSTER_CORE_LISTENERS_H
#define BLIS_CLUSTER_CORE_LISTENERS_H

#include "cluster/state.h"

/* feedback.c: reports to the router the outcome of the requests it routed... */
BLIS_MUSTUSE blis_status blis__add_router_feedback(blis_cluster *cluster);
/* ...and another router, which sends attempts of a feature... */
BLIS_MUSTUSE blis_status blis__add_feedback_of(blis_cluster *cluster, const blis_router *router);
/* ...and to the admission policy the outcome of the requests it admitted. */
BLIS_MUSTUSE blis_status blis__add_admission_feedback(blis_cluster *cluster);

/* core_listeners.c: config.priority sets the priority of an arrival. */
BLIS_MUSTUSE blis_status blis__add_priority(blis_cluster *cluster);

/* core_listeners.c: a request whose model could be several is an error. */
BLIS_MUSTUSE blis_status blis__add_clear_models(blis_cluster *cluster);

/* core_listeners.c: every admission also refreshes stale signals. */
BLIS_MUSTUSE blis_status blis__add_late_signals(blis_cluster *cluster);

/*
 * prefill_history.c: maintains the signals of BLIS_SIGNALS_WITH_HISTORY once
 * they are among the columns in use; may be called again.
 */
BLIS_MUSTUSE blis_status blis__add_prefill_history(blis_cluster *cluster);

/* traffic_state.c: what tenants send, with config.keeps_traffic. */
BLIS_MUSTUSE blis_status blis__add_traffic_state(blis_cluster *cluster);
void blis__free_traffic_state(blis_cluster *cluster);

/* core_listeners.c: the source learns of ends, and may send follow-ups. */
BLIS_MUSTUSE blis_status blis__add_follow_ups(blis_cluster *cluster);

/* life_cycle.c, waiting_room.c: made when they are first needed. */
void blis__free_life_cycle(blis_cluster *cluster);
void blis__free_waiting_room(blis_cluster *cluster);

#endif
