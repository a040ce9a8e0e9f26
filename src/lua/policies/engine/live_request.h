/*
 * live_request.h - requests inside an instance as tables, for the hooks that order wait queues and
 * choose victims of preemption. A table lives as long as the simulation. Only changed fields are
 * written.
 */
#ifndef BLIS_LUA_POLICIES_ENGINE_LIVE_REQUEST_H
#define BLIS_LUA_POLICIES_ENGINE_LIVE_REQUEST_H

#include <lua.h>

#include "instance/request/live_request.h"
#include "lua/policies/view/view.h"

enum { LIVE_REQUEST_FIELDS = 9 };

typedef struct bind_live_request {
  int64_t values[LIVE_REQUEST_FIELDS]; /* values in the table */
} bind_live_request;

bind_request_name live_request_name(const blis_live_request *request);

/* Pushes a new table and initializes *held, which is used to refresh it. */
void push_live_request(lua_State *L, bind_live_request *held, bool oracle);

/* Brings the table on top of the stack up to date. */
void set_live_request(lua_State *L, bind_live_request *held, const bind_view *view,
                      const blis_live_request *request, int64_t progress_tokens);

#endif
