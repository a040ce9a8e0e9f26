/*
 * watch.h - a Lua function that shows the cluster at intervals during a run, for a display
 * (lua/blis/watch).
 *
 * The function is called at the cluster's interrupt checks, when enough wall-clock time has passed:
 * its interval, and long enough that it takes at most 1/200 of the time. No simulated result
 * depends on it. Instances that lag behind the clock are shown in their current state. Without a
 * function the cost is one comparison per some hundred events.
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
  const blis_cluster *cluster; /* set if it exists, like records */
  const bind_records *records;
  int function;   /* its place among the hooks; 0 = none */
  bool is_on;     /* it has been called since it was last told to rest */
  bool is_asleep; /* not to be called */
  bool is_off;    /* never to be called */
  int64_t interval_us;
  int64_t next_us; /* 0 = not started */
  blis_glance glance;
} bind_watch;

/* Reads watch (a function) and watch_interval_ms of the table at index. */
void check_watch(lua_State *L, int index, bind_hooks *hooks, bind_watch *watch);

/* Keeps the function on top of the stack (popped) in the anchor at index. */
void set_watch(lua_State *L, int anchor, bind_watch *watch);

void bind_watch_close(bind_watch *watch);

/*
 * Calls the function with a snapshot if it is due. The snapshot is a table with the fields of
 * blis.watch.Look. An error in the function is stored in the hooks.
 */
void bind_watch_tell(bind_watch *watch);

/* The run pauses or has ended: calls the function with false and whether an error occurred, if
 * it was called before. The hooks are open. */
void bind_watch_rest(lua_State *L, bind_watch *watch, bool has_failed);

#endif
