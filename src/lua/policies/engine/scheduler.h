/*
 * scheduler.h - the order of a wait queue, goes_before(a, b) -> boolean, and
 * the choice of a request to preempt when KV blocks run out, victim(running)
 * -> index, as Lua functions.
 */
#ifndef BLIS_LUA_POLICIES_ENGINE_SCHEDULER_H
#define BLIS_LUA_POLICIES_ENGINE_SCHEDULER_H

#include <lua.h>

#include "cluster/cluster.h"
#include "lua/bind/hook.h"
#include "lua/policies/engine/live_request.h"
#include "lua/policies/view/view.h"

typedef struct bind_scheduler {
  const bind_view *view; /* what scripts may see, and how */
  bind_hooks *hooks;
  const blis_cluster *cluster; /* for the time; NULL before it exists */
  char order_name[64];
  char victim_name[64];
  int goes_before; /* places in the anchor; 0 = none */
  int victim;
} bind_scheduler;

/*
 * The scheduler of one instance, and the tables that its functions are called with. Instances share
 * no table, so a function cannot leave a value there for another instance.
 */
typedef struct bind_instance_order {
  bind_scheduler *scheduler;
  uint32_t index;
  int tables[2]; /* places in the anchor; 0 until the first call */
  bind_live_request compared[2];
  int running;              /* the list that victim is called with, */
  int spare;                /* all tables for that, */
  int held;                 /* place of the buffer of their values */
  bind_live_request *shown; /* that buffer */
  size_t capacity;          /* tables */
  size_t count;             /* of the list */
} bind_instance_order;

/* Initializes *scheduler, which must not move afterwards. */
void bind_scheduler_init(bind_scheduler *scheduler, const bind_view *view);
void check_goes_before(lua_State *L, int index, bind_scheduler *scheduler);
void check_victim(lua_State *L, int index, bind_scheduler *scheduler);

/* goes_before of blis_instance_config; ud is a bind_instance_order. */
blis_status bind_scheduler_goes_before(void *ud, const blis_live_request *a,
                                       const blis_live_request *b, bool *before, blis_error *error);

/* choose_victim of blis_instance_config; ud is a bind_instance_order. */
blis_status bind_scheduler_victim(void *ud, const blis_running_request *running, size_t count,
                                  size_t *victim, blis_error *error);

#endif
