/* live.h - serves a simulation over HTTP, where the program has libevent. */
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
 * control = function}): serves until a signal. control(method, action, query, body, speed) answers
 * requests to /admin: it returns the status, the text, a speed or nil, and whether nothing has
 * changed. changed() is called when instances came into service or left it. `ready` is written to
 * standard error when all endpoints listen. Returns {signal =, requests =, dropped =,
 * interventions =, lag_p50_us =, lag_p99_us =}.
 */
int bind_live_serve(lua_State *L);

/* The version of libevent; NULL without it. Static. */
const char *bind_live_version(void);

/* The version of libzmq, which this loads; NULL = no KV events. Static. */
const char *bind_live_zmq_version(void);

/* live_zmq_library(): the same; nil for NULL. */
int bind_live_zmq_library(lua_State *L);

/* live_library(): the same; nil without it. */
int bind_live_library(lua_State *L);

#endif
