/*
 * scorer.h - scorers defined or called by scripts.
 *
 * A bind_scorer is one definition (lua/blis/policy/init.lua) in use by one simulation: a built-in
 * scorer or a Lua function in one of three forms. The weighted router calls the scorers in its
 * list. Scripts call any scorer with scorer:score_all(request, instances), and extend one with
 * `base =`. Each definition is used once per simulation, regardless of which policies call it, so a
 * scorer with a memory has only one memory. A scorer observes every routing decision after its
 * first call.
 */
#ifndef BLIS_LUA_POLICIES_ROUTING_SCORER_H
#define BLIS_LUA_POLICIES_ROUTING_SCORER_H

#include <lua.h>

#include "lua/policies/view/view.h"
#include "policy/contract/scorer.h"

/* The numbers are those of lua/blis/policy/init.lua. */
typedef enum bind_scorer_form {
  SCORER_PER_CANDIDATE, /* score(request, instance, base) -> number */
  SCORER_COLUMNS,       /* score(request, columns, base) -> vector or number */
  SCORER_ALL            /* score_all(request, instances, scores) */
} bind_scorer_form;

typedef struct bind_scorer bind_scorer;

void bind_open_scorers(lua_State *L);

/* Creates the tables that the scorers of a new view store in its anchor. May raise. */
void push_scorer_places(lua_State *L, const bind_view *view);

/*
 * Creates *scorer from the definition at index: a table with name, form, score, and optionally
 * observe and base. The caller frees *scorer, which borrows view. May raise; in this case nothing
 * remains allocated.
 */
void check_scripted_scorer(lua_State *L, int index, bind_view *view, blis_scorer *scorer);

/*
 * Creates a built-in scorer from the definition at index. Also raises if the view hides a signal
 * that the scorer reads.
 */
void check_shown_scorer(lua_State *L, int index, const bind_view *view,
                        const blis_policy_context *context, blis_scorer *scorer);

/* Returns the scorer of the definition at index. The anchor must be open; it keeps the scorer
   alive. */
bind_scorer *check_view_scorer(lua_State *L, int index, bind_view *view);

/*
 * Returns one score per candidate, computed once per decision and valid until its end. Call it only
 * in a decision, with the anchor at index anchor. May raise.
 */
const double *check_scores(lua_State *L, bind_scorer *scorer, int anchor);

/*
 * Sets the field clamped of the table on top of the stack. The field lists the scripted scorers of
 * a pipeline that returned scores outside of 0 to 1: { name =, scores =, outside =, least =, most =
 * }. It is not set if there are no such scorers.
 */
void set_clamped_scores(lua_State *L, const bind_view *view);

/* Reports a routing decision to the scorers that scripts have called. */
blis_status bind_observe_decision(bind_view *view, const blis_routing_request *request,
                                  const blis_routing_view *candidates, size_t chosen,
                                  blis_error *error);

#endif
