/*
 * features.h - the parts of the Lua binding of a simulation that belong to optional features, as
 * one table of functions.
 *
 * The constructor (construct.c) and the result (result.c) loop over the table and name no feature.
 * The order of the table is the order of construction, so it determines which of several mistakes
 * an error reports.
 */
#ifndef BLIS_LUA_SIMULATION_FEATURES_H
#define BLIS_LUA_SIMULATION_FEATURES_H

#include <lua.h>

#include "lua/simulation/simulation.h"
#include "results/summary/summary.h"

/*
 * Every function may be NULL; functions raise. `config` is the index of the experiment, and
 * `cluster` is the index of its cluster options. The first six functions run in this order, before
 * the cluster exists.
 */
typedef struct bind_feature {
  /* Sets the maximum number of instances. */
  void (*room)(lua_State *L, int config, bind_simulation *sim);
  /* Completes the engines of the groups. `cluster` is the top of the stack, before and after the
     call. */
  void (*engines)(lua_State *L, int cluster, bind_simulation *sim);
  void (*policies)(lua_State *L, int config, bind_simulation *sim);
  /* Called before and after the source of requests is created. */
  void (*before_traffic)(lua_State *L, int workload, bind_simulation *sim);
  void (*traffic)(lua_State *L, int cluster, bind_simulation *sim);
  /* Completes the configuration of the cluster, which borrows the values left on the stack. */
  void (*configure)(lua_State *L, int config, bind_simulation *sim, blis_cluster_config *made);
  /* Adds the feature to the cluster, which takes ownership of its policies, even on failure. */
  void (*attach)(lua_State *L, int config, bind_simulation *sim);
  /* Returns the signals that the policies of the feature read. */
  blis_signal_set (*needs)(const bind_simulation *sim);

  /* Set fields of the result on top of the stack: set_result always, set_records only in a run
     with records. */
  void (*set_result)(lua_State *L, const bind_simulation *sim, const blis_summary *summary);
  void (*set_groups)(lua_State *L, const bind_simulation *sim);
} bind_feature;

enum { BIND_FEATURES = 14 };
extern const bind_feature bind_features[BIND_FEATURES];

/* Calls a function of all features that define it. */
#define BIND_EACH_FEATURE(function, ...)                                                           \
  do {                                                                                             \
    for (int each_ = 0; each_ < BIND_FEATURES; each_++) {                                          \
      if (bind_features[each_].function != NULL) {                                                 \
        bind_features[each_].function(__VA_ARGS__);                                                \
      }                                                                                            \
    }                                                                                              \
  } while (0)

#endif
