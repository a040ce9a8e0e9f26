/* live.h - serves a simulation over HTTP, if the program was built with libevent. */
#ifndef BLIS_LUA_SIMULATION_LIVE_H
#define BLIS_LUA_SIMULATION_LIVE_H

#include <lua.h>

#include "lua/simulation/simulation.h"

/* If the traffic at index `workload` of config is a live desk, the cluster reports tokens to it. */
void bind_configure_live(lua_State *L, int config, bind_simulation *sim, blis_cluster_config *made);

/*
 * live_serve(sim, desk, {endpoints = {{address =, port =, instance = or nil}, ...}, feeds = nil or
 * {{address =, port =, topic =, replay_address = or nil, replay_port =}, ...} by instance, speed =,
 * version =, stall_timeout_us =, grace_us =, shows_cached =, echoes_request_ids =, ready = text,
 * control = function}): serves until a signal arrives. control(method, action, query, body, speed)
 * answers requests to /admin: it returns the status, the text, a speed or nil, and whether nothing
 * has changed. changed() is called when instances have entered or left service. `ready` is written
 * to standard error once all endpoints listen. Returns {signal =, requests =, dropped =,
 * interventions =, lag_p50_us =, lag_p99_us =}.
 */
int bind_live_serve(lua_State *L);

/* Returns the version of libevent, or NULL without libevent. Static. */
const char *bind_live_version(void);

/* Returns the version of libzmq, which is loaded if necessary; NULL = no KV events. Static. */
const char *bind_live_zmq_version(void);

/* live_zmq_library(): returns the version of libzmq, or nil. */
int bind_live_zmq_library(lua_State *L);

/* live_library(): returns the version of libevent, or nil. */
int bind_live_library(lua_State *L);

#endif
