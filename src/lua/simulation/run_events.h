/*
 * run_events.h - calls on_event of policies in Lua: function(event, instances).
 */
#ifndef BLIS_LUA_SIMULATION_RUN_EVENTS_H
#define BLIS_LUA_SIMULATION_RUN_EVENTS_H

#include <lua.h>

#include "cluster/run_events.h"
#include "lua/policies/view/view.h"

/* The subscribed policies and the one table of events; must not move. */
typedef struct bind_run_events {
  bind_view *view;
  int event;
  blis_run_listener listener;
} bind_run_events;

/*
 * Fills *events for the policies that are in view->ears at the time of the call. The caller passes
 * its listener to the configuration of the cluster. Without subscribers, the listener has no kinds.
 * May raise.
 */
void check_run_events(lua_State *L, bind_view *view, bind_run_events *events);

#endif
