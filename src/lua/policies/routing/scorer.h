/*
 * scorer.h - scorers defined or called by scripts.
 *
 * A bind_scorer is one definition (lua/blis/policy/init.lua) in use by one simulation: a built-in
 * scorer or a Lua function in one of three forms. The weighted router calls the scorers in its
 * list. Scripts call any scorer with scorer:score_all(request, instances), and extend one with
 * `base =`. Each definition is in use once per simulation, whichever policies call it, so a scorer
 * with a memory has one memory. It observes every routing decision after its first call.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_SCORER_H
#define BLIS_LUA_POLICIES_ROUTING_SCORER_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/contract/scorer.h"

/* The numbers of lua/blis/policy/init.lua. */
typedef enum bind_scorer_form {
  SCORER_PER_CANDIDATE, /* score(request, instance, base) -> number */
  SCORER_COLUMNS,       /* score(request, columns, base) -> vector or number */
  SCORER_ALL            /* score_all(request, instances, scores) */
} bind_scorer_form;

typedef struct bind_scorer bind_scorer;

void bind_open_scorers(lua_State *L);

/* Makes the tables that the scorers of a new view keep in its anchor. May raise. */
void push_scorer_places(lua_State *L, const bind_view *view);

/*
 * Makes *scorer from the definition at index: a table with name, form, score, and optionally
 * observe and base. The caller frees *scorer, which borrows view. May raise, and then nothing
 * remains allocated.
 */
void check_scripted_scorer(lua_State *L, int index, bind_view *view, blis_scorer *scorer);

/*
 * Makes a built-in scorer from the definition at index. Raises as well if the view hides a signal
 * that the scorer reads.
 */
void check_shown_scorer(lua_State *L, int index, const bind_view *view,
                        const blis_policy_context *context, blis_scorer *scorer);

/* The scorer of the definition at index; the anchor is open and keeps it. */
bind_scorer *check_view_scorer(lua_State *L, int index, bind_view *view);

/*
 * In a decision, with the anchor at index anchor: one score per candidate,
 * computed once per decision and valid until its end. Raises.
 */
const double *check_scores(lua_State *L, bind_scorer *scorer, int anchor);

/*
 * Sets the field clamped of the table on top of the stack. It lists the scripted scorers of a
 * pipeline that returned scores outside of 0 to 1: { name =, scores =, outside =, least =, most =
 * }. The field is not set without such scorers.
 */
void set_clamped_scores(lua_State *L, const bind_view *view);

/* Reports a routing decision to the scorers that scripts have called. */
blis_status bind_observe_decision(bind_view *view, const blis_routing_request *request,
                                  const blis_routing_view *candidates, size_t chosen,
                                  blis_error *error);

#endif
