/*
 * view.h - the request, instances, and signals of a decision as they are passed to Lua policies.
 *
 * The request is one table, each instance is one table, and all signals together are one table of
 * columns. These tables live as long as the simulation and are refreshed in place. A field is not
 * refreshed until a policy first reads it. That read calls __index, which returns the value and
 * adds the field to the list of refreshed fields. Only changed fields are written.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_VIEW_H
#define BLIS_LUA_POLICIES_VIEW_VIEW_H

#include <lua.h>

#include "lua/bind/hook.h"
#include "lua/bind/vector.h"
#include "policy/contract/entry.h"
#include "policy/contract/view.h"

/* Type of the live instances of a simulation, which a policy may return. */
#define INSTANCE_TYPE "blis.instance"

enum { REQUEST_FIELDS_MAX = 32 };

/* Signals that have been read, each once. */
typedef struct bind_signal_list {
  size_t count;
  blis_signal items[BLIS_SIGNAL_COUNT];
} bind_signal_list;

typedef struct bind_view {
  bind_hooks *hooks;
  bind_vector_pool *pool;
  bool oracle;
  bool is_strict;              /* policies read only their own instance, and no caches */
  bool hides_live;             /* hides signals that real routers do not have, even without delay */
  blis_policy_context context; /* context of built-in policies that scripts call */

  struct bind_ear *ears;       /* policies with event functions; see listening.h */
  struct bind_scorer *scorers; /* scorers in use in this run; see scorer.h */
  int scorings;                /* depth of nested calls of scripted scorers */
  bool is_observed;            /* the policies have observed the last decision */
  bool missing_is_zero;        /* a score that a scorer omits counts as 0 */
  bool has_hints;              /* the priority policy has returned hints for a request */
  const void *replicas;        /* state of the router if it has replicas, otherwise NULL */

  /* The current decision; NULL outside decisions. */
  const blis_routing_request *request;
  const blis_routing_view *view;
  const blis_routing_view *peers; /* candidates of the other stage; NULL = not requested */
  int64_t peer;                   /* instance of the other stage, in a stage context; -1 = none */

  const void *request_table; /* pointers from lua_topointer */
  const void *columns_table;
  uint32_t request_fields;          /* fields read so far, one bit each */
  bind_signal_list instance_fields; /* fields read so far */
  bind_signal_list column_fields;   /* columns read so far */

  int64_t request_values[REQUEST_FIELDS_MAX]; /* values in the table */
  uint32_t instance_count;
  double *instance_values; /* values in the tables, by signal and number */
  uint32_t *candidates;    /* instance numbers in the list of candidates */
  size_t candidate_count;
  bind_vector *columns[BLIS_SIGNAL_COUNT]; /* NULL until first read */
} bind_view;

/* Returns whether lower priorities are more urgent to scripts. */
static inline bool bind_counts_down(const bind_view *view) {
  return view->context.profile != NULL && view->context.profile->counts_priorities_down;
}

/*
 * Converts a priority of the core to the value that scripts read, and back. Higher is more urgent,
 * unless the profile counts down.
 */
static inline double bind_view_priority(const bind_view *view, double priority) {
  return bind_counts_down(view) ? 0 - priority : priority + 0;
}

/*
 * Fills *view, which must not move afterwards. context contains the number of instances. May raise.
 */
void push_view_tables(lua_State *L, bind_view *view, bind_hooks *hooks,
                      const blis_policy_context *context, bool oracle);

/*
 * Push a refreshed table. Call them only in a decision, with the anchor at index anchor.
 * push_view_instances pushes the tables of all instances, by number + 1.
 */
void push_view_request(lua_State *L, bind_view *view, int anchor);
void push_view_instances(lua_State *L, bind_view *view, int anchor);
void push_view_candidates(lua_State *L, bind_view *view, int anchor);
void push_view_columns(lua_State *L, bind_view *view, int anchor);

/*
 * Pushes the candidates of the other stage during a decision with prefill/decode disaggregation.
 * Raises otherwise.
 */
void push_view_peers(lua_State *L, bind_view *view, int anchor);

/*
 * Refreshes the columns that push_view_columns pushes. Call it only in a decision. Does not raise;
 * returns false if a column is unavailable.
 */
bool bind_view_point_columns(const bind_view *view);

/*
 * Returns whether the field is kept up to date and the tables of all instances still contain the
 * values that the core wrote. Call it only in a decision. The name of the field is at index name
 * and the anchor at index anchor. Does not raise.
 */
bool bind_view_holds(lua_State *L, const bind_view *view, int anchor, int name, blis_signal signal);

/* Returns the column of a signal, or NULL. Call it only in a decision. Does not raise. */
const double *bind_view_column(const bind_view *view, blis_signal signal);

/* Returns the column of a signal over the candidates. Call it only in a decision. May raise. */
const double *check_view_column(lua_State *L, const bind_view *view, blis_signal signal);

/* Returns the candidate whose index, from 1, is the value at index. Call it only in a decision.
   May raise. */
size_t check_candidate_index(lua_State *L, int index, const bind_view *view);

/* Pushes the `cluster` argument of admission policies. */
void push_cluster_table(lua_State *L, bind_view *view);

#endif
