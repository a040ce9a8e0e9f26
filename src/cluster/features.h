/*
 * features.h - the optional features of a cluster. Each function adds the
 * listener of one feature if it is configured, and does nothing otherwise.
 */
#ifndef BLIS_CLUSTER_FEATURES_H
#define BLIS_CLUSTER_FEATURES_H

#include "cluster/state.h"

/* feedback.c: tells the router the outcome of the requests it routed... */
BLIS_MUSTUSE blis_status blis__add_router_feedback(blis_cluster *cluster);
/* ...and another router, which sends attempts of a feature... */
BLIS_MUSTUSE blis_status blis__add_feedback_of(blis_cluster *cluster, const blis_router *router);
/* ...and the admission policy that of the requests it admitted. */
BLIS_MUSTUSE blis_status blis__add_admission_feedback(blis_cluster *cluster);

/* priority.c: config.priority says how urgent an arrival is. */
BLIS_MUSTUSE blis_status blis__add_priority(blis_cluster *cluster);

/* clear_models.c: whoever asks for a model that could be several is told so. */
BLIS_MUSTUSE blis_status blis__add_clear_models(blis_cluster *cluster);

/* late_signals.c: stale signals are refreshed at every admission, too. */
BLIS_MUSTUSE blis_status blis__add_late_signals(blis_cluster *cluster);

/*
 * prefill_history.c: maintains the signals of BLIS_SIGNALS_WITH_HISTORY once
 * they are among the columns in use; may be called again.
 */
BLIS_MUSTUSE blis_status blis__add_prefill_history(blis_cluster *cluster);

/* traffic_state.c: what tenants send, with config.keeps_traffic. */
BLIS_MUSTUSE blis_status blis__add_traffic_state(blis_cluster *cluster);
void blis__free_traffic_state(blis_cluster *cluster);

/* follow_up.c: reports ends to the source, which may send follow-ups. */
BLIS_MUSTUSE blis_status blis__add_follow_ups(blis_cluster *cluster);

/* life_cycle.c, waiting_room.c: made when they are first needed. */
void blis__free_life_cycle(blis_cluster *cluster);
void blis__free_waiting_room(blis_cluster *cluster);

#endif
