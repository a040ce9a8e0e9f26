/*
 * scheduler.h - Lua functions for the order of a wait queue, goes_before(a, b) -> boolean, and for
 * the choice of a request to preempt when KV blocks run out, victim(running) -> index.
 */
#ifndef BLIS_LUA_POLICIES_ENGINE_SCHEDULER_H
#define BLIS_LUA_POLICIES_ENGINE_SCHEDULER_H

#include <lua.h>

#include "cluster/cluster.h"
#include "lua/bind/hook.h"
#include "lua/policies/engine/live_request.h"
#include "lua/policies/view/view.h"

typedef struct bind_scheduler {
  const bind_view *view; /* data that scripts may read */
  bind_hooks *hooks;
  const blis_cluster *cluster; /* supplies the time; NULL before the cluster exists */
  char order_name[64];
  char victim_name[64];
  int goes_before; /* places in the anchor; 0 = none */
  int victim;
} bind_scheduler;

/*
 * The scheduler of one instance, and the tables that are passed to its functions. Instances share
 * no tables, so a function cannot use a table to pass a value to another instance.
 */
typedef struct bind_instance_order {
  bind_scheduler *scheduler;
  uint32_t index;
  int tables[2]; /* indices in the anchor; 0 until the first call */
  bind_live_request compared[2];
  int running;              /* list that is passed to victim */
  int spare;                /* all tables for items of the list */
  int held;                 /* index of the buffer with the values of these tables */
  bind_live_request *shown; /* the buffer itself */
  size_t capacity;          /* number of tables */
  size_t count;             /* length of the list */
} bind_instance_order;

/* Initializes *scheduler, which must not move afterwards. */
void bind_scheduler_init(bind_scheduler *scheduler, const bind_view *view);
void check_goes_before(lua_State *L, int index, bind_scheduler *scheduler);
void check_victim(lua_State *L, int index, bind_scheduler *scheduler);

/* Implements goes_before of blis_instance_config; ud is a bind_instance_order. */
blis_status bind_scheduler_goes_before(void *ud, const blis_live_request *a,
                                       const blis_live_request *b, bool *before, blis_error *error);

/* Implements choose_victim of blis_instance_config; ud is a bind_instance_order. */
blis_status bind_scheduler_victim(void *ud, const blis_running_request *running, size_t count,
                                  size_t *victim, blis_error *error);

#endif
