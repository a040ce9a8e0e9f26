/*
 * lua_scheduler.h - the order of wait queues as a Lua function(a, b) that
 * tells whether a goes before b.
 */
#ifndef BLIS_LUA_LUA_SCHEDULER_H
#define BLIS_LUA_LUA_SCHEDULER_H

#include <lua.h>

#include "cluster/cluster.h"
#include "instance/live_request.h"
#include "lua/lua_hook.h"

/* What the tables of two compared requests hold. */
enum { SCHEDULER_FIELDS = 8 };

typedef struct bind_scheduler {
  bind_hooks *hooks;
  const blis_cluster *cluster; /* for the time; NULL before it exists */
  bool oracle;
  int goes_before; /* places in the anchor */
  int tables[2];
  int64_t values[2][SCHEDULER_FIELDS];
} bind_scheduler;

/* Fills *scheduler, which must not move, from the function at index. */
void check_lua_scheduler(lua_State *L, int index, bind_hooks *hooks,
                         bool oracle, bind_scheduler *scheduler);

/* goes_before of blis_instance_config; ud is a bind_scheduler. */
blis_status bind_scheduler_goes_before(void *ud, const blis_live_request *a,
                                       const blis_live_request *b, bool *before,
                                       blis_error *error);

#endif
