/*
 * decision.h - calls a function of a script about a request, for a decision or
 * as a notification.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_DECISION_H
#define BLIS_LUA_POLICIES_VIEW_DECISION_H

#include <lua.h>

#include "lua/policies/view/view.h"

/* A function in use in a run. It is the first member of the state of policies. */
typedef struct bind_decider {
  bind_view *view;
  const char *kind; /* "scorer", for error messages */
  int function;     /* index of the function in the anchor; 0 = bodies push the function that
                       they call */
  char name[64];    /* "least-prefill"; "" = none */
} bind_decider;

/* Returns the decider of the table at index: its name, and the function in field. */
bind_decider check_decider(lua_State *L, int index, bind_view *view, const char *kind,
                           const char *field);

/*
 * Copies the state of a policy; the core frees the copy. Call it last: later code must not raise.
 */
void *check_copy(lua_State *L, const void *made, size_t size);

/*
 * Calls the function, with the stack described below. Without a function, the stack ends at the
 * anchor. May raise; returns 0.
 */
typedef int (*bind_body)(lua_State *L, void *call);
enum { AT_ANCHOR = 2, AT_FUNCTION, AT_REQUEST };

/*
 * Copies the string at index, the reason of a decision, into reason[size]. A long string is cut
 * between UTF-8 characters. Raises if the value is not a string.
 */
void check_reason_text(lua_State *L, int index, char *reason, size_t size);

/* Makes one protected call of body with call, about one decision. Never raises. */
blis_status bind_decide(const bind_decider *decider, const blis_routing_request *request,
                        const blis_routing_view *candidates, bind_body body, void *call,
                        blis_error *error);

#endif
