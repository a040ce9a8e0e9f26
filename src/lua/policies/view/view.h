/*
 * view.h - the request, instances, and signals of a decision as Lua policies see them.
 *
 * The request is one table, each instance is one table, and all signals together are one table of
 * columns. They live as long as the simulation and are refreshed in place. A field is not updated
 * until a policy first reads it: that read misses, is answered, and adds the field to the list of
 * refreshed fields. Fields are refreshed only where they have changed.
 */
#ifndef BLIS_LUA_POLICIES_VIEW_VIEW_H
#define BLIS_LUA_POLICIES_VIEW_VIEW_H

#include <lua.h>

#include "lua/bind/hook.h"
#include "lua/bind/vector.h"
#include "policy/contract/entry.h"
#include "policy/contract/view.h"

/* The live instances of a simulation, which scripts may name in a policy. */
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
  bool is_strict;              /* policies see only their own instance, and no caches */
  bool hides_live;             /* hides signals that no router has, even without delay */
  blis_policy_context context; /* of built-in policies that scripts ask */

  struct bind_ear *ears;       /* of policies that listen, see listening.h */
  struct bind_scorer *scorers; /* at work in this run, see scorer.h */
  int scorings;                /* depth of nested calls of scripted scorers */
  bool is_observed;            /* the policies have observed the last decision */
  bool missing_is_zero;        /* a score that a scorer omits counts as 0 */
  bool has_hints;              /* the priority policy has returned hints for a request */
  const void *replicas;        /* the state of the router, if it has replicas; else NULL */

  /* The decision being taken; NULL outside decisions. */
  const blis_routing_request *request;
  const blis_routing_view *view;
  const blis_routing_view *peers; /* of the other stage; NULL: not requested */
  int64_t peer;                   /* instance of the other stage, in a context; -1: none */

  const void *request_table; /* pointers from lua_topointer */
  const void *columns_table;
  uint32_t request_fields;          /* used so far, a bit each */
  bind_signal_list instance_fields; /* used so far */
  bind_signal_list column_fields;   /* used so far */

  int64_t request_values[REQUEST_FIELDS_MAX]; /* values in the table */
  uint32_t instance_count;
  double *instance_values; /* values in the tables, by signal and number */
  uint32_t *candidates;    /* instance numbers in the list of candidates */
  size_t candidate_count;
  bind_vector *columns[BLIS_SIGNAL_COUNT]; /* NULL while not used */
} bind_view;

/* Lower priorities are more urgent to scripts. */
static inline bool bind_counts_down(const bind_view *view) {
  return view->context.profile != NULL && view->context.profile->counts_priorities_down;
}

/*
 * A priority of the core as scripts have it, and back: higher is more urgent,
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
 * In a decision, with the anchor at index anchor: push the refreshed table.
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
 * In a decision: refreshes the columns that push_view_columns pushes, without
 * raising; false when one cannot be had.
 */
bool bind_view_point_columns(const bind_view *view);

/*
 * In a decision: returns whether the tables of all instances still have the values of this field
 * that the core wrote, and whether the field is kept up to date. The name is at index name, the
 * anchor at index anchor. Does not raise.
 */
bool bind_view_holds(lua_State *L, const bind_view *view, int anchor, int name, blis_signal signal);

/* In a decision: the column of a signal, or NULL. Does not raise. */
const double *bind_view_column(const bind_view *view, blis_signal signal);

/* In a decision: the column of a signal over the candidates. Raises. */
const double *check_view_column(lua_State *L, const bind_view *view, blis_signal signal);

/* In a decision: the candidate whose index, from 1, is the value. Raises. */
size_t check_candidate_index(lua_State *L, int index, const bind_view *view);

/* Pushes the `cluster` argument of admission policies. */
void push_cluster_table(lua_State *L, bind_view *view);

#endif
