/*
 * features.h - the parts of a simulation in Lua that belong to optional features: one table of
 * functions.
 *
 * The constructor (construct.c) and the result (result.c) loop over the table and name no feature.
 * The order of the table is the order of construction, so it decides which of several mistakes an
 * error reports.
 */
#ifndef BLIS_LUA_SIMULATION_FEATURES_H
#define BLIS_LUA_SIMULATION_FEATURES_H

#include <lua.h>

#include "lua/simulation/simulation.h"
#include "results/summary/summary.h"

/*
 * Every function may be NULL; functions raise. `config` is the index of the experiment, `cluster`
 * is the index of its cluster options. The first six run in this order, before the cluster exists.
 */
typedef struct bind_feature {
  /* Sets how many instances there may be. */
  void (*room)(lua_State *L, int config, bind_simulation *sim);
  /* Completes the engines of the groups. The stack ends at cluster, before and after. */
  void (*engines)(lua_State *L, int cluster, bind_simulation *sim);
  void (*policies)(lua_State *L, int config, bind_simulation *sim);
  /* Called before and after the source of requests is created. */
  void (*before_traffic)(lua_State *L, int workload, bind_simulation *sim);
  void (*traffic)(lua_State *L, int cluster, bind_simulation *sim);
  /* Completes the configuration of the cluster, which borrows the values left on the stack. */
  void (*configure)(lua_State *L, int config, bind_simulation *sim, blis_cluster_config *made);
  /* Adds the feature to the cluster, which takes its policies, come what may. */
  void (*attach)(lua_State *L, int config, bind_simulation *sim);
  /* The signals that its policies read. */
  blis_signal_set (*needs)(const bind_simulation *sim);

  /* Set fields of the result on top of the stack: always, and of a run that keeps records. */
  void (*set_result)(lua_State *L, const bind_simulation *sim, const blis_summary *summary);
  void (*set_groups)(lua_State *L, const bind_simulation *sim);
} bind_feature;

enum { BIND_FEATURES = 13 };
extern const bind_feature bind_features[BIND_FEATURES];

/* Calls a function of all features that have it. */
#define BIND_EACH_FEATURE(function, ...)                                                           \
  do {                                                                                             \
    for (int each_ = 0; each_ < BIND_FEATURES; each_++) {                                          \
      if (bind_features[each_].function != NULL) {                                                 \
        bind_features[each_].function(__VA_ARGS__);                                                \
      }                                                                                            \
    }                                                                                              \
  } while (0)

#endif
