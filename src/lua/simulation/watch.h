/*
 * watch.h - a Lua function that shows the cluster at intervals during a run, for a display
 * (lua/blis/watch).
 *
 * The function is called at the cluster's interrupt checks, when enough wall-clock time has passed:
 * at least its interval, and enough to keep its share of the run time at or below 1/200. No
 * simulated result depends on it. Instances that lag behind the clock are shown in their current
 * state. Without a function, the cost is one comparison per several hundred events.
 */
#ifndef BLIS_LUA_SIMULATION_WATCH_H
#define BLIS_LUA_SIMULATION_WATCH_H

#include <lua.h>

#include "cluster/cluster.h"
#include "lua/bind/hook.h"
#include "lua/results/records.h"
#include "results/analysis/glance.h"

typedef struct bind_watch {
  bind_hooks *hooks;
  const blis_cluster *cluster; /* NULL before the cluster exists, like records */
  const bind_records *records;
  int function;   /* index of the function in the anchor; 0 = none */
  bool is_on;     /* the function has been called since the last bind_watch_rest */
  bool is_asleep; /* calls are suspended */
  bool is_off;    /* calls are disabled permanently */
  int64_t interval_us;
  int64_t next_us; /* 0 = not started */
  blis_glance glance;
} bind_watch;

/* Reads watch (a function) and watch_interval_ms of the table at index. */
void check_watch(lua_State *L, int index, bind_hooks *hooks, bind_watch *watch);

/* Stores the function on top of the stack (popped) in the anchor at index. */
void set_watch(lua_State *L, int anchor, bind_watch *watch);

void bind_watch_close(bind_watch *watch);

/*
 * Calls the function with a snapshot if it is due. The snapshot is a table with the fields of
 * blis.watch.Look. An error in the function is stored in the hooks.
 */
void bind_watch_tell(bind_watch *watch);

/*
 * Call it when the run pauses or has ended. If the function was called before, calls it with false
 * and whether an error occurred. The hooks must be open.
 */
void bind_watch_rest(lua_State *L, bind_watch *watch, bool has_failed);

#endif
