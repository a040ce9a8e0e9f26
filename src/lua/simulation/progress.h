/*
 * progress.h - a Lua function called at intervals with the progress of a run, for a display on a
 * terminal.
 *
 * The function is called at the cluster's interrupt checks, when enough wall-clock time has passed.
 * No simulated result depends on it. Without a function, the cost is one comparison per several
 * thousand events.
 */
#ifndef BLIS_LUA_SIMULATION_PROGRESS_H
#define BLIS_LUA_SIMULATION_PROGRESS_H

#include <lua.h>

#include "cluster/cluster.h"
#include "lua/bind/hook.h"

typedef struct bind_progress {
  bind_hooks *hooks;
  const blis_cluster *cluster; /* NULL until the cluster exists */
  int function;                /* index of the function in the anchor; 0 = none */
  int64_t interval_ms;
  int64_t next_ms; /* 0 = not started */
} bind_progress;

/*
 * Reads progress and progress_interval_ms of the configuration at index. In a sandbox the interval
 * is 0: the function is called after a fixed number of events, so that it cannot serve as a clock.
 */
void check_progress(lua_State *L, int index, bind_hooks *hooks, bind_progress *progress);

/*
 * Calls the function with (requests ended, requests arrived, simulated time in us, engine steps so
 * far) if it is due. An error in it is stored in the hooks.
 */
void bind_progress_tell(bind_progress *progress);

#endif
