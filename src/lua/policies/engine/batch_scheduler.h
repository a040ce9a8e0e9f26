/*
 * batch_scheduler.h - a Lua function that forms whole batches of an instance, make_batch(context)
 * -> { schedule =, preempt =, wait_us = }, and on_arrival(request, now_us) of the same scheduler.
 */
#ifndef BLIS_LUA_POLICIES_ENGINE_BATCH_SCHEDULER_H
#define BLIS_LUA_POLICIES_ENGINE_BATCH_SCHEDULER_H

#include <lua.h>

#include "instance/instance.h"
#include "lua/policies/view/view.h"

typedef struct bind_batch_scheduler {
  const bind_view *view;
  bind_hooks *hooks;
  char name[64];
  int make_batch; /* index in the anchor */
  int on_arrival; /* 0 = none */
} bind_batch_scheduler;

/* The scheduler of one instance. */
typedef struct bind_instance_batches {
  bind_batch_scheduler *scheduler;
  uint32_t index;
} bind_instance_batches;

/* Returns whether the definition at index forms batches. */
bool is_batch_scheduler(lua_State *L, int index);

/* Initializes *scheduler, which must not move afterwards. */
void check_batch_scheduler(lua_State *L, int index, const bind_view *view,
                           bind_batch_scheduler *scheduler);

/* Callbacks of blis_instance_config; ud is a bind_instance_batches. */
blis_status bind_make_batch(void *ud, const blis_batch_context *context, blis_batch_plan *plan,
                            blis_error *error);
blis_status bind_request_queued(void *ud, const blis_live_request *request, int64_t now_us,
                                blis_error *error);

#endif
