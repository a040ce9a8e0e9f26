/*
 * features.h - the optional features of a cluster. Each function adds the
 * listener of one feature if it is configured, and does nothing otherwise.
 */
#ifndef BLIS_CLUSTER_FEATURES_H
#define BLIS_CLUSTER_FEATURES_H

#include "cluster/state.h"

/* feedback.c: tells the router the outcome of the requests it routed... */
BLIS_MUSTUSE blis_status blis__add_router_feedback(blis_cluster *cluster);
/* Beside it, the router of the prefill stage; hand-offs are set up. */
BLIS_MUSTUSE blis_status blis__add_prefill_feedback(blis_cluster *cluster);
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

/*
 * tenant_budgets.c: keeps tenants within config.tenant_budgets.
 * BLIS_ERR_INVALID names the tenant and what is expected.
 */
BLIS_MUSTUSE blis_status blis__add_tenant_budgets(blis_cluster *cluster, blis_error *error);
void blis__free_tenant_budgets(blis_cluster *cluster);

/*
 * cache_belief.c: compares what routers believe to be cached with the caches.
 */
BLIS_MUSTUSE blis_status blis__add_cache_belief(blis_cluster *cluster);

/* decision_trace.c: passes every decision to config.decisions. */
BLIS_MUSTUSE blis_status blis__add_decision_trace(blis_cluster *cluster);

/* observer.c */
BLIS_MUSTUSE blis_status blis__add_observer(blis_cluster *cluster);

/* run_events.c */
BLIS_MUSTUSE blis_status blis__add_run_events(blis_cluster *cluster);

/* traffic_state.c: what tenants send, with config.keeps_traffic. */
BLIS_MUSTUSE blis_status blis__add_traffic_state(blis_cluster *cluster);
void blis__free_traffic_state(blis_cluster *cluster);

/* follow_up.c: reports ends to the source, which may send follow-ups. */
BLIS_MUSTUSE blis_status blis__add_follow_ups(blis_cluster *cluster);

/* pins.c: pins of blis_cluster_pin, which adds the listener. */
void blis__free_pins(blis_cluster *cluster);

/* gateway.c: the queue of blis_cluster_set_gateway. */
void blis__free_gateway(blis_cluster *cluster);

/* handoff_run.c: hand-offs of blis_cluster_set_disaggregation. */
void blis__free_handoffs(blis_cluster *cluster);
/* encode.c: the stage of blis_cluster_set_encode_stage. */
void blis__free_encoders(blis_cluster *cluster);
/* life_cycle.c, waiting_room.c, scaler.c: made when they are first needed. */
void blis__free_life_cycle(blis_cluster *cluster);
void blis__free_waiting_room(blis_cluster *cluster);
void blis__free_scaler(blis_cluster *cluster);
/* go_blis_scaler.c, node_pools.c: of the functions of their names. */
void blis__free_go_blis_scaler(blis_cluster *cluster);
void blis__free_node_pools(blis_cluster *cluster);

/* fault_plan.c: faults of blis_cluster_set_faults. */
void blis__free_fault_plan(blis_cluster *cluster);

/* presence.c: how many instances there are, where faults are set. */
BLIS_MUSTUSE blis_status blis__add_presence(blis_cluster *cluster);
void blis__free_presence(blis_cluster *cluster);

/*
 * cascade_run.c: the cascade of blis_cluster_set_cascade, which adds the
 * listener.
 */
void blis__free_cascade(blis_cluster *cluster);

#endif
