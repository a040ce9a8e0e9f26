/*
 * listening.h - the interface of Lua policies beyond their decisions: on_event, for the kinds of
 * events that they subscribe to, and custom_metrics.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_LISTENING_H
#define BLIS_LUA_POLICIES_VIEW_LISTENING_H

#include <lua.h>

#include "cluster/run_events.h"
#include "lua/policies/view/decision.h"
#include "lua/policies/view/view.h"

/* A policy with one of these functions; the anchor owns it. */
typedef struct bind_ear {
  bind_decider decider; /* calls on_event; function 0 = none */
  uint32_t kinds;       /* kinds of events; see run_events.h */
  int custom_metrics;   /* index of the function in the anchor; 0 = none */
  char suffix[48];      /* suffix of the names of its metrics that identifies the router replica;
                           "" = none */
  struct bind_ear *next;
} bind_ear;

/*
 * Adds the policy to view->ears if the definition at index has such functions. Raises if it
 * subscribes to kinds of events that do not exist.
 */
void check_listening(lua_State *L, int index, bind_view *view, const bind_decider *policy);

/* Returns all kinds of events that a policy subscribes to. */
uint32_t bind_ear_kinds(const bind_view *view);

/*
 * Calls custom_metrics of every policy and stores a table of numbers by name in the anchor, or
 * false if there are none. Errors name the policy. The hooks must be open.
 */
blis_status bind_collect_metrics(bind_view *view, blis_error *error);

/* blis.core.event_kinds(): returns the names, in order. */
int bind_event_kinds(lua_State *L);

#endif
