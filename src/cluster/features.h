/*
 * features.h - what a cluster may have besides its stages. Each function adds
 * the listener of one feature, where it is configured; else it does nothing.
 */
#ifndef BLIS_CLUSTER_FEATURES_H
#define BLIS_CLUSTER_FEATURES_H

#include "cluster/state.h"

/* feedback.c: the router hears what became of the requests it has routed... */
BLIS_MUSTUSE blis_status blis__add_router_feedback(blis_cluster *cluster);
/* ...and the admission policy, of those it has admitted. */
BLIS_MUSTUSE blis_status blis__add_admission_feedback(blis_cluster *cluster);

/* priority.c: config.priority says how urgent an arrival is. */
BLIS_MUSTUSE blis_status blis__add_priority(blis_cluster *cluster);

/* late_signals.c: signals that lag behind are read at every admission, too. */
BLIS_MUSTUSE blis_status blis__add_late_signals(blis_cluster *cluster);

/*
 * prefill_history.c: keeps the signals of BLIS_SIGNALS_WITH_HISTORY, once
 * they are among the columns that are kept up; may be called again.
 */
BLIS_MUSTUSE blis_status blis__add_prefill_history(blis_cluster *cluster);

/*
 * tenant_budgets.c: tenants are kept within config.tenant_budgets.
 * BLIS_ERR_INVALID names the tenant and what is expected.
 */
BLIS_MUSTUSE blis_status blis__add_tenant_budgets(blis_cluster *cluster,
                                                  blis_error *error);
void blis__free_tenant_budgets(blis_cluster *cluster);

/* cache_belief.c: compares what routers take to be cached with the caches. */
BLIS_MUSTUSE blis_status blis__add_cache_belief(blis_cluster *cluster);

/* decision_trace.c: config.decisions hears of every decision. */
BLIS_MUSTUSE blis_status blis__add_decision_trace(blis_cluster *cluster);

/* observer.c */
BLIS_MUSTUSE blis_status blis__add_observer(blis_cluster *cluster);

/* follow_up.c: the source is told of ends, and may let requests follow. */
BLIS_MUSTUSE blis_status blis__add_follow_ups(blis_cluster *cluster);

/* pins.c: those of blis_cluster_pin, which adds their listener. */
void blis__free_pins(blis_cluster *cluster);

/* cascade_run.c: that of blis_cluster_set_cascade, which adds its listener. */
void blis__free_cascade(blis_cluster *cluster);

#endif
