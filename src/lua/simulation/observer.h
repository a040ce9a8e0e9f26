/*
 * observer.h - functions of a script that are called for requests.
 *
 * Functions for events: on_arrival, on_routed, on_first_token, on_escalation, on_completion,
 * on_rejection, on_failure. Two functions return a value for a request: its priority, and the think
 * time of a user before the next round of a session.
 */
#ifndef BLIS_LUA_SIMULATION_OBSERVER_H
#define BLIS_LUA_SIMULATION_OBSERVER_H

#include <lua.h>

#include "cluster/cluster.h"
#include "lua/policies/view/view.h"

typedef enum bind_event {
  EVENT_ARRIVAL,
  EVENT_ROUTED,
  EVENT_FIRST_TOKEN,
  EVENT_ESCALATION,
  EVENT_COMPLETION,
  EVENT_REJECTION,
  EVENT_FAILURE,
  EVENT_COUNT
} bind_event;

typedef struct bind_observer {
  bind_view *view;
  int functions[EVENT_COUNT]; /* indices in the anchor; 0 = none */
  int outcome;                /* table that describes an outcome */
  int attempt;                /* table that describes an attempt of a cascade */
  int priority;
  int think_time;
  blis_observer observer;
  blis_request_source source;       /* wraps another source to add a script's think times */
  const blis_request_source *inner; /* the wrapped source */
} bind_observer;

/*
 * Fills *observer, which must not move, from the functions in the table at
 * index config. May raise.
 */
void check_observer(lua_State *L, int config, bind_view *view, bind_observer *observer);

/* Sets the members of *made that belong to the observer. *made borrows the observer. */
void bind_observer_configure(bind_observer *observer, blis_cluster_config *made);

/*
 * Returns the source to use instead of source, which it borrows. Raises if a script sets think
 * times for requests that do not follow other requests.
 */
const blis_request_source *check_observed_source(lua_State *L, bind_observer *observer,
                                                 const blis_request_source *source);

#endif
